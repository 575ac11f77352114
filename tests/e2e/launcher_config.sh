#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three spellings, one order, and every mistake with its place and the right name.
. tests/e2e/launcher.inc
# An option with its default has no row.
value() { "$prof" -q "$@" -- sh -c 'echo ${PROF_'$name'-none}'; }

# default < file < environment < command line
name=BUFFER_MB
want none "$(value)" "the default"
echo 'buffer_mb = 100' > profile.conf
want 100 "$(value)" "./profile.conf"
echo 'buffer_mb = 101' > other.conf
want 101 "$(PROF_CONFIG=other.conf value)" "PROF_CONFIG"
echo 'buffer_mb = 102' > third.conf
want 102 "$(PROF_CONFIG=other.conf value --config third.conf)" "--config"
want 103 "$(PROF_BUFFER_MB=103 value --config third.conf)" "the environment over the file"
want 104 "$(PROF_BUFFER_MB=103 value --buffer-mb 104)" "the command line over all"
want 105 "$(value --buffer_mb=105)" "an underscore and an equals sign"
want 106 "$(value --buffer-mb 105 --buffer-mb 106)" "the last one"
want none "$(value --buffer-mb 256)" "back to the default"
rm profile.conf

name=RECORD_SHAPES
for on in --record-shapes '--record-shapes on' --record-shapes=yes '--record_shapes 1' '--record-shapes true'; do
	want on "$(value $on)" "$on"
done
want none "$(PROF_RECORD_SHAPES=1 value --record-shapes off)" "--record-shapes off"
want on "$(PROF_RECORD_SHAPES=1 value)" "PROF_RECORD_SHAPES=1"

name=METADATA_team
printf '# a comment\n\n  metadata.team  =  "vision  "  \r\n' > profile.conf
want vision "$("$prof" -q -- sh -c 'echo "$PROF_METADATA_team"')" "metadata from the file"
want speech "$(value --metadata.team speech)" "metadata on the command line"
want sound "$(PROF_METADATA_team=sound value)" "metadata in the environment"

# A shell in between keeps the rows of stages: they are in the environment of what it starts.
printf 'preset = hf\n[stage my-val]\nmarker = python:v # ends\r\nwithin = "python:w"\n' > profile.conf
name=STAGE_my_val_within
want python:w "$(value)" "a stage from the file"
want python:x "$(value --stage.my-val.within python:x)" "a stage on the command line"
want python:y "$(PROF_STAGE_my_val_within=python:y value)" "a stage in the environment"
name=STAGE_my_val_marker
want torch:z "$(value --stage my-val=torch:z)" "--stage"
name=PRESET
want hf "$(value)" "a preset"
want none "$(value --preset off)" "no preset"
rm profile.conf
name=LOGDIR
want "$work/a b/c" "$(value --logdir './a b/c')" "a log directory becomes absolute"

# bad TEXT ARGUMENTS: exit 2, the text on stderr, nothing started
bad() {
	text=$1; shift
	run "$@" -- touch started
	want 2 $status "$*: status"
	has "$text" err "$*"
	[ ! -e started ] || fail "$*: the program was started"
}
bad '--logdri: no such option (did you mean --logdir?)' --logdri x
bad "--buffer-mb: 'many' is no number from 1 to 1048576" --buffer-mb many
bad "--buffer-mb: '0' is no number" --buffer-mb 0
bad "--buffer-mb: '99999999999999999999' is no number" --buffer-mb 99999999999999999999
bad "--format: 'xml' is none of json|json.gz" --format xml
bad "--children: 'maybe' is none of off|on|each" --children=maybe
bad '--schedule: active must be given' --schedule wait=1
bad '--schedule:' --schedule wait=1,activ=3
bad '--marker:' --marker foo:bar
bad '--file: %x is none of' --file '%h_%x'
bad '--spool:' --spool somewhere
bad '--metadata.: a metadata key' --metadata.= x
bad '--stage.a.within: it takes no @begin' --stage.a.within=python:f@end
bad 'stages: a has leave without enter' --stage a=auto --stage.a.leave python:f
bad 'missing.conf: No such file or directory' --config missing.conf
bad '--logdir: its value is missing' --logdir
bad '-x: no such option' -x
mkdir dir.conf
bad 'dir.conf: Is a directory' --config dir.conf
printf 'record_shapes = on\n\nlogdri = x\nbuffer_mb = 0\nnonsense\n' > profile.conf
bad 'profile.conf:3: logdri: no such option (did you mean logdir?)'
has "profile.conf:4: buffer_mb: '0' is no number" err "all mistakes at once"
has "profile.conf:5: expected 'option = value' instead of 'nonsense'" err "all mistakes at once"
printf 'schedule = wait=1\n' > profile.conf
bad 'profile.conf:1: schedule: active must be given'
head -c 70000 /dev/zero | tr '\0' '#' > profile.conf
bad 'profile.conf: is larger than 64 KiB'
rm profile.conf
PROF_BUFER_MB=1; export PROF_BUFER_MB
bad 'PROF_BUFER_MB: no such option (did you mean PROF_BUFFER_MB?)'
unset PROF_BUFER_MB
PROF_DATABASE_URL=x "$prof" -q -- true || fail "somebody else's PROF_ name was refused"
PROF_FORMAT=xml; export PROF_FORMAT
bad "PROF_FORMAT: 'xml' is none of json|json.gz"
unset PROF_FORMAT

# An implicit file that others may write is ignored whole, whatever bytes stand in it.
name=LOGDIR
printf 'logdir = %s/evil\nbuffer_mb = 99\n' "$work" > profile.conf
want "$work/evil" "$(value)" "a file of our own"
chmod 666 profile.conf
want "$work/log" "$(value 2> err)" "a file that others may write"
has './profile.conf: ignored, because others may write it (--config profile.conf makes it count)' err "it is said"
want 1 "$(wc -l < err)" "it is said once"
name=BUFFER_MB
want none "$(value 2> err)" "harmless options of such a file"
name=LOGDIR
chmod 644 profile.conf; chmod 777 .
want "$work/log" "$(value 2> err)" "a directory that others may write"
want "$work/evil" "$(value --config profile.conf)" "the same file, named"
chmod 1777 .
want "$work/log" "$(value 2> err)" "a directory like /tmp"
for bytes in '\r' '\v' '\f' '\000\n' '\357\273\277' '\t \r \t' '\r\r\r'; do
	printf "${bytes}logdir\r= $work/evil\n${bytes}on_trace = touch $work/ran\n${bytes}spool = $work/evil\n" > profile.conf
	want "$work/log" "$(value 2> err)" "after $bytes"
	[ ! -e ran ] && [ ! -e evil ] || fail "after $bytes: something was run or made"
done
chmod 755 .
mv profile.conf other.conf
ln -s other.conf profile.conf
want "$work/log" "$(value 2> err)" "a link"
has 'because it is a link' err "it is said"
rm profile.conf

# Another user's file, in a directory of ours and of theirs; root's counts for all.
[ "$(id -u)" = 0 ] && command -v setpriv > /dev/null || { echo "not root: one user only"; exit 0; }
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
printf 'logdir = %s/evil\n' "$work" > profile.conf
chown 65534 profile.conf
want "$work/log" "$(value 2> err)" "another user's file"
has 'because it belongs to another user' err "it is said"
chown 65534 .
chown 0 profile.conf
want "$work/log" "$(value 2> err)" "another user's directory"
has 'because its directory belongs to another user' err "it is said"
chown 0 .
mkdir -m 777 evil
# The checkout may be nobody else's.
cp "$prof" "$(dirname "$prof")/libproflaunch.so" .
want "$work/evil" "$(nobody ./proflaunch -q -- sh -c 'echo $PROF_LOGDIR')" "root's file for another user"
