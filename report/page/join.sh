#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# join.sh TO STYLE SCRIPT... - page.html with its style and scripts inside, as TO/page.head, which
# comes before the runs, and TO/page.tail.  The page obeys no script but its own: its policy names
# the hashes of both.  Comments that fill a line, and indents, are left out.
set -e
here=$(dirname "$0") to=$1 style=$2
shift 2

# As "sha256-..." in base64, by what every system has: bytes are written as octal numbers.
hash_of() {
	hex=$(sha256sum "$1" | cut -c 1-64)
	printf 'sha256-'
	for byte in $(printf '%s' "$hex" | sed 's/../& /g'); do
		printf "\\$(printf %03o "0x$byte")"
	done | base64 | tr -d '\n'
}

sed 's/^[ \t]*//; /^\/\*.*\*\/$/d; /^$/d' "$style" > "$to/page.css.new"
{
	echo "'use strict';"
	cat "$@" | sed "s/^[ \t]*//; /^\/\//d; /^\/\*.*\*\/\$/d; /^'use strict';\$/d; /^\$/d"
} > "$to/page.js.new"

policy="default-src 'none'; script-src '$(hash_of "$to/page.js.new")'; \
style-src '$(hash_of "$to/page.css.new")'; img-src data:; base-uri 'none'; form-action 'none'"

part=head
: > "$to/page.head.new"
: > "$to/page.tail.new"
while IFS= read -r line; do
	case $line in
	@runs@) part=tail ;;
	@style@) { printf '<style>'; cat "$to/page.css.new"; echo '</style>'; } >> "$to/page.$part.new" ;;
	@script@) { printf '<script>'; cat "$to/page.js.new"; echo '</script>'; } >> "$to/page.$part.new" ;;
	*@policy@*) printf '%s\n' "${line%@policy@*}$policy${line#*@policy@}" >> "$to/page.$part.new" ;;
	*) printf '%s\n' "$line" >> "$to/page.$part.new" ;;
	esac
done < "$here/page.html"
rm "$to/page.css.new" "$to/page.js.new"
mv "$to/page.tail.new" "$to/page.tail"
mv "$to/page.head.new" "$to/page.head"
