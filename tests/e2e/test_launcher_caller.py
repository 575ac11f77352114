#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: waits
"""What whoever starts a program notices of it is the same with the launcher in front.

A case is a text for bash, run twice in a fresh directory: $PL is empty, or the launcher.
Equal are what it prints and its status; `want` is there, so that both do not fail alike.
"""
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
PROGRAMS = {
    # As a training does that saves when it is interrupted.
    "train.py": """
import os, time
try:
    print("up", flush=True)
    while True: time.sleep(.05)
except KeyboardInterrupt:
    with open("checkpoint", "w") as f:
        for i in range(10): f.write("x" * 1000); f.flush(); time.sleep(.03)
    print("saved", os.path.getsize("checkpoint"), flush=True)
""",
    # Handles what it is told by name, and says how often each came.
    "count.py": """
import collections, signal, sys, time
seen, names = collections.Counter(), sys.argv[1].split(",")
def on(n, f): seen[n] += 1
for name in names: signal.signal(getattr(signal, "SIG" + name), on)
print("up", flush=True)
end = time.time() + 10
while not seen and time.time() < end: time.sleep(.02)
time.sleep(.3)
print(*[f"{name} {seen[getattr(signal, 'SIG' + name)]}" for name in names], flush=True)
""",
    # send.py SIGNAL pid|group COMMAND...: sends it once the command has said "up".
    "send.py": """
import os, signal, subprocess, sys
p = subprocess.Popen(sys.argv[3:], start_new_session=True, stdout=subprocess.PIPE, text=True)
p.stdout.readline()
number = getattr(signal, "SIG" + sys.argv[1])
os.killpg(p.pid, number) if sys.argv[2] == "group" else p.send_signal(number)
print(p.stdout.read().strip(), "status", p.wait())
""",
}


def run(text, prefix):
    with tempfile.TemporaryDirectory() as scratch:
        for name, body in PROGRAMS.items():
            with open(os.path.join(scratch, name), "w", encoding="ascii") as file:
                file.write(body)
        env = {**os.environ, "PL": prefix.replace("SCRATCH", scratch)}
        got = subprocess.run(["timeout", "-k", "1", "20", "bash", "-c", text], cwd=scratch, env=env,
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                             start_new_session=True, check=False)
        return f"{got.stdout}rc {got.returncode}\n"


def same(text, want, options="-q"):
    bare = run(text, "")
    assert want in bare, f"bare: {bare}"
    ours = run(text, f"{LAUNCHER} --logdir SCRATCH/log {options} --")
    assert ours == bare, f"{text}\n  bare: {bare}  with the launcher: {ours}"


def test_a_signal_to_the_group_comes_once():
    same("python3 send.py INT group $PL python3 train.py", "saved 10000 status 0")
    same("python3 send.py USR1 group $PL python3 count.py USR1", "USR1 1")
    same("$PL python3 -c 'import os, signal, time\n"
         "n = []\nsignal.signal(signal.SIGUSR1, lambda *a: n.append(1))\n"
         "for i in range(20): os.kill(0, signal.SIGUSR1); time.sleep(.005)\n"
         "time.sleep(.3); print(len(n))' & trap '' USR1; wait", "20")


def test_a_signal_to_the_launcher_alone_comes_too():
    same("python3 send.py INT pid $PL python3 train.py", "saved 10000 status 0")
    # A shell without job control, in the group itself.
    same("$PL python3 count.py USR1 & sleep 1; kill -USR1 $!; wait $!; echo $?", "USR1 1")
    # One after the other, each is a signal of its own.
    same("$PL python3 -c 'import signal, time\n"
         "n = []\nsignal.signal(signal.SIGUSR2, lambda *a: n.append(1))\n"
         "time.sleep(1.7); print(len(n))' & sleep .7; for i in 1 2 3 4 5; do kill -USR2 $!; sleep .1; done; wait", "5")
    for name in ("CONT", "PIPE", "TRAP", "CHLD", "TTIN", "TTOU"):
        same(f"python3 send.py {name} pid $PL python3 count.py {name}", f"{name} 1 status 0")


def test_what_was_ignored_at_the_start_is_handed_on():
    # Such a shell starts what stands in the background with SIGINT and SIGQUIT ignored.
    same("sh -c '$PL python3 count.py INT,QUIT & sleep 1.2; kill -INT $!; wait $!; echo status $?'", "INT 1 QUIT 0")
    same("nohup $PL python3 count.py HUP & sleep 1.2; kill -HUP $!; wait $!; echo status $?", "HUP 1")
    same("nohup $PL sh -c 'sleep 2; echo lived' & sleep 1; kill -HUP $!; wait $!; echo status $?", "lived")


def test_timers_of_the_caller_are_the_programs():
    same("perl -e 'alarm 2; exec @ARGV' $PL sleep 30; echo $?", "142")
    same("perl -e 'alarm 50; exec @ARGV' $PL python3 -c 'import signal; print(45 < signal.alarm(0) < 51)'", "True")


HANGUP = """
import os, pty, sys, time
pid, fd = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while b"up\\r\\n" not in said:
    said += os.read(fd, 100)
time.sleep(.3)
os.close(fd)
_, status = os.waitpid(pid, 0)
print(sorted(name for name in os.listdir() if name.startswith("saved")), os.waitstatus_to_exitcode(status))
"""
SAVES = """
import os, signal, sys, time
if len(sys.argv) > 1:
    try: os.setpgid(0, 0)
    except OSError: pass
def on(n, f):
    open(f"saved{n}", "w").close()
    os._exit(4)
signal.signal(signal.SIGHUP, on)
print("up", flush=True)
time.sleep(10)
"""


def test_the_terminals_end_reaches_the_program():
    write = f"cat > hangup.py <<'E'{HANGUP}E\ncat > saves.py <<'E'{SAVES}E\n"
    same(write + "python3 hangup.py $PL python3 saves.py", "['saved1'] 4")
    same(write + "python3 hangup.py $PL python3 saves.py group", "['saved1'] 4")


def test_a_signal_to_the_parent_reaches_it():
    for kill in ("kill -USR1 $PPID", "(sleep .1; kill -USR1 $PPID; sleep .1) & wait", "python3 -c \"import os; os.kill($PPID, 10)\""):
        same("trap 'echo parent got it' USR1; $PL sh -c '" + kill + "; sleep .3; echo child ok'; echo $?",
             "child ok\nparent got it\n0")


def test_what_names_the_pid_names_the_programs():
    same("export LISTEN_PID=$$ WATCHDOG_PID=$$ SYSTEMD_EXEC_PID=1; exec $PL python3 -c 'import os\n"
         "e = os.environ\n"
         "print(*[int(e[n + \"_PID\"]) == os.getpid() for n in (\"LISTEN\", \"WATCHDOG\")], e[\"SYSTEMD_EXEC_PID\"])'",
         "True True 1")


def test_what_a_fork_resets_is_the_programs():
    if subprocess.run(["chrt", "-R", "-f", "5", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no real-time class can be had here")
    else:
        same("chrt -R -f 5 $PL python3 -c 'import os; print(os.sched_getscheduler(0) == 1 | 1 << 30, "
             "os.sched_getparam(0).sched_priority)'", "True 5")
    same("python3 -c 'import ctypes, os, sys\n"
         "ctypes.CDLL(None).prctl(36, 1); os.execvp(sys.argv[1], sys.argv[1:])' $PL python3 -c 'import os, time\n"
         "if not os.fork():\n"
         "    if os.fork(): os._exit(0)\n"
         "    time.sleep(.2); os._exit(7)\n"
         "print(os.WEXITSTATUS(os.wait()[1]), os.WEXITSTATUS(os.wait()[1]))'", "0 7")


WRITER = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try:
    while True: os.write(1, bytes(65536))
except BrokenPipeError: pass
"""
READY = """
import os, subprocess, sys
r, w = os.pipe()
os.set_inheritable(w, True)
p = subprocess.Popen(sys.argv[1:] + ["python3", "-c",
    f"import os, sys; os.write({w}, b'ready'); os.close({w}); sys.stdin.read()"],
    stdin=subprocess.PIPE, close_fds=False)
os.close(w)
said = b""
while data := os.read(r, 100): said += data         # to its end, with the program alive
p.stdin.close()
print(said, p.wait())
"""


def test_what_the_program_closes_is_closed():
    same(f"cat > writer.py <<'E'{WRITER}E\nmkfifo done; (python3 writer.py; echo over > done) | "
         "$PL python3 -c 'import os; os.read(0, 10); os.close(0); print(open(\"done\").read())'", "over")
    same(f"cat > ready.py <<'E'{READY}E\npython3 ready.py $PL", "b'ready' 0")
    same("mkfifo out; (cat out; echo end > done) & mkfifo done; $PL python3 -c 'import os\n"
         "print(1, flush=True); os.close(1); open(\"done\").read()' > out; wait; echo $?", "1\n0")
    same("exec 9>lock; flock 9; exec $PL bash -c 'exec 9>&-; timeout 5 flock lock echo again || echo locked'", "again")


LOCK = """
import fcntl, os, sys
f = os.open("lock", os.O_RDWR | os.O_CREAT)
os.set_inheritable(f, True)
fcntl.lockf(f, fcntl.LOCK_EX)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_a_lock_of_the_callers_process_is_kept():
    same(f"cat > lock.py <<'E'{LOCK}E\n$PL true; python3 lock.py $PL python3 -c 'import fcntl, os\n"
         "f = os.open(\"lock\", os.O_RDWR)\n"
         "if not os.fork():\n"
         "    try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print(\"lost\", flush=True)\n"
         "    except OSError: print(\"kept\", flush=True)\n"
         "    os._exit(0)\n"
         "os.wait()'", "kept")


FULL = """
import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:] + ["python3", "-c", "import os; os.write(2, bytes(65536))"], stderr=subprocess.PIPE)
try: print("status", p.wait(15))
except subprocess.TimeoutExpired: print("hangs"); p.kill()
print(len(p.stderr.read()))
"""


def test_a_full_stderr_holds_nobody_up():
    for options in ("-q", "", "--marker none --malloc all"):
        same(f"cat > full.py <<'E'{FULL}E\npython3 full.py $PL", "status 0\n65536", options)


def test_a_stderr_that_nobody_reads_ends_nobody():
    # A line is said before the program is started.
    same("mkfifo err; (exec 3<err) & exec 4>err; wait; $PL sh -c 'echo ran; exit 3' 2>&4; echo $?", "ran\n3",
         "--spool memory")
    same("mkfifo err; (exec 3<err) & exec 4>err; wait; $PL sh -c 'echo ran; exit 3' 2>&4; echo $?", "ran\n3",
         "--keep-going --logdir /proc/none")


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name, flush=True)


sys.exit(main())
