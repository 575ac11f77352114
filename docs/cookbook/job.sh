#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job that never ends, in a container that is taken away: when its first process ends, the
# kernel kills all others at once.
proflaunch --schedule wait=5,active=1000000 -- python3 train.py --epochs 1000000 > out &
while ! grep -q 'epoch 1' out; do
	sleep 1
done
