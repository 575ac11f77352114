#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All texts come from the one table, and what they show is accepted.
example=$(realpath profile.conf.example)
version=$(cat VERSION)
top=$PWD
. tests/e2e/launcher.inc

run --print-config
want 0 $status "--print-config"
diff out "$example" || fail "profile.conf.example is not what --print-config prints"
sed 's/^#\([a-z_.]* =\)/\1/' "$example" > all.conf
grep -c '^[a-z_.]* =' all.conf | grep -qv '^0$' || fail "the example shows no option"
run -q --config all.conf -- true
want 0 $status "the example with every option switched on"

run --version
want "proflaunch $version" "$(cat out)" "--version"

# What a report of a fault should have with it: each line names what is really there.
run --version --verbose
want 0 $status "--version --verbose"
sed -n 's/^\([^ ]*\( library\)\{0,1\}\)  .*/\1/p' out | tr '\n' , > names
want 'commit,compiler,libdeflate,zlib,launcher,agent,libdw,Zydis,C library,kernel,' "$(cat names)" "--verbose"
want "proflaunch $version" "$(head -n 1 out)" "--verbose"
has "$(uname -r)" out "the kernel"
path() { sed -n "s|^$1  *\\(/[^,]*\\).*|\\1|p" out; }
identity() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
for binary in launcher agent; do
	[ -e "$(path $binary)" ] || fail "there is no '$(path $binary)'"
	has "build id $(identity "$(path $binary)")" out "$binary"
done
for library in libdw Zydis; do
	[ -e "$(path $library)" ] || grep -q "^$library  *not found: .* (Debian: " out || fail "$library"
done
commit=$(cat "$(dirname "$prof")/commit")
[ -n "$commit" ] || commit='not told by the build'
grep -q "^commit  *$commit$" out || fail "commit: not $commit"
mkdir alone
cp "$prof" alone/
alone/proflaunch -V --verbose > out || fail "without its agent"
has 'agent       not found: libproflaunch.so is neither beside proflaunch nor in ../lib' out "no agent"
run --verbose -- true
want 2 $status "--verbose for a run"
has '--verbose: goes with --version' err "--verbose for a run"

run --help
want 0 $status "--help"
mv out help
run --print-man nothing.1
want 2 $status "a page that is not there"
pages=$(sed -n 's/.*the pages are //p' err | tr -d ,)
want 11 "$(echo "$pages" | wc -w)" "pages that are named"
for page in $pages; do
	"$prof" --print-man "$page" > "$page" || fail "$page"
done
sed -n 's/^\([a-z_]*\) =.*/\1/p' all.conf > names
[ "$(wc -l < names)" -ge 13 ] || fail "too few options in the example"
while read -r name; do
	dashed=$(echo "$name" | tr _ -)
	has "--$dashed " help "--help"
	has "PROF_$(echo "$name" | tr a-z A-Z)" proflaunch.1 "proflaunch.1"
	has "\\fB$name\\fR" profile.conf.5 "profile.conf.5"
done < names
for section in NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT FILES 'EXIT STATUS' EXAMPLES; do
	has ".SH $section" proflaunch.1 "proflaunch.1"
done
# Verbs with options of their own: their pages have what their --help has.
while read -r verb least; do
	"$prof" "$verb" --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p' > names
	[ "$(wc -l < names)" -ge "$least" ] || fail "too few options of $verb"
	sed 's/\\-/-/g' "proflaunch-$verb.1" > plain
	while read -r name; do
		has "fB--$name" plain "proflaunch-$verb.1"
	done < names
done << 'T'
memory 10
report 12
diff 5
gate 8
ranks 4
export 15
T
make -s -C "$top" -o all install BUILD="$(dirname "$prof")" DESTDIR="$work" PREFIX=/usr || fail "make install"
for page in $pages; do
	cmp "$page" "usr/share/man/man${page##*.}/$page" || fail "make install: $page"
done
command -v groff > /dev/null || { echo "groff is not here: pages not rendered"; exit 0; }
for page in $pages; do
	groff -ww -man -Tutf8 "$page" > text 2> complaints || fail "$page: groff"
	[ ! -s complaints ] || { cat complaints; fail "$page: warnings"; }
	[ "$(wc -l < text)" -gt 30 ] || fail "$page: hardly any text"
done
