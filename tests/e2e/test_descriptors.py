#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: waits
"""Descriptors: the program closes, counts and replaces its own, and never meets ours."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
MODES = ["off", "sample", "count", "all"]

CLOSES = """
import os, time
os.closerange(3, 1024)
f = os.open("db", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.write(f, b"A" * (40 << 20))
x = []
for i in range(30):
    x.append([bytearray(1000) for _ in range(2000)])
    time.sleep(.02)
"""

LISTS = """
import os
print(sorted(os.listdir("/proc/self/fd")), os.open("/dev/null", os.O_RDONLY))
if not os.fork():
    print(sorted(os.listdir("/proc/self/fd")), os.open("/dev/null", os.O_RDONLY))
    os._exit(0)
os.wait()
"""


NO_MARKER = "symbol:no_such_function_x"


class Descriptors(unittest.TestCase):
    def run_it(self, command, ours=None, **kwargs):
        """stdout, stderr without our lines, status, of `command` in a fresh directory."""
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as log:
            args = [] if ours is None else [
                f"{BUILD}/proflaunch", "--logdir", log, "--marker", "none",
                "--malloc", ours, "--"]
            run = subprocess.run(args + command, cwd=work, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=120, **kwargs)
            err = [line for line in run.stderr.decode().splitlines()
                   if not line.startswith(("proflaunch: ", "proflaunch["))]
            files = {path.name: path.read_bytes()
                     for path in pathlib.Path(work).iterdir()}
            return run.stdout, err, run.returncode, files

    def same(self, command):
        bare = self.run_it(command)
        for mode in MODES:
            with self.subTest(mode=mode):
                self.assertEqual(self.run_it(command, mode), bare)

    def test_a_file_under_a_number_that_was_closed_is_the_programs(self):
        self.same([sys.executable, "-c", CLOSES])

    def test_the_program_finds_its_own_descriptors_only(self):
        self.same([sys.executable, "-c", LISTS])

    def test_a_number_that_a_shell_chooses(self):
        self.same(["bash", "-c", "echo precious > data; exec 3<>data; (echo sub >&3);"
                                 "head -c 9 <&3; cat data"])

    def test_output_that_is_closed_stays_closed(self):
        for number in "0<&-", "1>&-", "2>&-", "0<&- 1>&-":
            self.same(["bash", "-c", f"exec {number}; /bin/echo hello; echo $? > status;"
                                     "cat > in; echo $? >> status"])

    def test_a_shell_that_may_have_five(self):
        self.same(["bash", "-c", "ulimit -n 5; echo a | cat | tr a b; echo $?"])

    def test_what_we_say_goes_to_the_launchers_stderr_not_the_programs(self):
        with tempfile.TemporaryDirectory() as log:
            run = subprocess.run(
                [f"{BUILD}/proflaunch", "--logdir", log, "--marker", NO_MARKER, "--",
                 sys.executable, "-c", "import os; os.dup2(1, 2); print('mine')"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.stdout, b"mine\n")
        said = [line for line in run.stderr.splitlines()
                if line.startswith(b"proflaunch[") and NO_MARKER.encode() in line]
        self.assertEqual(len(said), 1, run.stderr)

    def test_without_a_launcher_a_descriptor_2_that_became_another_one_is_left_alone(self):
        with tempfile.TemporaryDirectory() as log:
            run = subprocess.run(
                ["bash", "-c", 'exec 3>&2 2>err; echo mine >&2; exit 3'], cwd=log,
                env=dict(os.environ, PROF_LOGDIR=log, PROF_MARKER=NO_MARKER,
                         LD_PRELOAD=f"{BUILD}/libproflaunch.so"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((run.stdout, run.stderr, run.returncode), (b"", b"", 3))
            self.assertEqual(pathlib.Path(log, "err").read_bytes(), b"mine\n")


if __name__ == "__main__":
    unittest.main()
