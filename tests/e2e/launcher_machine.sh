#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only the machine refuses is told before anything is started: one line says why. With
# --keep-going, and inside of another launcher, the program runs without being profiled.
. tests/e2e/launcher.inc
# still TEXT ARGUMENTS: the program runs, unprofiled, and the text is said once
still() {
	text=$1; shift
	run "$@" -- sh -c 'echo ran > ran'
	want 2 $status "$*: status"
	[ ! -e ran ] || fail "$*: the command was started"
	has "$text" err "$*"
	has 'no trace can be written, so the command was not started' err "$*"
	want 1 "$(wc -l < err)" "$*: lines"
	PROF_JOB=1:$work/gone run "$@" -- sh -c 'exit 3'
	want 3 $status "$*: status inside of another launcher"
	run --keep-going "$@" -- sh -c 'echo "ran ${LD_PRELOAD-}"; exit 3'
	want 3 $status "$*: status"
	want "ran " "$(cat out)" "$*: output"
	has "$text" err "$*"
	has 'runs without being profiled' err "$*"
	want 1 "$(wc -l < err)" "$*: lines"
}
: > file
still 'Not a directory' --logdir file/log
still 'Not a directory' --logdir file
still '/proc' --logdir /proc/proflaunch
still 'Not a directory' --spool file/spool
long=$(printf '%0300d' 0)
still 'File name too long' --logdir "$long"
if [ "$(id -u)" != 0 ]; then
	mkdir closed && chmod 555 closed
	still 'Permission denied' --logdir closed/log
	chmod 755 closed
fi

# What one of our number left when it was killed is in nobody's way; nothing of this run stays behind.
mkdir there
sh -c 'touch "there/.proflaunch-try-$$"; exec "$@"' sh "$prof" -q --logdir there -- sh -c 'exit 3'
want 3 $? "a file that was left there"
want 1 "$(ls -A there | wc -l)" "the log directory"

# No file may grow: we must neither die of SIGXFSZ nor let the program.
status=0
(ulimit -f 0; exec "$prof" -- sh -c 'exit 3' 2> /dev/null) || status=$?
want 2 $status "RLIMIT_FSIZE 0"
status=0
(ulimit -f 0; exec "$prof" --keep-going -- sh -c 'exit 3' 2> /dev/null) || status=$?
want 3 $status "RLIMIT_FSIZE 0, --keep-going"

if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=4k none full 2> /dev/null; then
	head -c 8192 /dev/zero > full/filler 2> /dev/null
	status=0
	"$prof" --logdir full -- sh -c 'exit 3' > out 2> err || status=$?
	umount full
	want 2 $status "a full disk: status"
	has 'No space left on device' err "a full disk"
	mkdir readonly && mount -t tmpfs -o ro none readonly && {
		"$prof" --logdir readonly/log -- sh -c 'exit 3' > out 2> err; status=$?
		umount readonly
		want 2 $status "a read-only file system: status"
		has 'Read-only file system' err "a read-only file system"
	}
else
	echo "cannot mount here: full and read-only disks not tried"
fi

# The agent is missing.
mkdir -p bin && cp "$prof" bin/
status=0; bin/proflaunch -- sh -c 'exit 3' 2> err || status=$?
want 3 $status "no agent: status"
has 'libproflaunch.so' err "no agent"
# Installed: PREFIX/bin and PREFIX/lib, wherever they were moved.
mkdir lib && cp "$(dirname "$prof")/libproflaunch.so" lib/
got=$(bin/proflaunch -q -- sh -c 'echo $LD_PRELOAD')
want "$work/lib/libproflaunch.so" "$got" "an installed agent"
mkdir 'with blank' && cp bin/proflaunch lib/libproflaunch.so 'with blank/'
status=0; 'with blank/proflaunch' -- sh -c 'exit 3' 2> err || status=$?
want 3 $status "a path with a blank: status"
has 'cannot be preloaded' err "a path with a blank"
