#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh DIST [OBJECTS] - makes the Debian package, and its -dbgsym, of the tree as it is: DIST/*.deb.
#
# OBJECTS is a build folder whose objects are taken, so that little is left to compile.
# The sources are copied, so that nothing is built or left in the tree: what git tracks, and what
# it does not ignore. The same sources give the same bytes, whoever builds them and wherever:
# times are those of debian/changelog.
set -eu
usage=$(sed -n 's/^# \(deb.sh .*\) - .*/usage: \1/p' "$0")
cd "$(dirname "$0")/.."
[ $# = 1 ] || [ $# = 2 ] || { echo "$usage" >&2; exit 2; }
command -v dpkg-buildpackage > /dev/null && command -v dh > /dev/null ||
	{ echo 'deb: no debhelper here: tests/setup.sh debhelper installs it' >&2; exit 1; }
version=$(cat VERSION)
told=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
[ "$told" = "$version" ] ||
	{ echo "deb: debian/changelog is of $told, and VERSION of $version" >&2; exit 1; }
umask 022
unset MAKEFLAGS MFLAGS MAKELEVEL SAN BUILD DESTDIR PREFIX LIBDIR BUNDLE SOURCE_DATE_EPOCH
# The copy has no history.
[ ! -e .git ] || export COMMIT="${COMMIT-$(git describe --always --dirty --abbrev=12 --exclude '*' 2> /dev/null)}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/proflaunch-$version
mkdir -p "$source"
if [ -e .git ]; then git ls-files -co --exclude-standard -z > "$work/files"
else find . -name build -prune -o -name 'build-*' -prune -o -name dist -prune -o -name log -prune -o -type f -print0 > "$work/files"
fi
xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh < "$work/files" |
	tar -c --null -T - | tar -x -C "$source" --no-same-permissions
[ $# = 1 ] || { mkdir "$source/build" && cp -a "$2/so" "$2/bin" "$source/build"; }
(cd "$source" && DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$(nproc)} \
	dpkg-buildpackage -us -uc -b -nc) > "$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; exit 1; }
mkdir -p "$1"
mv "$work"/*.deb "$1"
ls "$1"/proflaunch_"$version"_*.deb
