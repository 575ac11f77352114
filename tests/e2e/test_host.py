#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""The host comes first: the same output, status and signal, with us and without."""
import os
import signal
import subprocess
import sys

import prof


def both(command, **given):
    """Runs the command alone and under the launcher; what it did must not differ."""
    alone = prof.plain(command)
    with prof.folder() as log:
        with_us = prof.launch(command, log, check=False, **given)
        assert with_us.out == alone.stdout, (command, alone.stdout, with_us.out, with_us.err)
        assert with_us.status == alone.returncode, (command, alone.returncode, with_us.status,
                                                    with_us.err)
        for path in with_us.paths():
            prof.strict([path])
        assert not with_us.left_over(), with_us.left_over()
    return with_us


def test_commands():
    for script in ("exit 0", "exit 7", "echo out; echo err >&2", "cat < /dev/null; exit 255",
                   "sleep 0.2 & wait; echo done", "ls /usr/bin | sort | head -n 50",
                   "(exit 3); echo $?; exec sh -c 'echo again; exit 4'"):
        both(["sh", "-c", script])


def test_stderr_is_the_programs():
    with prof.folder() as log:
        run = prof.launch(["sh", "-c", "echo one >&2; echo two >&2"], log, quiet=True)
        assert run.err == "one\ntwo\n", run.err


def test_signals():
    for name in ("TERM", "KILL", "SEGV", "ABRT", "USR1", "PIPE"):
        alone = prof.plain(["sh", "-c", f"kill -{name} $$"])
        with prof.folder() as log:
            run = prof.launch(["sh", "-c", f"kill -{name} $$"], log, check=False)
            assert run.status == alone.returncode == -getattr(signal, "SIG" + name), \
                (name, run.status, alone.returncode)


def test_not_found_and_not_executable():
    with prof.folder() as log:
        assert prof.launch(["/no/such/program"], log, check=False).status == 127
        assert prof.launch(["no-such-program-anywhere"], log, check=False).status == 127
        plain = os.path.join(log, "plain")
        open(plain, "w").close()
        assert prof.launch([plain], log, check=False).status == 126


def test_signals_are_forwarded():
    with prof.folder() as log:
        script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen([prof.LAUNCHER, "--logdir", log, "--", "sh", "-c", script],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        out, _ = process.communicate(timeout=300)
        assert (out, process.returncode) == ("caught\n", 9), (out, process.returncode)


def test_children_of_every_kind():
    for schedule in ("active=1", "wait=2,active=100"):
        both([prof.prog("spawn")], schedule=schedule)
    both([prof.prog("spawn")], marker="none")
    both([prof.prog("spawn")], marker="time:1", schedule="active=1")
    both([prof.prog("spawn")], children=False, schedule="active=1")


def test_leaving_inside_operators():
    for how in range(6):
        both([prof.prog("edges"), "leave", str(how)], marker="none")
        both([prof.prog("edges"), "leave", str(how)])


def test_exceptions_through_operators():
    run = both([prof.prog("edges"), "throwing", "1000"], marker="none")
    assert run.out == "1000\n"


def test_unshare():
    """It fails in a program with threads: ours must not be there before it is needed."""
    both(["unshare", "-U", "true"])
    both(["unshare", "-U", "true"], schedule="wait=1,active=1")


def test_unshare_in_a_window():
    both(["unshare", "-U", "true"], marker="none")


def test_limits_of_a_vfork_child_are_its_own():
    """It has its parent's memory: what the parent records goes on."""
    program = os.path.join(prof.BUILD, "host", "vforked")
    said = []
    for more in ([], ["none"]):
        run = both([program, *more], marker="none", malloc="all")
        said += [line for line in run.err.splitlines() if "on the heap:" in line]
    assert len(said) == 2 and said[0] == said[1], said


def test_python_warnings_as_errors():
    """Python 3.12 warns at fork when it sees threads; a subprocess must still start."""
    script = ("import os, subprocess, sys\n"
              "pid = os.fork()\n"
              "if not pid: os._exit(5)\n"
              "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
              "print(subprocess.run([sys.executable, '-c', 'print(6)']).returncode)\n"
              "try: subprocess.run(['/no/such/program'])\n"
              "except FileNotFoundError as error: print(error)\n")
    for python in (sys.executable, "/usr/bin/python3"):
        both([python, "-W", "error", "-c", script])
        both([python, "-W", "error", "-c", script], marker="none")


def test_closed_descriptors():
    """Programs that close everything, or are started with nothing open."""
    script = ("import os\n"
              "os.write(1, b'before\\n')\n"
              "os.closerange(3, 1000)\n"
              "fd = os.open('/dev/null', os.O_RDONLY)\n"
              "os.write(1, b'%d\\n' % fd)\n")
    both([sys.executable, "-c", script], marker="none")
    with prof.folder() as log:
        shell = f"exec 0<&- 2>&-; exec {prof.LAUNCHER} --logdir {log} -- sh -c 'echo hi; exit 3'"
        process = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, text=True)
        assert (process.stdout, process.returncode) == ("hi\n", 3), process


def test_preload_alone():
    """Without the launcher the agent is as quiet and as harmless."""
    with prof.folder() as log:
        for mode, status in (("exit 5", 5), ("kill -TERM $$", -15)):
            run = prof.plain(["sh", "-c", "echo out; " + mode],
                             env={**os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log})
            assert (run.stdout, run.returncode) == ("out\n", status), run


prof.main(sys.modules[__name__])
