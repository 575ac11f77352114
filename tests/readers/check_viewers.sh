#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Perfetto and chrome://tracing on fidelity programs: JSON and gzip, nothing lost.
#
# The JSON files are those of the fidelity tests where these have run; the gzip files are
# made here, without torch.profiler in the program.
# run: timeout 1500
# run: long
set -u
python=$BUILD/venv/bin/python
work=$BUILD/readers/viewers
rm -rf "$work"
mkdir -p "$work"
export PYTHONPATH=tests/fidelity PYTHONDONTWRITEBYTECODE=1
rc=0
died() {	# PROGRAM: what it wrote, then whose failure it is
	echo "$1 failed under us:"
	cat "$work/err"
	tests/fidelity/whose.sh "$work/whose" "$BUILD/proflaunch --marker none" $python "$1"
	[ $? = 77 ] || rc=1
}
record() {	# FORMAT PROGRAM FOLDER
	"$BUILD/proflaunch" --logdir "$3" --format "$1" --marker none --record-shapes \
		--profile-memory "--metadata.ends\\=C:\\runs\\" -- $python "$2" > "$work/out" 2> "$work/err" ||
		died "$2"
}

# All with FULL=1; of `make check` those whose files have something odd in them.
progs=$(echo tests/fidelity/progs/*.py)
[ "${FULL-}" = 1 ] || progs=$(printf 'tests/fidelity/progs/%s.py ' annotations ddp_gloo threads zoo)
for prog in $progs; do
	$python tests/fidelity/needs.py "$prog" > /dev/null || continue
	name=$(basename "$prog" .py)
	record json.gz "$prog" "$work/$name.gz"
	[ -n "$(find "$BUILD"/fidelity/*/"$name"/log -name '*.pt.trace.json' 2>/dev/null | head -n 1)" ] ||
		record json "$prog" "$work/$name"
done
files=$(find "$work" "$BUILD/fidelity" -name '*.pt.trace.json' -o -name '*.pt.trace.json.gz')
[ "$(echo "$files" | grep -c 'gz$')" -gt 0 ] || { echo "no gzip files"; exit 1; }
# The fidelity tests have looked at their own files as strictly.
# shellcheck disable=SC2046,SC2086 - no blanks in these names
python3 tests/readers/strict.py $(find "$work" -name '*.pt.trace.json' -o -name '*.pt.trace.json.gz') || rc=1
$python tests/readers/viewers.py $files || rc=1
exit $rc
