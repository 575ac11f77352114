#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh build|test|bench|host|NAME... - install what is missing of a list, or of single rows.
#
# Four lists say everything that is ever installed.  A row is apt:PACKAGE, or
# pip:PACKAGE[==VERSION] for the virtual environment $BUILD/venv, suite:NAME for an
# unpacked older C library under $BUILD, or cupti:PACKAGE==VERSION for the headers and
# the library of one CUPTI under $BUILD/cupti.  Quick when all is there.
#
#   PROF_TORCH_INDEX   another package index for torch (its CPU builds are smaller)
set -eu

build_list='
apt:gcc apt:libc6-dev apt:make apt:libdeflate-dev apt:libiberty-dev apt:zlib1g-dev
apt:libzydis4.0 apt:libdw1
'
# demo, checks, fidelity, readers, the matrix of torch versions; in this order.
test_list='
apt:python3 apt:python3-venv apt:python3-torch
apt:binutils apt:g++ apt:clang apt:libdw-dev apt:libsqlite3-dev apt:libunwind-dev apt:libtorch-dev apt:check apt:pkg-config
apt:clang-format apt:universal-ctags apt:util-linux apt:procps apt:strace apt:gdb apt:valgrind apt:git apt:groff-base
apt:chromium apt:chromium-driver apt:firefox-esr apt:mmdebstrap
apt:libjemalloc2 apt:libtcmalloc-minimal4 apt:libmimalloc2.0
apt:musl-tools apt:libclang-rt-14-dev apt:perl-base
apt:bash-completion apt:zsh apt:fish
apt:debhelper apt:lintian apt:fakeroot
suite:bullseye
pip:torch==2.13.0 pip:numpy
pip:transformers==5.24.0 pip:accelerate==1.15.0 pip:lightning==2.6.6
pip:torch-tb-profiler==0.4.3 pip:tensorboard==2.21.0 pip:setuptools<81 pip:pandas<3
pip:viztracer==1.1.1 pip:memray==1.20.0 pip:selenium pip:pytest
pip:plotly pip:pydot pip:HolisticTraceAnalysis==0.5.0
pip:cyclonedx-python-lib pip:jsonschema pip:auditwheel
cupti:nvidia-cuda-cupti-cu11==11.7.101 cupti:nvidia-cuda-cupti-cu11==11.8.87
cupti:nvidia-cuda-cupti-cu12==12.1.105 cupti:nvidia-cuda-cupti-cu12==12.4.127
cupti:nvidia-cuda-cupti-cu12==12.8.90
cupti:nvidia-cuda-cupti==13.0.85 cupti:nvidia-cuda-cupti==13.1.115
cupti:nvidia-cuda-cupti==13.3.35 cupti:nvidia-cuda-cupti==13.4.58
'
# What `make bench` measures us against.
bench_list='
apt:heaptrack apt:libjemalloc2 apt:libpython3.11-testsuite
'
# What `make check-host` runs bare and under us; some of it starts services when it is installed.
host_list='
apt:mksh apt:ksh apt:tcsh apt:yash apt:busybox-static apt:gawk apt:bc apt:dc apt:jq apt:m4
apt:zsh apt:tcl apt:ed apt:less apt:vim apt:expect apt:socat apt:screen apt:tmux apt:fakeroot
apt:bubblewrap apt:sudo apt:rsync apt:xz-utils apt:bzip2 apt:zstd apt:lz4 apt:lzop apt:brotli
apt:pigz apt:zip apt:unzip apt:7zip apt:cpio apt:pv apt:file apt:patch apt:diffutils
apt:sqlite3 apt:openssl apt:gpg apt:gpg-agent apt:openssh-client apt:openssh-server apt:ffmpeg
apt:graphviz apt:gdb apt:ltrace apt:musl-tools apt:nasm apt:flex apt:bison apt:cmake
apt:ninja-build apt:ccache apt:perl apt:ruby apt:php-cli apt:lua5.4 apt:nodejs
apt:openjdk-17-jdk-headless apt:erlang-base apt:golang-go apt:rustc apt:guile-3.0
apt:ocaml-nox apt:sbcl apt:swi-prolog-nox apt:curl apt:redis-server apt:memcached
apt:netcat-openbsd apt:nginx-light apt:apache2 apt:lighttpd apt:haproxy apt:postgresql
apt:e2fsprogs apt:libpython3.11-testsuite
'

BUILD=${BUILD:-build}
venv=$BUILD/venv
rows=''
for name; do
	case $name in
	build) rows="$rows $build_list" ;;
	test)  rows="$rows $test_list" ;;
	bench) rows="$rows $bench_list" ;;
	host)  rows="$rows $host_list" ;;
	*)     row=$(printf '%s\n' $build_list $test_list $bench_list $host_list | grep -m 1 "^[a-z]*:$name") ||
			{ echo "setup: $name is on none of the lists" >&2; exit 2; }
	       rows="$rows $row" ;;
	esac
done
[ -n "$rows" ] || { sed -n 's/^# \(setup.sh .*\)/\1/p' "$0" >&2; exit 2; }

# One at a time: two checks may be started side by side.
mkdir -p "$BUILD"
exec 9> "$BUILD/.setup.lock"
flock 9

pick() { printf '%s\n' $rows | sed -n "s/^$1://p"; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo > /dev/null; then sudo "$@"
	else echo "setup: neither root nor sudo; please run: $*" >&2; exit 1
	fi
}

missing_apt() {
	for package in $(pick apt); do
		case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) echo "$package" ;;
		esac
	done
}

install_apt() {
	packages=$(missing_apt)
	[ -n "$packages" ] || return 0
	command -v apt-get > /dev/null ||
		{ echo "setup: no apt-get here; needed are:" $packages >&2; exit 1; }
	echo "setup: apt-get install" $packages
	as_root apt-get -q -q update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -q install -y \
		--no-install-recommends $packages > "$BUILD/setup-apt.log" 2>&1 ||
		{ tail -n 20 "$BUILD/setup-apt.log" >&2; exit 1; }
}

# Prints the rows that the environment does not satisfy.
missing_pip() {
	"$venv/bin/python" - "$@" << 'END'
import importlib.metadata, re, sys
for row in sys.argv[1:]:
    name, op, want = re.match(r"([\w.-]+)(==|<)?(.*)", row).groups()
    try:
        have = importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        have = None
    if have is None or (op == "==" and have != want) \
            or (op == "<" and int(have.split(".")[0]) >= int(want)):
        print(row)
END
}

install_pip() {
	[ -n "$(pick pip)" ] || return 0
	packages=$(missing_pip $(pick pip))
	[ -n "$packages" ] || return 0
	torch=$(printf '%s\n' $packages | grep '^torch==' || true)
	# This one asks for a whole notebook server; what it imports is on the list.
	bare=$(printf '%s\n' $packages | grep '^Holistic' || true)
	rest=$(printf '%s\n' $packages | grep -v -e '^torch==' -e '^Holistic' || true)
	# What must stay old is said each time: another row would bring a newer one.
	limits=$(pick pip | grep '<' || true)
	echo "setup: pip install" $packages
	pip() { "$venv/bin/pip" -q -q --disable-pip-version-check install --no-compile "$@"; }
	[ -z "$torch" ] || pip ${PROF_TORCH_INDEX:+--index-url "$PROF_TORCH_INDEX"} "$torch"
	[ -z "$rest" ] || pip $rest $limits
	[ -z "$bare" ] || pip --no-deps "$bare"
	# pip compiles on one processor. What is written for a newer Python cannot be compiled.
	"$venv/bin/python" -m compileall -q -j 0 "$venv"/lib/python3*/site-packages > /dev/null 2>&1 || true
}

# A C library that is older than this machine's, unpacked and never installed.  Where
# it cannot be had its test says so and is skipped.
install_suite() {
	for suite in $(pick suite); do
		root=$BUILD/suite-$suite
		[ ! -e "$root/done" ] || continue
		echo "setup: unpacking libc6 and dash of $suite"
		rm -rf "$root"
		mmdebstrap -q --variant=extract --include=libc6,dash \
			--aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" \
			> "$BUILD/setup-suite.log" 2>&1 || mkdir -p "$root"
		touch "$root/done"
	done
}

# One CUPTI: $BUILD/cupti/12.4/include and lib, whatever the wheel calls its folders.
# Headers to build the tests' synthetic CUPTI against; the libraries are only asked for
# the sizes of their records.
install_cupti() {
	for row in $(pick cupti); do
		full=${row##*==}
		root=$BUILD/cupti/${full%.*}
		[ ! -e "$root/done" ] || continue
		echo "setup: unpacking" "$row"
		rm -rf "$root"; mkdir -p "$root"
		"$venv/bin/pip" -q -q --disable-pip-version-check download --no-deps \
			--only-binary :all: -d "$root" "$row"
		python3 - "$root" << 'END'
import glob, os, sys, zipfile
root = sys.argv[1]
wheel = glob.glob(root + "/*.whl")[0]
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        head, slash, tail = name.partition("/include/")
        if not slash and os.path.basename(name).startswith("libcupti.so"):
            tail = "../lib/" + os.path.basename(name)
        if tail.endswith(".h") or "/lib/" in tail:
            path = os.path.normpath(root + "/include/" + tail)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(z.read(name))
os.unlink(wheel)
END
		touch "$root/done"
	done
}

install_apt
[ -z "$(pick pip)$(pick cupti)" ] || [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
install_suite &
suite=$!
install_cupti &
cupti=$!
trap 'kill "$suite" "$cupti" 2> /dev/null' EXIT	# where pip fails nobody waits for them
install_pip
wait "$suite"
wait "$cupti"
trap - EXIT
