#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# release.sh DIST - all files of a release, of the commit that is checked out, and their SHA256SUMS.
#
# The sources as git has them, the wheel and what debuggers read of it, the Debian packages, and what
# the wheel is made of (CycloneDX). Nothing is tagged, signed or sent anywhere.
set -eu
cd "$(dirname "$0")/.."
[ $# = 1 ] || { sed -n 's/^# \(release.sh [A-Z]*\) - .*/usage: \1/p' "$0" >&2; exit 2; }
changed=$(git status --porcelain | wc -l)
[ "$changed" = 0 ] ||
	{ echo "release: what git status names ($changed) is in no commit" >&2; exit 1; }
version=$(cat VERSION)
mkdir -p "$1"
rm -f "$1"/proflaunch[-_]"$version"* "$1"/proflaunch-dbgsym_"$version"* "$1"/SHA256SUMS
make -s --no-print-directory wheel deb DIST="$1"
git archive --prefix="proflaunch-$version/" HEAD | gzip -9 -n > "$1/proflaunch-$version.tar.gz"
python3 - "$1"/proflaunch-"$version"-*.whl > "$1/proflaunch-$version.cyclonedx.json" << 'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith(".cyclonedx.json"):
            sys.stdout.write(wheel.read(name).decode())
END
cd "$1"
sha256sum proflaunch[-_]"$version"* proflaunch-dbgsym_"$version"* > SHA256SUMS
cat SHA256SUMS
