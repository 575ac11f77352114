#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program can see of its surroundings is the same with the launcher.
. tests/e2e/launcher.inc

# Arguments: every byte of them.
show='import sys; sys.stdout.buffer.write(repr([a.encode("utf8", "surrogateescape") for a in sys.argv[1:]]).encode())'
set -- '' ' ' 'a b' "it's" '"q"' '$HOME `x` \' 'new
line' -- -q --logdir --help 'ü' '*' "$(printf '\377')"
python3 -c "$show" "$@" > plain
"$prof" -q -- python3 -c "$show" "$@" > under || fail "arguments: status"
cmp plain under || fail "arguments"

# stdin and stdout: every byte, and nothing of ours in between.
head -c 300000 /dev/urandom > bytes
"$prof" -- cat < bytes > copy 2> err || fail "cat: status"
cmp bytes copy || fail "stdin and stdout"
"$prof" -q -- sh -c 'echo out; echo err >&2' > out 2> err
want out "$(cat out)" "stdout"
want err "$(cat err)" "stderr with -q"

# Descriptors, signals, directory, limits, environment.
look='ls -l /proc/self/fd | sed "s/.* \([0-9]*\) -> .*/\1/" | sort -n | uniq
grep -e "Sig[^Q]" -e Shd /proc/self/status; pwd; umask; ulimit -a
env | grep -v -e ^PROF_ -e ^LD_PRELOAD= -e ^_= -e ^CUDA_INJECTION64_PATH= | sort'
sh -c "$look" > plain 2>&1 7< bytes
"$prof" -q -- sh -c "$look" > under 2>&1 7< bytes || fail "surroundings: status"
diff plain under || fail "surroundings"
nohup sh -c "$look" > plain 2>&1
nohup "$prof" -q -- sh -c "$look" > under 2>&1 || fail "nohup: status"
diff plain under || fail "with signals ignored"

# A parent that ignores SIGCHLD must not cost us the exit status.
python3 -c '
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$prof" -q -- sh -c 'grep SigIgn /proc/self/status; exit 4' > under
want 4 $? "SIGCHLD ignored by the parent"
python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' /bin/sh -c 'grep SigIgn /proc/self/status' > plain
diff plain under || fail "SIGCHLD's disposition in the program"

# What was preloaded before comes after the agent, once.
agent=$(dirname "$prof")/libproflaunch.so
libc=$(ldd /bin/sh | sed -n 's/.*=> \(.*libc\.so\.6\).*/\1/p')
got=$(LD_PRELOAD="$libc" "$prof" -q -- sh -c 'echo $LD_PRELOAD')
want "$agent:$libc" "$got" "LD_PRELOAD"
got=$(LD_PRELOAD="$libc $agent" "$prof" -q -- sh -c 'echo $LD_PRELOAD')
want "$agent:$libc" "$got" "LD_PRELOAD that had the agent"
# A launcher below a launcher is a job of its own.
got=$("$prof" -q -- "$prof" -q -- sh -c 'echo $LD_PRELOAD; exit 3'; echo $?)
want "$agent
3" "$got" "nested"

# An older C library keeps threads and dlsym elsewhere: the launcher names these, once.
cat > older.c <<'C'
const char *gnu_get_libc_version(void) { return "2.31"; }
C
${CC:-cc} -shared -fPIC -o older.so older.c || fail "cc"
# shellcheck disable=SC2016
got=$(LD_PRELOAD=$work/older.so "$prof" -q -- "$prof" -q -- sh -c 'echo "$LD_PRELOAD"')
want "$(dirname "$prof")/libproflaunch.so:libpthread.so.0:libdl.so.2:$work/older.so" "$got" "older"
