#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who ends with whom: the command with a launcher that is killed, orphans with process 1."""
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
SLEEPER = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(float(sys.argv[1]))"


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_gone(pid):
    for _ in range(500):
        if is_gone(pid):
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} lives on")


def popen(options, command, scratch, **more):
    return subprocess.Popen([LAUNCHER, "-q", *options, "--", *command], cwd=scratch,
                            stdout=subprocess.PIPE, text=True, **more)


def sleeper(options, scratch, seconds, **more):
    child = popen(options, [sys.executable, "-c", SLEEPER, str(seconds)], scratch, **more)
    return child, int(child.stdout.readline())


def test_a_killed_launcher_takes_the_command_along():
    with tempfile.TemporaryDirectory() as scratch:
        child, program = sleeper([], scratch, 100)
        child.kill()
        assert child.wait(20) == -signal.SIGKILL
        wait_gone(program)


def test_timeout_stops_the_job():
    with tempfile.TemporaryDirectory() as scratch:
        command = ["timeout", "-s", "KILL", "1", LAUNCHER, "-q", "--",
                   sys.executable, "-c", SLEEPER, "100"]
        got = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, text=True, check=False)
        # Killed by the same signal as its child.
        assert got.returncode == -signal.SIGKILL, got
        wait_gone(int(got.stdout))


def test_a_shell_script_as_the_command_goes_too():
    with tempfile.TemporaryDirectory() as scratch:
        script = os.path.join(scratch, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("echo $$\nsleep 100 &\necho $!\nwait\n")      # without a #! line
        os.chmod(script, 0o755)
        child = popen([], [script], scratch)
        program, sleeps = int(child.stdout.readline()), int(child.stdout.readline())
        child.kill()
        child.wait(20)
        wait_gone(program)
        os.kill(sleeps, signal.SIGKILL)     # the script's own child, which nobody takes along


def outlives(options, **more):
    with tempfile.TemporaryDirectory() as scratch:
        child, program = sleeper(options, scratch, 100, **more)
        child.kill()
        child.wait(20)
        time.sleep(0.3)
        assert not is_gone(program), options
        os.kill(program, signal.SIGKILL)


def test_with_outlive_it_lives_on():
    outlives(["--outlive"])
    outlives([], env={**os.environ, "PROF_OUTLIVE": "1"})


def test_signals_of_every_kind_are_the_commands():
    show = ("import os, signal, time\n"
            "def on(n, f):\n    os.write(1, b'%%d\\n' %% n)\n"
            "for n in (%d, %d, %d, %d): signal.signal(n, on)\n"
            "print('ready', flush=True)\n"
            "while True: time.sleep(1)\n")
    kinds = [signal.SIGRTMIN + 3, signal.SIGRTMAX, signal.SIGABRT, signal.SIGPWR]
    with tempfile.TemporaryDirectory() as scratch:
        child = popen([], [sys.executable, "-c", show % tuple(kinds)], scratch)
        assert child.stdout.readline() == "ready\n"
        for kind in kinds:
            child.send_signal(kind)
            assert int(child.stdout.readline()) == kind
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == -signal.SIGTERM


UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"]
# Forty orphans come to process 1 and end; then whoever is a zombie is counted.
ORPHANS = r"""
import os, sys, time
for i in range(40):
    pid = os.fork()
    if not pid:
        if os.fork():
            os._exit(0)
        os._exit(i)
    os.waitpid(pid, 0)
end = time.time() + 10
while True:
    zombies = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z":
                zombies.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    if not zombies or time.time() > end:
        break
    time.sleep(0.02)
print("parent", os.getppid(), "zombies", len(zombies))
sys.exit(3)
"""


def can_unshare():
    for more in ([], ["--user", "--map-root-user"]):
        command = UNSHARE[:1] + more + UNSHARE[1:]
        if not subprocess.run(command + ["true"], stderr=subprocess.DEVNULL, check=False).returncode:
            return command
    return None


def process_one(unshare, command, scratch):
    return subprocess.Popen([*unshare, LAUNCHER, "-q", "--", *command], cwd=scratch,
                            stdout=subprocess.PIPE, text=True)


def only_child(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return int(file.read())


def test_process_one_reaps_orphans():
    unshare = can_unshare()
    if not unshare:
        return print("no new namespace of processes can be made here")
    with tempfile.TemporaryDirectory() as scratch:
        child = process_one(unshare, [sys.executable, "-c", ORPHANS], scratch)
        assert child.stdout.read() == "parent 1 zombies 0\n"
        assert child.wait(20) == 3


def test_process_one_hands_signals_on():
    unshare = can_unshare()
    if not unshare:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        # Nobody catches it: the kernel keeps it from process 1, but not from the command.
        child = process_one(unshare, [sys.executable, "-c", SLEEPER, "100"], scratch)
        assert int(child.stdout.readline()) > 1
        os.kill(only_child(child.pid), signal.SIGTERM)
        assert child.wait(20) == 128 + signal.SIGTERM
        child = process_one(unshare, ["sh", "-c", "trap 'echo got; exit 4' TERM; echo ready; "
                                                  "while :; do sleep 0.1; done"], scratch)
        assert child.stdout.readline() == "ready\n"
        os.kill(only_child(child.pid), signal.SIGTERM)
        assert child.stdout.read() == "got\n"
        assert child.wait(20) == 4


def test_process_one_does_not_wait_for_daemons():
    unshare = can_unshare()
    if not unshare:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        child = process_one(unshare, ["sh", "-c", "sleep 1000 > /dev/null & exit 5"], scratch)
        assert child.stdout.read() == ""
        assert child.wait(60) == 5      # and the kernel has ended the rest
        # A parent in an outer namespace is seen as process 0: that is no reason to end.
        bare = [word for word in unshare if word not in ("--fork", "--mount-proc")]
        got = subprocess.run([*bare, LAUNCHER, "-q", "--", "sh", "-c", "echo $$ $PPID"],
                             cwd=scratch, stdout=subprocess.PIPE, text=True, check=False)
        assert (got.stdout, got.returncode) == ("1 0\n", 0), got
    return None


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)


main()
