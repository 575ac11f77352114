# SPDX-License-Identifier: Apache-2.0
"""Job: one tree in which one fault at a time is planted, built, and shown to the tests."""
import os

import suites
from linked import same_code
from tree import mirror, stamp

NEAR = 4        # programs that are linked at once: few while one is likely to notice
REST = 8


def first_error(said):
    lines = [line for line in said.split("\n") if "error" in line.lower() or "undefined" in line]
    return (lines or said.strip().split("\n"))[0][:200]


SAME_CODE = "the compiler makes the same code of it"


class NotBuilt(Exception):
    pass


class Job:
    def __init__(self, tree, base, baseline, linked, mark):
        self.tree, self.base, self.baseline, self.linked = tree, base, baseline, linked
        self.mark, self.ended, self.luck = mark, False, None

    def end(self):
        self.ended = True
        suites.stop_all(self.mark)

    def judge(self, row, order):
        """(verdict, who noticed, how, the tests that the verdict rests on)"""
        self.luck = None
        mirror(self.base.path, self.tree.path)
        content = row.planted(self.tree.read(row.file))
        if content is None:
            return "error", "", f"its text is not once in {row.file}", []
        try:
            self.tree.plant(row.file, content)
            who, why = self.ask_all(row, order)
            if who:
                return "noticed", who.name, why, [who]
            if self.luck:
                return "luck", self.luck[0].name, self.luck[1], order
            if self.changes_nothing(row):
                raise NotBuilt(SAME_CODE)
            return "survived", "", f"{len(order)} tests passed", order
        except NotBuilt as error:
            return "error", "", str(error), []
        finally:
            if not self.ended:
                mirror(self.base.path, self.tree.path)

    def build(self, targets, san):
        ok, said = self.tree.make(targets, san)
        if not ok:
            raise NotBuilt(f"does not build: {first_error(said)}")

    def ask_all(self, row, order):
        build = f"build-{row.san}" if row.san else "build"
        units = [suite for suite in order if suite.unit]
        scripts = [suite for suite in order if not suite.unit]
        if order and not order[0].unit:         # what noticed it the last time, or all there is
            who = self.ask_scripts([scripts.pop(0)])
            if who[0]:
                return who
        if units and self.linked[row.san].of(row.file, "unit/"):
            self.build([f"{build}/libunit.a"], row.san)
            if self.changes_nothing(row):       # a look at the others, too, is cheap
                self.build(["all"], "")
                if self.changes_nothing(row):
                    raise NotBuilt(SAME_CODE)
        at = 0
        while at < len(units):
            some = units[at:at + (NEAR if at < NEAR else REST)]
            self.build([f"{build}/{suite.name}" for suite in some], row.san)
            who = self.ask(some, row.san)
            if who[0]:
                return who
            at += len(some)
        return self.ask_scripts(scripts) if scripts else (None, "")

    def ask_scripts(self, scripts):
        self.build(["all"], "")
        return self.ask(scripts, "")

    def ask(self, some, san):
        """(suite, how) of the first that notices, twice of twice."""
        for suite in some:
            if self.ended:
                break
            usual = self.baseline.of(suite, self.mark, san)
            if usual is None:
                continue
            status, output = self.once(suite, usual, san)
            if status == "fail" and not self.ended:
                again, _ = self.once(suite, usual, san)
                if again not in ("fail", "hang"):
                    self.luck = self.luck or (suite, suites.failure(status, output))
                    continue
            if status in ("fail", "hang"):
                return suite, suites.failure(status, output)
        return None, ""

    def once(self, suite, usual, san):
        with self.baseline.alone.turn(suite.alone(self.tree.path)):
            status, _, output = suites.run(suite, self.tree, self.mark, usual, san)
        return status, output

    def changes_nothing(self, row):
        """Whether each object that was built from the fault has the code that it had."""
        objects = [(os.path.join(self.tree.path, name), os.path.join(self.base.path, name))
                   for name in self.linked[row.san].of(row.file)]
        built = [(new, old) for new, old in objects if os.path.exists(new) and os.path.exists(old)
                 and stamp(new) != stamp(old)]
        return bool(built) and all(same_code(new, old) for new, old in built)
