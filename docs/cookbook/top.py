# SPDX-License-Identifier: Apache-2.0
"""top.py TRACE [CATEGORY] - the ten names with the most time of their own, for the cookbook."""
import collections
import gzip
import json
import signal
import sys

signal.signal(signal.SIGPIPE, signal.SIG_DFL)     # where head has seen enough
path, category = sys.argv[1], (sys.argv + ["cpu_op"])[2]
with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
    events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == category]
own, calls, around = collections.Counter(), collections.Counter(), {}
for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
    stack = around.setdefault(e["tid"], [])
    while stack and stack[-1]["ts"] + stack[-1]["dur"] <= e["ts"]:
        stack.pop()
    if stack:
        own[stack[-1]["name"]] -= e["dur"]
    own[e["name"]] += e["dur"]
    calls[e["name"]] += 1
    stack.append(e)
for name, us in own.most_common(10):
    print(f"{us / 1000:10.3f} ms in {calls[name]:5} calls  {name}")
