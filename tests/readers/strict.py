#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strict.py TRACE... - is each trace exactly what every reader can digest?

Stricter than any reader: valid UTF-8 and JSON without duplicate keys, control
characters or NaN; metadata first; times as text with three places; slices that nest
on whole nanoseconds and on the doubles that readers compute; arrows bound at both
ends; ids that are unique; marks, rows and numbers that the readers look for.
"""
import collections
import gzip
import json
import os
import re
import sys

MEMORY = {"Total Reserved", "Total Allocated", "Bytes", "Addr", "Device Id", "Device Type",
          "Ev Idx"}
NAME = re.compile(r".+?(\.\d{19})?\.pt\.trace\.json(\.gz)?$")


class Decimal(float):
    """A number that remembers how it was written."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number

    def ns(self):
        return int(self.text.replace(".", ""))


def pairs(items):
    found = dict(items)
    if len(found) < len(items):
        keys = collections.Counter(key for key, _ in items)
        raise ValueError(f"duplicate key {keys.most_common(1)[0][0]!r}")
    return found


def refuse(text):
    raise ValueError(f"{text} is no JSON")


class Check:
    def __init__(self, path):
        self.path, self.problems = path, []
        with open(path, "rb") as file:
            data = file.read()
        self.text = (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8")
        self.trace = json.loads(self.text, object_pairs_hook=pairs, parse_constant=refuse,
                                parse_float=Decimal)
        self.events = self.trace["traceEvents"]

    def say(self, text):
        self.problems.append(text)

    def want(self, truth, text):
        if not truth:
            self.say(text)

    def run(self):
        self.want(NAME.match(os.path.basename(self.path)), "odd file name")
        self.top()
        self.times()
        self.rows()
        self.nesting()
        self.identities()
        self.arrows()
        self.memory()
        self.steps()
        self.marks()
        return self.problems

    def top(self):
        keys = list(self.trace)
        after = keys[keys.index("traceEvents") + 1:]
        self.want(after in ([], ["traceName"]), f"after traceEvents: {after}")
        tail = self.text[self.text.rindex("]") + 1:]
        self.want(re.fullmatch(r'\s*(,\s*"traceName":\s*"[^"]*"\s*)?}\s*', tail),
                  f"the last ] does not close traceEvents: {tail[:80]!r}")
        self.want(self.events, "no events")
        self.want(re.search(r'"rank":\s+\d+', self.text), "no rank for HTA")
        info = self.trace.get("distributedInfo", {})
        self.want({"backend", "rank", "world_size"} <= set(info), f"distributedInfo {info}")
        self.want(self.trace.get("schemaVersion") == 1, "schemaVersion")
        self.want(self.trace.get("displayTimeUnit") == "ms", "displayTimeUnit")
        self.want(isinstance(self.trace.get("baseTimeNanoseconds"), int), "no base time")
        self.want(isinstance(self.trace.get("deviceProperties"), list), "deviceProperties")
        self.want(isinstance(self.trace.get("proflaunch"), dict), "no key proflaunch")

    def times(self):
        for event in self.events:
            for key in ("ts", "dur"):
                value = event.get(key)
                if value is None:
                    continue
                if not isinstance(value, Decimal) or not re.fullmatch(r"\d+\.\d{3}", value.text):
                    self.say(f"{event.get('name')}: {key} is {value!r}")
                    return

    def rows(self):
        named = {(e["pid"], e["tid"]) for e in self.events if e.get("name") == "thread_name"}
        processes = collections.defaultdict(set)
        for event in self.events:
            self.want(event.get("name"), f"no name: {event}")
            if event["ph"] == "M":
                processes[event["pid"]].add(event["name"])
            if event["ph"] != "X" or event.get("cat") == "Trace":
                continue
            lacks = {"name", "cat", "pid", "tid", "ts", "dur"} - set(event)
            self.want(not lacks, f"{event.get('name')} lacks {lacks}")
            row = (event["pid"], event["tid"])
            # -1 is the row of CUPTI's own overheads.
            self.want(all(isinstance(part, int) and part >= -1 for part in row), f"row {row}")
            self.want(row in named, f"row {row} has no thread_name")
            self.want({"process_name", "process_labels", "process_sort_index"}
                      <= processes[event["pid"]] or self.later(event["pid"]),
                      f"process {event['pid']} has no metadata")
            if len(self.problems) > 20:
                return

    def later(self, pid):
        names = {e["name"] for e in self.events if e["ph"] == "M" and e["pid"] == pid}
        return {"process_name", "process_labels", "process_sort_index"} <= names

    def slices(self):
        found = collections.defaultdict(list)
        for place, event in enumerate(self.events):
            if event["ph"] == "X" and event.get("cat") != "Trace":
                found[event["pid"], event["tid"]].append((event, place))
        return found

    def nesting(self):
        for row, slices in self.slices().items():
            slices.sort(key=lambda one: (one[0]["ts"].ns(), one[1]))
            stack = []
            for event, _ in slices:
                start, dur = event["ts"], event["dur"]
                while stack and stack[-1]["ts"].ns() + stack[-1]["dur"].ns() < start.ns():
                    before = stack.pop()
                    self.want(float(before["ts"]) + float(before["dur"]) < float(start),
                              f"row {row}: {event['name']} begins inside {before['name']} on doubles")
                if stack:
                    top = stack[-1]
                    end = top["ts"].ns() + top["dur"].ns()
                    inside = start.ns() + dur.ns() < end and \
                        float(start) + float(dur) <= float(top["ts"]) + float(top["dur"])
                    self.want(inside, f"row {row}: {event['name']} at {start.text} does not "
                                      f"end in {top['name']} at {top['ts'].text}")
                stack.append(event)
                if len(self.problems) > 20:
                    return

    def identities(self):
        seen = set()
        for event in self.events:
            if event["ph"] == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
                number = event.get("args", {}).get("External id")
                self.want(isinstance(number, int) and number >= 1 and number not in seen,
                          f"{event['name']}: External id {number}")
                seen.add(number)
                if len(self.problems) > 20:
                    return
        names = collections.defaultdict(set)
        for event in self.events:
            args = event.get("args", {})
            if args.get("Fwd thread id") and event["name"].endswith("Backward0") and \
                    not event["name"].startswith("autograd::"):
                names[args["Fwd thread id"], args["Sequence number"]].add(event["name"])
        for key, found in names.items():
            self.want(len(found) == 1, f"sequence number {key} belongs to {found}")

    def arrows(self):
        begins = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X" and event.get("cat") != "Trace":
                begins[event["pid"], event["tid"], event["ts"].text].append(event)
        flows = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in self.events:
            if event["ph"] in "sf":
                flows[event["cat"], event["id"]][event["ph"]].append(event)
        for key, ends in flows.items():
            self.want(len(ends["s"]) == 1 and len(ends["f"]) == 1, f"arrow {key} has {dict(ends)}")
            for kind in "sf":
                for end in ends[kind]:
                    held = begins.get((end["pid"], end["tid"], end["ts"].text), [])
                    if not held and kind == "f" and key[0] == "ac2g":
                        held = self.around(end)  # GPU work that seems to begin before its call
                    self.want(held, f"arrow {key}: nothing begins at its {kind}")
                    if kind == "f":
                        self.want(end.get("bp") == "e", f"arrow {key} has no bp")
                        self.want(not held or any(not e["name"].startswith("autograd::engine::eval")
                                                  for e in held), f"arrow {key} ends on the outer op")

    def around(self, mark):
        """The slices in which a mark lies."""
        at = mark["ts"].ns()
        return [e for e, _ in self.slices().get((mark["pid"], mark["tid"]), [])
                if e["ts"].ns() <= at <= e["ts"].ns() + e["dur"].ns()]

    def memory(self):
        for event in self.events:
            if event["ph"] == "i" and event["name"] == "[memory]":
                keys = set(event.get("args", {}))
                self.want(MEMORY <= keys, f"[memory] lacks {MEMORY - keys}")

    def steps(self):
        numbers = [int(event["name"].split("#")[1]) for event in
                   sorted((e for e in self.events if e["ph"] == "X"
                           and re.match(r"ProfilerStep#", e["name"])),
                          key=lambda e: e["ts"])]
        wanted = list(range(numbers[0], numbers[0] + len(numbers))) if numbers else []
        self.want(numbers == wanted, f"steps {numbers[:20]}")

    def marks(self):
        names = [event["name"] for event in self.events]
        for name in ("PyTorch Profiler (0)", "Iteration Start: PyTorch Profiler",
                     "Record Window End"):
            self.want(names.count(name) == 1, f"{names.count(name)} of {name}")
        self.want(names[-1] == "Record Window End", f"the last event is {names[-1]}")
        if self.problems:
            return
        low = self.events[names.index("Iteration Start: PyTorch Profiler")]["ts"].ns()
        high = self.events[-1]["ts"].ns()
        for event in self.events:
            if event["ph"] == "X":
                self.want(low <= event["ts"].ns() and event["ts"].ns() + event["dur"].ns() <= high,
                          f"{event['name']} lies outside the window")


def main(paths):
    bad = 0
    for path in paths:
        try:
            problems = Check(path).run()
        except (ValueError, KeyError, UnicodeDecodeError) as error:
            problems = [f"{type(error).__name__}: {error}"]
        for problem in problems[:10]:
            print(f"{path}: {problem}")
        bad += bool(problems)
    print(f"{len(paths)} files, {bad} not strict")
    return 1 if bad or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
