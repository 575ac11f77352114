#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All texts come from the one table, and what they show is accepted.
example=$(realpath profile.conf.example)
version=$(cat VERSION)
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
run --help
want 0 $status "--help"
mv out help
"$prof" --print-man proflaunch.1 > proflaunch.1 || fail "proflaunch.1"
"$prof" --print-man profile.conf.5 > profile.conf.5 || fail "profile.conf.5"
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
run --print-man nothing.1
want 2 $status "a page that is not there"
command -v groff > /dev/null || { echo "groff is not here: pages not rendered"; exit 0; }
for page in proflaunch.1 profile.conf.5; do
	groff -ww -man -Tutf8 "$page" > text 2> complaints || fail "$page: groff"
	[ ! -s complaints ] || { cat complaints; fail "$page: warnings"; }
	[ "$(wc -l < text)" -gt 40 ] || fail "$page: hardly any text"
done
