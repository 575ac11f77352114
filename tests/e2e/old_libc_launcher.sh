#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The launcher starts under an older Debian's C library, and does there what it does here:
# a run, recover, memory, doctor.
old=$(realpath "${BUILD:-build}")/suite-bullseye
[ -x "$old/usr/bin/perl" ] && [ -e "$old/lib/x86_64-linux-gnu/libc.so.6" ] ||
	{ echo "an older Debian's libc could not be had at set-up"; exit 77; }
. tests/e2e/launcher.inc
here=$(dirname "$prof")
names="unshare --mount --pid --fork"
$names true 2> err || names="$names --user --map-root-user"
$names true 2> err || { cat err; echo "no namespace of mounts can be made here"; exit 77; }

# A root of its own: what the loader finds there is all that there is.
mkdir -p root/lib root/bin root/opt root/proc root/tmp root/dev
cp -RL "$old/lib/x86_64-linux-gnu" root/lib
ln -s lib root/lib64
cp -L "$old"/lib/x86_64-linux-gnu/ld-2.*.so root/lib/ld-linux-x86-64.so.2
cp -L "$old/bin/dash" root/bin/sh
cp -L "$old/usr/bin/perl" root/bin
cp "$prof" "$here/libproflaunch.so" root/opt
# inside SCRIPT: in that root, with every symbol bound at once.
inside() {
	status=0
	$names sh -c 'mount -t proc proc root/proc 2> /dev/null || mount --rbind /proc root/proc
		exec chroot root /bin/sh -c "$1"' sh "PATH=/bin:/opt LC_ALL=C LD_BIND_NOW=1; export PATH LC_ALL LD_BIND_NOW; cd /tmp; $1" \
		> out 2> err || status=$?
}

inside 'while read -r line; do echo "$line"; done < /proc/self/maps'
has /lib/x86_64-linux-gnu/libc out "the older C library"
inside 'proflaunch --version'
want 0 $status "--version"
has "proflaunch " out "--version"
inside 'proflaunch -q -- sh -c "echo out; exit 7"'
want 7 $status "the status of a run"
want out "$(cat out)" "the output of a run"
[ ! -s err ] || { cat err; fail "lines of the loader's or of ours"; }

cat > root/tmp/many.pl << 'E'
my @a;
push @a, "x" x 1000 for 1..20000;
print scalar(@a), "\n";
if (@ARGV) {
	kill 9, getppid;
	sleep 100;
}
E
inside 'proflaunch --marker none --malloc all --logdir /tmp/log -- perl many.pl'
want 0 $status "a run that is recorded"
want 20000 "$(cat out)" "the output of a run that is recorded"
ls root/tmp/log/*.pt.trace.json > names || { cat err; fail "no trace"; }
inside 'proflaunch memory /tmp/log/*.pt.trace.json'
want 0 $status "memory"
has 'MiB' out "memory"

inside 'proflaunch -q --marker none --malloc all --logdir /tmp/killed -- perl many.pl now'
want 137 $status "a launcher that was killed"
inside 'proflaunch recover /tmp/killed'
want 0 $status "recover"
ls root/tmp/killed/*.pt.trace.json > names || { cat err; fail "recover wrote no trace"; }
inside 'proflaunch doctor -- perl -e 1'
has "libproflaunch.so" out "doctor"
grep -i -e 'error' -e 'version .GLIBC' out err && fail "doctor"
exit 0
