#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: waits
"""A program forks: Python counts its threads, and steps by the clock go on."""
import os
import subprocess
import sys

import prof
from test_python_memory import interpreters

# Since 3.12 os.fork warns where there is a second thread, after the handlers of fork; 3.13 after
# those, too, that are Python, as logging has one.
FORKS = ("import logging, os, time, warnings\ndef after():\n    for i in range(400):\n        pass\n"
         "os.register_at_fork(after_in_parent=after)\nwarnings.simplefilter('always')\nkept = []\ntime.sleep(.3)\nfor i in range(20):\n"
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


# A library's constructor waits for the interpreter's lock, and the dynamic linker's is held meanwhile.
WAITS = ("int PyGILState_Ensure(void);\nvoid PyGILState_Release(int state);\n"
         "__attribute__((constructor)) static void wait(void) { PyGILState_Release(PyGILState_Ensure()); }\n")
OPENS = """
import ctypes, os, sys, threading, time, warnings
warnings.simplefilter("ignore")
c = ctypes.CDLL(None)
c.dlopen.argtypes, c.dlopen.restype, c.dlclose.argtypes = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p, [ctypes.c_void_p]
def opens():
    while True:
        c.dlclose(c.dlopen(sys.argv[1].encode(), 2))
threading.Thread(target=opens, daemon=True).start()
until = time.time() + 2
while time.time() < until:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
print("fine", flush=True)
os._exit(0)
"""


def test_a_fork_does_not_wait_for_the_dynamic_linker():
    with prof.folder() as log:
        source, library = os.path.join(log, "waits.c"), os.path.join(log, "waits.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(WAITS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        for version, path in interpreters().items():
            if version >= (3, 11):      # older ones wait for themselves
                run = prof.launch([path, "-c", OPENS, library], log, malloc="sample", python_stack="ops",
                                  marker="time:20", schedule="active=1000", timeout=60)
                assert run.out == "fine\n", (version, run.out, run.err)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
