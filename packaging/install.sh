#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh install|uninstall - put into place, or take away, what the table says.
#
# PREFIX   /usr/local without it; the agent is found from PREFIX/bin, wherever that is moved to
# LIBDIR   where the agent lies, PREFIX/lib without it: one of those that launcher/find.c looks at
# DESTDIR  a folder to make a package from; all that lies in it is ours
# BUNDLE=1 this machine's Zydis, if it has one, beside the agent
# BUILD    what was built
#
# A folder that install has to make is noted in LIBDIR/proflaunch.folders (not in DESTDIR):
# uninstall removes these, if they are empty, and no others.
set -eu
usage=$(sed -n 's/^# \(install.sh .*\)/\1/p' "$0")
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} PREFIX=${PREFIX-/usr/local} DESTDIR=${DESTDIR-}
LIBDIR=${LIBDIR:-$PREFIX/lib}
for word in "$PREFIX" "$LIBDIR"; do
	case $word in
	/*|'') ;;
	*) echo "install: '$word' does not begin with /" >&2; exit 2 ;;
	esac
done
# "/" is none, and the shell takes no part of a name for two.
bare() { word=$1; while [ "${word%/}" != "$word" ]; do word=${word%/}; done; printf %s "$word"; }
PREFIX=$(bare "$PREFIX") LIBDIR=$(bare "$LIBDIR") DESTDIR=$(bare "$DESTDIR")
made=$LIBDIR/proflaunch.folders
[ ! -L "$made" ] || { echo "install: $made is a link: nothing was done" >&2; exit 1; }

# MODE, what it is from, where it goes. P is PREFIX, L is LIBDIR.
table() {
	cat <<-'END'
	755 built       P/bin/proflaunch
	755 built       L/libproflaunch.so
	644 agent       P/include/proflaunch.h
	644 man         P/share/man/man1/proflaunch.1
	644 man         P/share/man/man1/proflaunch-recover.1
	644 man         P/share/man/man1/proflaunch-memory.1
	644 man         P/share/man/man1/proflaunch-export.1
	644 man         P/share/man/man1/proflaunch-report.1
	644 man         P/share/man/man1/proflaunch-diff.1
	644 man         P/share/man/man1/proflaunch-gate.1
	644 man         P/share/man/man1/proflaunch-ranks.1
	644 man         P/share/man/man1/proflaunch-doctor.1
	644 man         P/share/man/man1/proflaunch-bottleneck.1
	644 man         P/share/man/man5/profile.conf.5
	644 bash        P/share/bash-completion/completions/proflaunch
	644 zsh         P/share/zsh/site-functions/_proflaunch
	644 fish        P/share/fish/vendor_completions.d/proflaunch.fish
	END
	[ "${BUNDLE-}" != 1 ] || cat <<-'END'
	644 system      L/libZydis.so.4.0
	644 system      L/libZycore.so.1.4
	END
}

# What a row's file is made of, on standard output.
content() {
	case $1 in
	built)  cat "$BUILD/$2" ;;
	agent)  cat "agent/$2" ;;
	man)    "$BUILD/proflaunch" --print-man "$2" ;;
	system) cat "/usr/lib/$(uname -m)-linux-gnu/$2" ;;
	*)      "$BUILD/proflaunch" --print-completion "$1" ;;
	esac
}

make_folder() {
	[ ! -d "$1" ] || return 0
	make_folder "$(dirname "$1")"
	mkdir -m 755 "$1"
	echo "$1" >> "$new/folders"
}

# At no moment is there none, or a part of one: programs may be started meanwhile.
put() {
	[ "$2" != system ] || [ -e "/usr/lib/$(uname -m)-linux-gnu/$(basename "$3")" ] || return 0
	make_folder "$(dirname "$3")"
	content "$2" "$(basename "$3")" > "$new/file"
	# Somebody's own Zydis is a link to its full version.
	[ "$2" != system ] || [ ! -L "$3" ] || return 0
	install -m "$1" "$new/file" "$3.proflaunch-new"
	mv -f "$3.proflaunch-new" "$3"
}

take() {
	[ "$1" = system ] && [ -L "$2" ] || rm -f "$2"
}

# Of a package's folder everything is ours, up to its top.
remove_folders() {
	if [ -n "$DESTDIR" ]; then
		table | while read -r _ _ where; do
			folder=$(dirname "$(place "$where")")
			while [ "${#folder}" -gt "${#DESTDIR}" ] && rmdir "$folder" 2>/dev/null; do
				folder=$(dirname "$folder")
			done
		done
	elif [ -e "$made" ]; then
		LC_ALL=C sort -r "$made" > "$new/folders"
		rm -f "$made"
		while IFS= read -r folder; do
			rmdir "$folder" 2>/dev/null || true
		done < "$new/folders"
	fi
}

place() {
	case $1 in
	P/*) printf '%s%s/%s\n' "$DESTDIR" "$PREFIX" "${1#P/}" ;;
	L/*) printf '%s%s/%s\n' "$DESTDIR" "$LIBDIR" "${1#L/}" ;;
	esac
}

# An install that fails has made folders, too.
leave() {
	[ "$verb" != install ] || [ -n "$DESTDIR" ] || [ ! -s "$new/folders" ] || cat "$new/folders" >> "$made"
	rm -rf "$new"
}
verb=${1-}
new=$(mktemp -d)
trap leave EXIT
case $verb in
install)
	table | while read -r mode from where; do
		put "$mode" "$from" "$(place "$where")"
	done
	case $LIBDIR in
	"$PREFIX/lib"|"$PREFIX/lib64"|"$PREFIX/lib/proflaunch"|"$PREFIX/bin") ;;
	*) echo "install: $PREFIX/bin/proflaunch does not look for its library in $LIBDIR" >&2 ;;
	esac ;;
uninstall)
	[ -e "$(place P/bin/proflaunch)" ] || { echo "uninstall: there is no $(place P/bin/proflaunch): PREFIX=... as for install" >&2; exit 1; }
	table | while read -r _ from where; do
		take "$from" "$(place "$where")"
	done
	remove_folders ;;
*)
	echo "$usage" >&2
	exit 2 ;;
esac
