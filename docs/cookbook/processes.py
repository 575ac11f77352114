# SPDX-License-Identifier: Apache-2.0
"""Which programs a run consisted of: processes.py LOGDIR, for the cookbook.

A process has a file of its own, or is a row of the file of small ones in children/.
"""
import glob
import json
import os
import sys
from collections import Counter

programs = Counter()
for path in glob.glob(os.path.join(sys.argv[1], "**", "*.pt.trace.json"), recursive=True):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    own = trace["proflaunch"].get("process")
    if own:
        programs[own["name"]] += 1
    else:
        programs.update(row["name"] for row in trace["traceEvents"] if row["ph"] == "X")
for name, count in sorted(programs.items()):
    print(f"{count:4} {name}")
