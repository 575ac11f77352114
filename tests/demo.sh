#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh - the launcher on the example, with whatever torch python3 finds.
#
# DEMO_LOG names the log directory; without it ./log.
set -eu
python=$(command -v python3 || echo /usr/bin/python3)
if ! "$python" -c 'import torch' 2> /dev/null; then
	echo "demo: $python has no torch: installing the system's" >&2
	tests/setup.sh python3 python3-torch
	python=/usr/bin/python3
fi
log=${DEMO_LOG:-log}
"$BUILD/proflaunch" --logdir "$log" --dialect tb043 --record-shapes --profile-memory -- \
	"$python" examples/train.py
echo
exec "$python" tests/tell.py "$log"
