#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# release.sh DIST - all files of a release, of the commit that is checked out, and their SHA256SUMS.
#
# The sources as git has them, the wheel and what debuggers read of it, the Debian packages, and what
# the wheel is made of (CycloneDX). Nothing is tagged, signed or sent anywhere.
set -eu
usage=$(sed -n 's/^# \(release.sh [A-Z]*\) - .*/usage: \1/p' "$0")
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "$usage" >&2; exit 2; }
changed=$(git status --porcelain -unormal)
[ -z "$changed" ] ||
	{ echo "release: what git status names ($(echo "$changed" | wc -l)) is in no commit" >&2; exit 1; }
version=$(cat VERSION)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nothing that is built already: it may be of other flags.
make -s --no-print-directory wheel deb BUILD="$work/build" DIST="$work/dist"
tar=$work/dist/proflaunch-$version.tar
git -c tar.umask=0022 archive --prefix="proflaunch-$version/" -o "$tar" HEAD
gzip -9 -n "$tar"
python3 - "$work"/dist/*.whl > "$work/dist/proflaunch-$version.cyclonedx.json" << 'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith(".cyclonedx.json"):
            sys.stdout.write(wheel.read(name).decode())
END
(cd "$work/dist" && sha256sum -- * > "$work/SHA256SUMS")
mkdir -p "$1"
mv "$work"/dist/* "$work/SHA256SUMS" "$1"
cat "$1/SHA256SUMS"
