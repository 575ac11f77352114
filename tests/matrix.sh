#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# matrix.sh [NAME...] - the fidelity tests on other torches; a row of results for each.
#
# suite-NAME   python3-torch of a newer Debian suite, in a chroot of its own (root only)
# wheel-X.Y.Z  a released wheel in a virtual environment, with the libraries it needs
#
# Everything lies under $BUILD/matrix and is kept for the next run; what cannot be had
# here is skipped with a line.  PREPARE=1 only fetches; PROGRAMS="cnn zoo" runs these of
# tests/fidelity/progs instead of all; JOBS, how many at once, is run.sh's.
set -u
names=${*:-suite-trixie suite-sid wheel-2.0.1 wheel-2.2.2 wheel-2.4.1 wheel-2.15.0}
matrix=$BUILD/matrix
mkdir -p "$matrix/results"

suite() {	# NAME -> root, ready to be entered, or the reason why not
	root=$matrix/suite-$1
	[ "$(id -u)" = 0 ] || { echo "only root can enter a chroot"; return 1; }
	[ ! -e "$root/ready" ] || return 0
	rm -rf "$root"
	mmdebstrap -q --variant=apt --include=python3,python3-torch,libdeflate0,procps \
		--aptopt='Acquire::Check-Valid-Until "false"' "$1" "$root" \
		> "$matrix/suite-$1.log" 2>&1 ||
		{ tail -n 1 "$matrix/suite-$1.log"; return 1; }
	cp /etc/hosts "$root/etc/hosts"		# gloo asks for the host's own name
	touch "$root/ready"
}

wheel() {	# VERSION -> a virtual environment with it, or the reason why not
	venv=$matrix/wheel-$1
	[ ! -e "$venv/ready" ] || return 0
	rm -rf "$venv"
	python3 -m venv "$venv"
	case $1 in 2.[0-2].*) numpy='numpy<2' ;; *) numpy=numpy ;; esac
	"$venv/bin/pip" -q -q --disable-pip-version-check install "torch==$1" "$numpy" \
		'setuptools<81' > "$matrix/wheel-$1.log" 2>&1 ||
		{ tail -n 1 "$matrix/wheel-$1.log"; return 1; }
	touch "$venv/ready"
}

# The tests of one python, one line for each program; run.sh counts them.
programs() {	# PYTHON
	IFS='
'
	# shellcheck disable=SC2046 - one word for each line
	FIDELITY_WORK=$matrix/ran/$name TALLY='' tests/run.sh $(
		all=$(cd tests/fidelity/progs && ls ./*.py | tr '\n' ' ')
		for prog in $(echo "${PROGRAMS:-$all}" | tr ' ' '\n'); do
			prog=tests/fidelity/progs/$(basename "$prog" .py).py
			echo "tests/fidelity/check.sh $1 $prog"
		done)
}

# The same inside a suite's root: the repository lies there under its own path.
inside() {	# ROOT
	here=$(pwd)
	unshare -m sh -euc '
		root=$1 here=$2
		mkdir -p "$root$here"
		mount --bind "$here" "$root$here"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		shift 2
		exec chroot "$root" env -C "$here" "$@"' sh "$1" "$here" \
		BUILD="$BUILD" INSIDE=1 name="$name" tests/matrix.sh "$name"
}

if [ -n "${INSIDE-}" ]; then
	programs /usr/bin/python3
	exit
fi

for name in $names; do
	kind=${name%%-*}
	reason=$($kind "${name#*-}") || { echo "skip  $name: $reason" | tee "$matrix/results/$name"; continue; }
	[ -z "${PREPARE-}" ] || { echo "ready $name"; continue; }
	echo "== $name"
	case $kind in
	suite) inside "$matrix/$name" ;;
	wheel) programs "$matrix/$name/bin/python" ;;
	esac > "$matrix/results/$name" 2>&1
	grep -v '^ok' "$matrix/results/$name"
done
