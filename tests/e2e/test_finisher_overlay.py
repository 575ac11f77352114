#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 120
"""A log directory on the root of a container: overlayfs lets go of our locks at once."""
import os
import subprocess
import sys

import prof
from finisher import LIVES, files, until


OVERLAY = """mkdir lower upper work merged
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged || exit 77
exec "$0" --logdir merged/log "$@" """


def in_a_container(folder, *words):
    run = subprocess.run(["unshare", "-m", "sh", "-c", OVERLAY, prof.LAUNCHER, *words],
                         cwd=folder, capture_output=True, text=True)
    if run.returncode == 77 or run.stderr.startswith("unshare:"):
        raise prof.Skip("no right to mount here: " + run.stderr.strip())
    assert run.returncode == 0 and run.stdout == "over\n", run
    return run.stderr


def test_who_records_lives():
    with prof.folder() as folder:
        in_a_container(folder, "--marker", "none", "--malloc", "all", "--", LIVES, "3000", "1500")
        [path] = files(os.path.join(folder, "upper", "log"))
        heap = prof.Trace(path).facts["heap"]["total"]
        assert heap["frees"] >= 3000, heap


def test_who_has_recorded_nothing_lives():
    """No spool names such a process, and no lock: its mapping of the page does."""
    with prof.folder() as folder:
        page = os.path.join(folder, "upper", "log", ".proflaunch")
        err = in_a_container(folder, "--", "sh", "-c",
                             "sleep 3 < /dev/null > /dev/null 2>&1 & sleep 0.5; echo over")
        assert "1 process still running" in err, err
        assert os.listdir(page)
        until(lambda: not os.path.exists(page) or not os.listdir(page), 20)


prof.main(sys.modules[__name__])
