#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of one thread forks: Python counts its threads, and steps by the clock go on."""
import sys

import prof
from test_python_memory import interpreters

# Since 3.12 os.fork warns where there is a second thread, after the handlers of fork.
FORKS = ("import os, time, warnings\nwarnings.simplefilter('always')\nkept = []\ntime.sleep(.3)\nfor i in range(20):\n"
         "    kept.append(bytearray(100000))\n    pid = os.fork()\n    if not pid:\n        os._exit(0)\n"
         "    os.waitpid(pid, 0)\n    time.sleep(.05)\nprint('fine')\n")


def test_no_warning_and_each_step():
    for version, path in interpreters().items():
        with prof.folder() as log:
            run = prof.launch([path, "-c", FORKS], log, malloc="all", marker="time:20",
                              schedule="wait=0,warmup=0,active=1000,repeat=1")
            assert run.status == 0 and run.out == "fine\n" and "Warning" not in run.err, (version, run.out, run.err)
            steps = max(len(t.steps()) for t in run.traces())
            assert steps >= 40, (version, steps)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
