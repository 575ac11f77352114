#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trace files stay in the log directory, and go through no link that another user made.
. tests/e2e/launcher.inc
record="--marker none --malloc all"
# bad PATTERN: refused by its reason
bad() {
	run --file "$1" -- touch started
	want 2 $status "--file $1: status"
	has '--file: it goes below logdir' err "--file $1"
	[ ! -e started ] || fail "--file $1: the program was started"
}
bad ../x
bad a/../x
bad a/..
bad ..
bad /x
bad "$work/x"
PROF_FILE=../x run -- true
want 2 $status "PROF_FILE"
for fine in a/x ..x x.. a/...b '%q{WHERE}/x' './x' 'a//x'; do
	WHERE=../.. run $record --logdir fine --file "$fine" -- sh -c 'echo $$'
	want 0 $status "--file $fine"
	[ "$(find fine -name '*.pt.trace.json' | wc -l)" = 1 ] || { cat err; find .; fail "--file $fine"; }
	[ "$(find . -name '*.pt.trace.json' | wc -l)" = 1 ] || fail "--file $fine: outside of the log directory"
	rm -r fine
done
# What is made of two harmless parts and an empty variable.
WHERE= run $record --logdir fine --file '.%q{WHERE}./.%q{WHERE}./x' -- sh -c 'echo $$'
[ -z "$(find . -name '*.pt.trace.json' | grep -v '^./fine/')" ] || fail "an empty variable leaves the log directory"
ls fine/__/__/x.pt.trace.json > names || fail "an empty variable: no trace file"
rm -r fine

# A link of one's own as the log directory is the directory.
mkdir real
ln -s real own
run $record --logdir own -- sh -c 'echo out'
want out "$(cat out)" "a link as the log directory"
[ "$(ls real/*.pt.trace.json | wc -l)" = 1 ] || { cat err; fail "a link as the log directory"; }

# Below it none counts, not even one of one's own.
mkdir -m 777 log elsewhere
ln -s ../elsewhere log/sub
run $record --logdir log --file 'sub/%p' -- sh -c 'echo out; exit 3'
want 3 $status "a link in the log directory: status"
want out "$(cat out)" "a link in the log directory: output"
has 'its way goes over a symbolic link' err "a link in the log directory"
[ -z "$(ls elsewhere)" ] || fail "a file was made through a link in the log directory"
rm -r log

# A file that is in the way is not touched.
mkdir log
echo precious > precious
ln -s ../precious log/x.part
run $record --logdir log --file x -- sh -c 'echo out'
want precious "$(cat precious)" "a link at the part"
ls log/x.pt.trace.json > names || fail "a link at the part: no trace"

[ "$(id -u)" = 0 ] && command -v setpriv > /dev/null || { echo "not root: one user only"; exit 0; }
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
chmod 755 .
mkdir -m 1777 shared
mkdir -m 755 shared/real
nobody ln -s real shared/theirs
run $record --logdir shared/theirs -- sh -c 'echo out; exit 3'
want 3 $status "another user's link on the way: status"
want out "$(cat out)" "another user's link on the way: output"
has 'its way goes over a symbolic link' err "another user's link on the way"
[ -z "$(ls shared/real)" ] || fail "a file was made behind another user's link"
nobody ln -s ../elsewhere shared/children
run $record --logdir shared --file 'children/x' -- sh -c 'echo out; exit 3'
want 3 $status "another user's link in the log directory: status"
has 'its way goes over a symbolic link' err "another user's link in the log directory"
[ -z "$(ls elsewhere)" ] || fail "a file was made through another user's link"
exit 0
