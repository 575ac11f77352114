#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The launcher ends as its program ends.
. tests/e2e/launcher.inc

for code in 0 1 2 3 7 126 127 128 255; do
	run -- sh -c "exit $code"
	want $code $status "exit status"
done
run -- "$work/nothing-here"
want 127 $status "a command that is not there"
has "command not found" err "it is said"
run -- no-such-command-anywhere
want 127 $status "a command that is not in PATH"
: > plain && chmod 644 plain
run -- ./plain
want 126 $status "a file that may not be run"
has "Permission denied" err "it is said with errno's text"
run -- "$work"
want 126 $status "a directory"
printf 'exit 9' > script && chmod 755 script
run -- ./script
want 9 $status "a script without a #! line"
run
want 2 $status "no command"
has 'usage: proflaunch [options] [--] command' err "its usage"
want 14 "$(wc -l < err)" "lines of the usage"

# The first word: a subcommand, else a command in PATH, else a file.
run sh -c 'exit 4' --logdir x -- y
want 4 $status "a command without --"
[ ! -e x ] || fail "an option behind the command is the command's"
printf '#!/bin/sh\nexit 5\n' > help; cp help here; chmod 755 help here
run help
want 0 $status "a subcommand wins over a file"
run -- ./help
want 5 $status "-- always means a command"
run here
want 5 $status "a file of this directory"
run -- here
want 127 $status "as execvp behind --"
has 'a file of that name is here: ./here' err "it is said"
printf '#!/bin/sh\nexit 6\n' > true; chmod 755 true
run true
want 0 $status "a command in PATH comes first"
rm true help here
echo 'import sys; sys.exit(len(sys.argv) + 10)' > mine.py
run mine.py a --logdir
want 13 $status "a .py file that is not executable"
has "mine.py is not executable: run by $(command -v python3)" err "it is said"
run ./mine.py
want 11 $status "the same by its path"
chmod 755 mine.py
run mine.py
want 11 $status "a .py file without a #! line"
has 'mine.py has no #! line' err "it is said"
chmod 644 mine.py
run -- ./mine.py
want 126 $status "as the kernel does behind --"
has 'Permission denied (it is not executable: python3 ./mine.py)' err "it is said"
mkdir empty
status=0; PATH=$work/empty "$prof" mine.py 2> err || status=$?
want 127 $status "no python3"
has 'PATH has no python3' err "it is said"
run doctr -- x
want 127 $status "a word near a subcommand"
has "doctr: command not found (did you mean 'proflaunch doctor'?)" err "it is said"
run ./plain
want 126 $status "a file that may not be run, without --"
run --record-shapes maybe -- touch started
want 2 $status "no value of a flag, and no command"
has "--record-shapes: 'maybe' is neither on nor off" err "it is said"
[ ! -e started ] || fail "the word behind -- was run"

# Really by the signal, not by a status that looks like it; and no second core file.
python3 - "$prof" <<'P' || fail "signals"
import signal, subprocess, sys
for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE,
            signal.SIGUSR1, signal.SIGALRM, signal.SIGHUP, signal.SIGINT):
    code = (f"import os, signal; {sig} == 9 or signal.signal({sig}, signal.SIG_DFL); "
            f"os.kill(os.getpid(), {sig})")
    r = subprocess.run([sys.argv[1], "-q", "--", "python3", "-c", code])
    if r.returncode != -sig:
        sys.exit(f"{sig.name}: {r.returncode}")
P
# A launcher whose own stderr is gone still tells the truth.
status=0; "$prof" -- sh -c 'exit 5' 2>&- || status=$?
want 5 $status "closed stderr"
{ "$prof" -- sh -c 'sleep 0.2; exit 6'; echo $? > code; } 2>&1 | true
want 6 "$(cat code)" "stderr into a closed pipe"
