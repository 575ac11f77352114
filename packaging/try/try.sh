#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# try.sh wheel|package - in a root of its own: installs it from /from, asks doctor, records two
# steps, takes it away again and looks for what it has left.  A line `WHAT VALUE` each in
# /tried/rows, and everything that was said in /tried/said.  Where there is a torch, two of its
# steps as well; Debian 11's hangs at its end now and then, with and without us: see train().
set -u
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /tried || exit 1
how=$1
venv=/opt/venv

row() { echo "$how.$1 $2" >> rows; }

# check WHAT COMMAND...: its row says yes, or the last words of the command.
check() {
	what=$1
	shift
	echo "\$ $*" >> said
	timeout -k 5 ${limit:-60} "$@" > last 2>&1
	status=$?
	cat last >> said
	[ $status = 0 ] && row "$what" yes || row "$what" "no: status $status, $(grep -m 1 -e Depends: -e ^OFF last || tail -n 1 last)"
	return $status
}

# Nothing that dpkg and apt note about themselves, and nothing that Python makes of any file.
files() {
	find / \( -path /proc -o -path /dev -o -path /tried -o -path /from -o -path /try -o -path /tmp \
		-o -path /var/log -o -path /var/cache -o -path /var/lib/apt \) -prune -o ! -type d -print |
		grep -v -e '\.pyc$' -e '^/var/lib/dpkg/[a-z]*-old$' | sort
}

install_wheel() { check install $venv/bin/pip -q --no-cache-dir install --no-index /from/*.whl; }

# pip knows the names of such wheels since 20.3.
wheel() {
	python3 -m venv ${torch:+--system-site-packages} $venv
	files > before
	install_wheel && return
	old=$($venv/bin/pip --version | cut -d ' ' -f 2)
	$venv/bin/pip -q install --no-index /from/pip/*.whl >> said 2>&1
	row pip "$old, renewed: $($venv/bin/pip --version | cut -d ' ' -f 2)"
	files > before
	install_wheel
}

package() {
	apt-get -q -q update >> said 2>&1
	files > before
	limit=300 check install apt-get -q -y install /from/*.deb
}

remove() {
	if [ "$how" = wheel ]; then
		check remove $venv/bin/pip -q uninstall -y proflaunch
	else
		check remove apt-get -q -y purge --autoremove proflaunch
	fi
	files > after
	diff before after > left && return
	cat left >> said
	row remove "no: left $(sed -n 's/^> //p' left | head -n 3 | tr '\n' ' '), gone $(grep -c '^<' left)"
}

plain() {
	check trace "$ours" --schedule active=2,repeat=1 --malloc all --with-stack \
		--marker symbol:getloadavg --logdir log -- "$python" /try/steps.py &&
		check trace "$python" /try/steps.py check log/*.json
}

# What hangs is ended after 40 seconds and tried again, three times; its row counts them.
train() {
	for side in bare with; do
		hung=0
		for turn in 1 2 3 4; do
			rm -rf log.torch
			if [ $side = bare ]; then set --; else
				set -- "$ours" --schedule active=2,repeat=1 --logdir log.torch --
			fi
			timeout -k 5 40 "$@" "$python" /try/steps.py torch > last 2>&1
			status=$?
			cat last >> said
			case $status in 124 | 137) hung=$((hung + 1)) ;; *) break ;; esac
		done
		row "$side" "status $status, hung $hung"
	done
	[ -e log.torch ] || { row torch "no: $(grep -o -m 1 'nothing was recorded: [^;.]*' last)"; return; }
	check torch "$python" /try/steps.py check log.torch/*.json torch
}

torch=$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null)
rm -f rows said
echo "python $(python3 -V | cut -d ' ' -f 2)" > rows
echo "glibc $(ldd --version | sed -n '1s/.* //p')" >> rows
echo "torch ${torch:--}" >> rows
if $how; then
	if [ "$how" = wheel ]; then ours=$venv/bin/proflaunch python=$venv/bin/python
	else ours=/usr/bin/proflaunch python=/usr/bin/python3; fi
	check version "$ours" --version
	check doctor "$ours" doctor --malloc all -- "$python" /try/steps.py
	plain
	[ -z "$torch" ] || train
	remove
fi
