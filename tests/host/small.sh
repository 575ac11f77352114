#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 360
# run: alone
# Other people's programs, bare and under us: the small ones of tests/host/rows.
tests/host/run.py --small || exit
# Where our thread comes and goes all the time: users, children and their descriptors.
exec tests/host/run.py --small --mode often --only setpriv --only 'ids*' --only 'exec-*' --only 'python-*fork*'
