#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 3600
# run: alone
"""Programs bare and under us: nothing that they show may differ.

run.py [--small] [--only PATTERN] [--mode MODE] [--around NAME] [--jobs N] [--list] [--show] [--keep]

A row of tests/host/rows/ is run bare and once in each mode, each time in a fresh work
directory.  One line for each row and mode: ok or FAIL, with what differed.  Mode "bare"
compares a second bare run with the first: it shows what is not comparable in a row.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time

import cage
import compare
import table

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
AGAIN = 3       # times that what was too slow is measured again
TURNS = 5       # times that what differed runs again, bare and under us
PRELOAD = {"PROF_MARKER": "none", "PROF_MALLOC": "all", "PROF_QUIET": "1"}
MODES = {
    "default": [],
    "none": ["--marker", "none"],
    "sample": ["--marker", "none", "--malloc", "sample"],
    "all": ["--marker", "none", "--malloc", "all"],
    "stack": ["--marker", "none", "--malloc", "all", "--with-stack"],
    # All that Python tells of.
    "full": ["--marker", "none", "--with-stack=full", "--c-calls=all", "--python-events"],
    # Windows open and close at any moment of the program's.
    "often": ["--marker", "time:5", "--schedule", "wait=1,active=1", "--malloc", "all", "--with-stack"],
    "preload": None,
    "bare": None,
}
USUAL = [mode for mode in MODES if mode not in ("full", "often", "bare")]
# Surroundings that launcher and program share: shell text that ends in the command.
NEW_MOUNTS = "exec unshare -m --propagation private sh -c '%s' sh \"$@\""
AROUND = {
    "": 'exec "$@"',
    "nobody": 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"',
    "noproc": NEW_MOUNTS % 'mount -t tmpfs none /proc; exec "$@"',
    "readonly": NEW_MOUNTS % 'mount --bind . .; mount -o remount,bind,ro "$PWD"; cd "$PWD"; exec "$@"',
    # Room enough to begin, and not for what is recorded; then none at all, where the launcher
    # has to be asked to run the program all the same.
    "fulltmpfs": NEW_MOUNTS % 'mount -t tmpfs -o size=512k none "$LOG"; exec "$@"',
    "fullext4": NEW_MOUNTS % 'truncate -s 1M "$LOG.img"; mkfs.ext4 -q -O ^has_journal "$LOG.img"; '
                             'mount -o loop "$LOG.img" "$LOG"; rm "$LOG.img"; '
                             'cat /dev/zero > "$LOG/filler" 2> /dev/null; '
                             'export PROF_KEEP_GOING=on; exec "$@"',
    "newpid": 'exec unshare -mpf --mount-proc sh -c \'"$@"; exit $?\' sh "$@"',
    # The launcher as process 1; a shell where there is none.
    "pid1": 'case $MODE in bare|preload) set -- sh -c "\\"\\$@\\"; exit \\$?" sh "$@" ;; esac; '
            'exec unshare -mpf --mount-proc "$@"',
    "closed0": 'exec "$@" <&-',
    "closed1": 'exec "$@" >&-',
    "closed2": 'exec "$@" 2>&-',
    "killed": '"$@" & p=$!; sleep 1; kill -KILL $p; wait $p 2> /dev/null',
    "ended": 'exec timeout 1 "$@"',
    "tty": 'exec python3 "$P/in_tty.py" none "$@"',
    "ttyint": 'exec python3 "$P/in_tty.py" C "$@"',
    "ttyquit": 'exec python3 "$P/in_tty.py" "\\\\" "$@"',
    "closed": 'exec "$@" <&- >&- 2>&-',
}


class Place:
    """The folder of one whole run: copies of what is tested, and a folder for each run."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="host.", dir="/tmp")
        os.chmod(self.top, 0o755)
        self.ours, self.programs = os.path.join(self.top, "ours"), os.path.join(self.top, "p")
        os.mkdir(self.ours)
        for name in ("proflaunch", "libproflaunch.so"):
            shutil.copy2(os.path.join(BUILD, name), self.ours)
        os.mkdir(self.programs)
        for path in glob.glob(os.path.join(table.HERE, "..", "programs", "host_*.py")):
            name = os.path.basename(path)[len("host_"):]
            shutil.copy2(path, os.path.join(self.programs, name))
        built = os.path.join(BUILD, "host")
        if os.path.isdir(built):
            shutil.copytree(built, self.programs, dirs_exist_ok=True)
        cuda = os.path.join(BUILD, "fake", "run-13.0")
        if os.path.isdir(cuda):
            shutil.copytree(cuda, os.path.join(self.programs, "cuda"), symlinks=True)

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(place, mode, home, port):
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home + "/w", "LOG": home + "/log", "MODE": mode, "TMPDIR": home + "/w/tmp",
            "P": place.programs, "CUDA": place.programs + "/cuda", "PORT": str(port), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "TERM": "xterm", "SHELL": "/bin/sh", "PYTHONDONTWRITEBYTECODE": "1"}


def wrapped(mode, place, log, argv):
    """The command in a mode."""
    if mode == "bare":
        return argv
    if mode == "preload":
        settings = {**PRELOAD, "PROF_LOGDIR": log,
                    "LD_PRELOAD": os.path.join(place.ours, "libproflaunch.so")}
        return ["env"] + [f"{k}={v}" for k, v in settings.items()] + argv
    return [os.path.join(place.ours, "proflaunch"), "-q", "--logdir", log,
            *MODES[mode], "--", *argv]


def run_once(row, mode, place, around, limit, keep):
    home = tempfile.mkdtemp(prefix="r", dir=place.top)
    work, log, port = home + "/w", home + "/log", free_port()
    os.chmod(home, 0o755)
    for folder in (work, work + "/tmp", log):
        os.mkdir(folder)
    os.chmod(work + "/tmp", 0o1777)
    os.chmod(log, 0o1777)
    if around == "nobody":
        for folder in (work, log):
            os.chown(folder, 65534, 65534)
    env = environment(place, mode, home, port)
    argv = wrapped(mode, place, log, row.argv(env))
    try:
        seen = cage.run(["/bin/sh", "-c", AROUND[around], "sh", *argv], env, work, limit)
        places = [("WORK", work), ("HOME", home), ("TOP", place.top), ("PORT", fr"(?<=:){port}\b")]
        return seen, compare.facets(seen, work, row, places)
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def missing(row):
    if "root" in row.flags and os.geteuid():
        return "skip", "not root"
    first = [] if row.shell or row.command[0] in "$/" else [row.command.split()[0]]
    gone = [name for name in row.needs + first if not shutil.which(name)]
    return ("FAIL", "not here: " + " ".join(gone)) if gone else None


def slow_again(row, mode, place, around, limit, keep, most):
    """Side by side: what is slow each time is so by us, and not by a busy machine."""
    for _ in range(AGAIN):
        bare, _ = run_once(row, "bare", place, around, row.limit, keep)
        seen, _ = run_once(row, mode, place, around, limit, keep)
        most = max(most, bare.seconds)
        if not compare.too_slow(most, seen.seconds):
            return None
    return f"time: {seen.seconds:.2f} s for {most:.2f}, {AGAIN} times"


def whose(row, mode, place, around, limit, keep, want):
    """It differs: how often it does without us, and with us; five runs each.  One that always
    does under us, and bare once at most, is ours."""
    def differ(way):
        return sum(bool(compare.differences(want, run_once(row, way, place, around, limit, keep)[1]))
                   for _ in range(TURNS))
    return differ("bare"), differ(mode)


def try_mode(row, mode, place, around, keep, bare, want):
    limit = min(row.limit, 15 + 10 * bare.seconds)
    seen, got = run_once(row, mode, place, around, limit, keep)
    found = compare.differences(want, got)
    if seen.ours_left and not seen.left:
        found.append("left running: a process of ours, and none of the program's")
    differ = compare.differing(want, got)
    if differ and differ <= row.known.get(mode, set()) and not (seen.ours_left and not seen.left):
        return ("known", mode, seen.seconds, found)
    if found:
        alone, ours = whose(row, mode, place, around, limit, keep, want)
        found.append(f"again: of {TURNS} runs {alone} differ bare, {ours} of {TURNS} under us")
        itself = alone > (ours == TURNS)
        return ("itself" if itself else "FAIL", mode, seen.seconds, found)
    # A ratio of times is shown and fails nothing: `make bench` judges those.
    slow = compare.too_slow(bare.seconds, seen.seconds) and \
        slow_again(row, mode, place, around, limit, keep, bare.seconds)
    return ("slow", mode, seen.seconds, [slow]) if slow else ("ok", mode, seen.seconds, [])


def try_row(job):
    """[(verdict, mode, seconds, what differed)], a line each."""
    row, modes, place, around, keep, show = job
    cage.become_reaper()
    around = row.around or around
    gone = missing(row) or (os.geteuid() and around and ("skip", "not root"))
    if gone:
        return row, [(gone[0], "bare", 0, [gone[1]])]
    try:
        bare, want = run_once(row, "bare", place, around, row.limit, keep)
        shown = [f"{what}: {line}" for what, text in want.items() if show
                 for line in text.decode(errors="backslashreplace").split("\n")[:40] if line]
        lines = [("ok", "bare", bare.seconds, shown)]
        if bare.status.startswith("no end"):
            return row, [("FAIL", "bare", bare.seconds, ["no end, without us"])]
        return row, lines + [try_mode(row, mode, place, around, keep, bare, want) for mode in modes]
    except Exception as error:                          # a row must not end the others
        return row, [("FAIL", "bare", 0, [f"harness: {error!r}"])]


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--mode", action="append", choices=list(MODES))
    parser.add_argument("--around", choices=list(AROUND), default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--show", action="store_true")
    return parser.parse_args()


def chosen(options):
    return [row for row in table.rows()
            if (not options.small or "small" in row.flags)
            and (not options.only or any(fnmatch.fnmatch(row.name, p) for p in options.only))]


def report(row, lines, counts):
    for verdict, mode, seconds, found in lines[len(lines) > 1:]:
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict == "skip":
            print(f"{row.name}: skipped, {found[0]}", flush=True)
        else:
            print(f"{verdict:4} {row.name:28} {mode:8} {seconds:6.2f} s", flush=True)
            for line in found:
                print(f"       {line}", flush=True)


def main():
    options = parse()
    rows = chosen(options)
    if options.list or not rows:
        for row in rows:
            print(f"{row.name:28} {' '.join(sorted(row.flags)):12} {row.command.splitlines()[0]}")
        return not rows
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.umask(0o022)
    modes = [] if options.show else options.mode or USUAL
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place, counts, failed, start = Place(), {}, [], time.monotonic()
    # Those that take longest first, so that the last one does not run alone.
    rows.sort(key=lambda row: -row.limit)
    context = multiprocessing.get_context("fork")
    try:
        with concurrent.futures.ProcessPoolExecutor(options.jobs, context) as pool:
            jobs = [(row, modes, place, options.around, options.keep, options.show) for row in rows]
            for done in concurrent.futures.as_completed([pool.submit(try_row, j) for j in jobs]):
                row, lines = done.result()
                report(row, lines, counts)
                failed += [(row, [line]) for line in lines if line[0] == "FAIL"]
    finally:
        if options.keep:
            print("kept:", place.top)
        else:
            place.remove()
    if len(rows) > 5:                   # at the end, where a log that is cut off still has it
        for row, lines in failed:
            report(row, lines, {})
    print(f"{len(rows)} rows, {counts.get('ok', 0)} runs as bare, {counts.get('FAIL', 0)} not, {counts.get('known', 0)} known, {counts.get('slow', 0)} slow, "
          f"{counts.get('itself', 0)} differ by themselves, "
          f"{counts.get('skip', 0)} skipped, {time.monotonic() - start:.0f} s")
    return counts.get("FAIL", 0) > 0


if __name__ == "__main__":
    sys.exit(main())
