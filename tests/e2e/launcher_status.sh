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
run true
want 2 $status "a command without --"
has "put -- before the command" err "it is said"

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
