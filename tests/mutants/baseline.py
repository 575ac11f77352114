# SPDX-License-Identifier: Apache-2.0
"""Baseline: each suite once without a fault, when it is first needed: does it pass, how long
does it take. And the rule that a test which wants to be alone has no other beside it."""
import contextlib
import json
import os
import threading

import suites


class Alone:
    """Many at once, or one that asked to be alone."""

    def __init__(self):
        self.change, self.many, self.one = threading.Condition(), 0, False

    @contextlib.contextmanager
    def turn(self, alone):
        with self.change:
            self.change.wait_for(lambda: not self.one and not (alone and self.many))
            self.one, self.many = alone, self.many + 1
        try:
            yield
        finally:
            with self.change:
                self.one, self.many = False, self.many - 1
                self.change.notify_all()


class Baseline:
    def __init__(self, base, path):
        self.base, self.path, self.alone = base, path, Alone()
        self.lock, self.locks, self.known = threading.Lock(), {}, {}
        try:
            with open(path, encoding="utf-8") as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            pass
        self.told = {}

    def key(self, suite, build):
        root = self.base.path
        files = [f"{build}/{suite.name}"] if suite.unit else \
            [suite.file, f"{build}/libproflaunch.so", f"{build}/proflaunch"]
        return suites.sha(*(suites.content(os.path.join(root, file)) for file in files))

    def of(self, suite, mark, san=""):
        """Seconds that the suite takes without a fault; None where it cannot be used."""
        build = f"build-{san}" if san else "build"
        name = f"{build}/{suite.name}"
        with self.lock:
            mine = self.locks.setdefault(name, threading.Lock())
        with mine:
            entry, key = self.known.get(name), None
            if name not in self.told:
                key = self.key(suite, build)
            if key and (not entry or entry["key"] != key or entry["status"] != "ok"):
                with self.alone.turn(suite.alone(self.base.path)):
                    status, took, output = suites.run(suite, self.base, mark, None, san)
                entry = {"key": key, "status": status, "seconds": round(took, 2),
                         "why": suites.failure(status, output) if status != "ok" else ""}
                self.keep(name, entry)
            self.told[name] = entry
        return entry["seconds"] if entry["status"] == "ok" else None

    def keep(self, name, entry):
        with self.lock:
            self.known[name] = entry
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(self.known, file, indent=0)
            os.replace(self.path + ".new", self.path)

    def unusable(self):
        """What has to be said of suites that do not pass without a fault."""
        return [f"not asked: {name}: {entry['status']} without a fault, too: {entry['why']}"
                for name, entry in sorted(self.told.items()) if entry["status"] != "ok"]
