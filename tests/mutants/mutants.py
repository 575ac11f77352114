#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py [--check] [--only PATTERN] [--part NAME] [--jobs N] [--again] [--same] [--units]

Plants each fault of tests/mutants/*.rows in a copy of the tree, one at a time, and says
which test notices, in how long. See README.md. Exit status: 1 where a fault survived, 2 where
a row cannot be planted.
"""
import argparse
import fcntl
import fnmatch
import os
import queue
import signal
import sys
import threading
import time

import suites
from job import Job
from baseline import Baseline
from linked import Linked
from results import Results, keys, standing, still_holds, table
from rows import read_all
from tree import Tree, mirror, refresh, seed_build


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1])
    parser.add_argument("--check", action="store_true", help="only whether each row can be planted")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN",
                        help="rows whose file, id or both fit; may be given more than once")
    parser.add_argument("--part", action="append", default=[], metavar="NAME",
                        help="rows of NAME.rows")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="what has a verdict, too")
    parser.add_argument("--same", action="store_true", help="what is marked as equivalent, too")
    parser.add_argument("--units", action="store_true",
                        help="ask unit suites alone; what they do not notice is run again without this")
    parser.add_argument("--table", action="store_true", help="run nothing: what is known so far")
    parser.add_argument("--root", default=".", help="the tree to take; this one")
    parser.add_argument("--rows", help="the folder of the rows; tests/mutants in the tree")
    return parser.parse_args()


def chosen(row, args):
    if args.part and row.part not in args.part:
        return False
    names = (row.file, row.name, row.id, os.path.basename(row.file))
    return not args.only or any(fnmatch.fnmatch(name, pattern)
                                for name in names for pattern in args.only)


def must_build(base, targets, san):
    ok, said = base.make(targets, san, os.cpu_count() or 1)
    if not ok:
        sys.exit(f"mutants: the tree does not build without a fault:\n{said}")


def build_base(root, work, rows):
    """The tree without a fault, built, and who links what in it; by sanitizer."""
    base = Tree(os.path.join(work, "base"), ["make"])
    refresh(root, base.path)
    seed_build(os.path.join(root, "build"), os.path.join(base.path, "build"))
    must_build(base, ["mutants-base"], "")
    linked = {"": Linked(base.path, "build", suites.every_unit(base.path))}
    for san in sorted({row.san for row in rows} - {""}):
        wanted = {s.name: s for row in rows if row.san == san
                  for s in sanitized(row, linked[""], base.path)}
        must_build(base, [f"build-{san}/libunit.a"] + [f"build-{san}/{name}" for name in wanted], san)
        linked[san] = Linked(base.path, f"build-{san}", list(wanted.values()))
    return base, linked


def named(row, root):
    return [s for s in (suites.find(test, root)[0] for test in row.tests) if s]


def near(row, linked, root):
    """The unit suites that link the file, the nearest first."""
    link = linked.programs(row.file)
    units = [s for s in suites.every_unit(root) if s.name in link]
    return sorted(units, key=lambda s: -suites.nearness(s, row.file, root))


def sanitized(row, linked, root):
    """What is built with a sanitizer for a row: all programs would take an hour."""
    return [s for s in named(row, root) if s.unit] + near(row, linked, root)[:3]


def plan(row, linked, root, before):
    """The suites for a row, in the order in which they are asked."""
    mine = named(row, root)
    order = [s for s in mine if s.unit]
    if row.san:
        order = sanitized(row, linked[""], root)
    else:
        order += near(row, linked[""], root)
        order += [s for s in mine if not s.unit] + suites.of_folder(row.file, root)
    first = [s for s in order if before and s.name == before["who"]]
    found = {}
    for suite in first + order:
        found.setdefault(suite.name, suite)
    return list(found.values())


class Run:
    """All rows of one call, given out to the jobs."""

    def __init__(self, args, todo, results):
        self.args, self.todo, self.results = args, queue.Queue(), results
        for item in todo:
            self.todo.put(item)
        self.total, self.done, self.lock, self.stop = len(todo), 0, threading.Lock(), False

    def tell(self, row, entry):
        with self.lock:
            self.done += 1
            who = {"noticed": f"by {entry['who']} ({entry['why']})",
                   "luck": f"by {entry['who']}, once of twice ({entry['why']})"}
            print(f"[{self.done}/{self.total}] {row.id}: {entry['verdict']} "
                  f"{who.get(entry['verdict'], entry['why'])} in {entry['seconds']} s", flush=True)

    def work(self, job):
        while not self.stop:
            try:
                row, order = self.todo.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            try:
                verdict, who, why, tests = job.judge(row, order)
            except OSError as error:
                verdict, who, why, tests = "error", "", str(error), []
            if self.stop:
                return
            found = keys(row, self.args.root, tests)
            self.tell(row, self.results.add(row, found, verdict, time.monotonic() - begin, who, why))

    def all(self, jobs):
        threads = [threading.Thread(target=self.work, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self.stop = True
            print("mutants: ends; what has a verdict keeps it", flush=True)
            while any(thread.is_alive() for thread in threads):
                for job in jobs:
                    job.end()
                threads[0].join(0.5)
            sys.exit(130)


def report(rows, last, notes):
    """The table, and what a reader has to do; the exit status."""
    print()
    print("\n".join(table(rows, last)))
    rc = 0
    for row in rows:
        entry, at = last.get(row.id), standing(row, last.get(row.id))
        if at in ("survived", "known"):
            luck = f" ({entry['who']}, once of twice)" if entry["verdict"] == "luck" else ""
            print(f"{at}: {row.place}: {row.id}{luck}: {row.fields.get('sees', '')}"
                  + (f" [known: {row.fields['known']}]" if at == "known" else ""))
            rc = rc or int(at == "survived")
        elif entry and entry["verdict"] == "error":
            print(f"{row.place}: {row.id}: {entry['why']}")
            rc = 2
        elif at == "same" and entry and entry["verdict"] == "noticed":
            print(f"{row.place}: {row.id} is marked as equivalent, and {entry['who']} notices it")
            rc = 2
    for note in notes:
        print(note)
    return rc


def run_rows(args, rows, results):
    root = args.root
    work = os.path.join(root, "build", "mutants")
    base, linked = build_base(root, work, rows)
    todo = []
    for row in rows:
        order = plan(row, linked, root, results.last.get(row.id))
        order = [s for s in order if s.unit] if args.units else order
        if ("same" not in row.fields or args.same) and \
                (args.again or not still_holds(results.last.get(row.id), row, root, order)):
            todo.append((row, order))
    print(f"mutants: {len(rows)} rows, {len(todo)} to run", flush=True)
    baseline = Baseline(base, os.path.join(work, "baseline.json"))
    jobs = []
    for number in range(min(args.jobs, len(todo))):
        path = os.path.join(work, f"job{number + 1}")
        mirror(base.path, path)
        jobs.append(Job(Tree(path, ["make"]), base, baseline, linked, f"{os.getpid()}.{number + 1}"))
    Run(args, todo, results).all(jobs)
    return baseline.unusable()


def main():
    args = arguments()
    args.root = os.path.abspath(args.root)
    folder = args.rows or os.path.join(args.root, "tests/mutants")
    rows, mistakes = read_all(folder, args.root, lambda test: suites.find(test, args.root)[1])
    for mistake in mistakes:
        print(mistake)
    if mistakes:
        return 2
    if args.check:
        print(f"{len(rows)} rows")
        return 0
    rows = [row for row in rows if chosen(row, args)]
    if not rows:
        print("mutants: no row fits")
        return 2
    work = os.path.join(args.root, "build", "mutants")
    os.makedirs(work, exist_ok=True)
    results = Results(os.path.join(work, "results.tsv"))
    if args.table:
        return report(rows, results.last, [])
    with open(os.path.join(work, "lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("mutants: another run is at work here")
            return 2
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        notes = run_rows(args, rows, results)
        return report(rows, results.last, notes)


if __name__ == "__main__":
    sys.exit(main())
