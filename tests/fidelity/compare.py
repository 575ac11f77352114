#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare torch.profiler's trace of a program with ours of the same run.

    compare.py TORCH.json OURS.json[.gz] [PROGRAM.py]

Every CPU event of torch's trace, between the harness's two marks, must have its equal
in ours: same thread, same place in the order of begins, same nesting parent, same name,
category, inputs, sequence number and forward thread; the same memory events between
the same operators; the same forward/backward arrows.  Ours may have no other event.

What only one side can see is said in the program, one line each, with the reason:

    # only we see: REGULAR EXPRESSION: reason       (of operator names)
    # only torch sees: REGULAR EXPRESSION: reason
    # other threads: reason                         (torch.profiler did not observe them)
    # unordered memory: reason                      (ours may have more, in any order)
    # other inputs: REGULAR EXPRESSION: reason      (of operator names)
    # later begins: REGULAR EXPRESSION: reason      (torch.profiler's own work lies between)

A torch before 2.4 writes whole microseconds and knows fewer keys.  Of its file alone,
what it lacks is not compared, with a line that says so, and two events of one
microsecond may stand to each other in any way that its times allow.
"""
import bisect
import collections
import difflib
import gzip
import json
import re
import statistics
import sys

BEGIN, END = "fidelity::begin", "fidelity::end"
KINDS = ("cpu_op", "user_annotation")
INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
LINKS = ("Sequence number", "Fwd thread id")
MEMORY = ("Bytes", "Addr", "Total Allocated", "Total Reserved", "Device Id", "Device Type")
CLOCKS_NS = 200_000  # both clocks are the machine's; they may differ by a calibration


class Event:
    """One slice; times in whole nanoseconds since the epoch."""

    def __init__(self, raw, base):
        self.name, self.cat, self.tid = raw["name"], raw.get("cat"), raw["tid"]
        self.begin = round(raw["ts"] * 1000) + base
        self.end = self.begin + round(raw.get("dur", 0) * 1000)
        self.args = raw.get("args", {})
        self.parent = None
        self.equal = None  # of torch's: ours
        self.crosses = False
        self.index = -1


class Trace:
    """Slices, memory instants and arrows of one file, in order, by thread."""

    def __init__(self, path):
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            self.raw = json.load(file, strict=False)
        base = self.raw.get("baseTimeNanoseconds", 0)
        self.legacy = bool(self.raw.get("legacy"))
        self.one_thread = self.legacy or bool(self.raw.get("one_thread"))
        # 2.4 brought nanoseconds and, with them, this key.
        self.coarse = not self.legacy and "baseTimeNanoseconds" not in self.raw
        self.threads, self.memory, self.flows = {}, {}, {}
        for raw in self.raw["traceEvents"]:
            if raw["ph"] == "X" and raw.get("cat") in KINDS:
                self.threads.setdefault(raw["tid"], []).append(Event(raw, base))
            elif raw["ph"] == "i" and raw["name"] in ("[memory]", "[OutOfMemory]"):
                self.memory.setdefault(raw["tid"], []).append(Event(raw, base))
            elif raw["ph"] in "sf" and raw["cat"] in ("fwdbwd", "forward_backward"):
                end = (raw["tid"], round(raw["ts"] * 1000) + base)
                self.flows.setdefault(raw["id"], {})[raw["ph"]] = end
        for events in list(self.threads.values()) + list(self.memory.values()):
            if self.coarse:  # Kineto numbered them in the order of their nanoseconds
                events.sort(key=lambda event: (event.begin, event.args["Ev Idx"]))
            elif not self.legacy:
                events.sort(key=lambda event: (event.begin, -event.end))
        for events in self.threads.values():
            nest(events)

    def lacks(self):
        """What this file has nowhere because its torch was too old to write it."""
        if not self.coarse:
            return []
        args = [event.args for events in self.threads.values() for event in events]
        lacks = [key for key in ("Input Strides", "Concrete Inputs")
                 if not any(key in row for row in args)]
        if "Concrete Inputs" not in lacks:
            return lacks
        # 2.0: nothing of lists, and arrows only beside a GPU's events
        if not any("ScalarList" in row.get("Input type", ()) for row in args):
            lacks.append("ScalarList")
        if not any(dims and isinstance(dims[0], list)
                   for row in args for dims in row.get("Input Dims", ())):
            lacks.append("Input Dims of lists")
        if not self.flows:
            lacks.append("arrows")
        return lacks

    def window(self):
        """The two marks: (thread, end of the first, begin of the last)."""
        marks = {}
        for tid, events in self.threads.items():
            for event in events:
                if event.name in (BEGIN, END):
                    marks[event.name] = (tid, event)
        if len(marks) != 2:
            raise SystemExit("the harness's marks are not in the trace")
        return marks[BEGIN][0], marks[BEGIN][1].end, marks[END][1].begin


def nest(events):
    """Parent of each: the innermost slice that holds it wholly.

    One that ends on another thread may outlive what it began in; it crosses.
    """
    stack = []
    for event in events:
        while stack and (stack[-1].end <= event.begin or stack[-1].end < event.end):
            event.crosses |= event.begin < stack.pop().end
        event.parent = stack[-1] if stack else None
        stack.append(event)


def allowances(program):
    """The header lines of a program: what -> [regular expressions]."""
    found = {"only we see": [], "only torch sees": [], "other threads": [],
             "unordered memory": [], "other inputs": [], "later begins": []}
    if program:
        with open(program, encoding="utf-8") as file:
            for line in file:
                match = re.match(r"(?:#|//) (%s): (.+)" % "|".join(found), line)
                if match:
                    found[match[1]].append(match[2].rsplit(": ", 1)[0])
    return found


def inside(events, low, high, skip):
    """Events that begin in the window and that the other side can see, numbered."""
    kept = [event for event in events if low <= event.begin < high
            and not any(re.fullmatch(pattern, event.name) for pattern in skip)]
    return number(kept)


def number(events):
    for index, event in enumerate(events):
        event.index = index
    return events


def without_lists(dims):
    """As the older profiler has them: nothing for a list of tensors."""
    return [[] if row and isinstance(row[0], list) else row for row in dims or []]


def holder(a, b):
    """The index of torch's parent; without those that cross where ours ended early to fit."""
    parent = a.parent
    while parent is not None and (parent.index < 0 or parent.crosses
                                  and parent.equal.end <= b.begin):
        parent = parent.parent
    return parent.index if parent is not None else None


def parent_index(event):
    parent = event.parent
    while parent is not None and parent.index < 0:
        parent = parent.parent
    return parent.index if parent is not None else None


class Comparison:
    def __init__(self, torch, ours, allowed):
        self.torch, self.ours, self.allowed = torch, ours, allowed
        self.problems, self.skews, self.ratios = [], [], []
        self.operators = self.instants = self.arrows = 0
        self.lacks = torch.lacks()
        self.inputs = [key for key in INPUTS if key not in self.lacks]

    def say(self, text):
        self.problems.append(text)

    def run(self):
        main, low, high = self.torch.window()
        our_main, our_low, our_high = self.ours.window()
        pairs = {main: our_main}
        torch = {tid: inside(events, low, high, self.allowed["only torch sees"])
                 for tid, events in self.torch.threads.items()}
        ours = {tid: inside(events, our_low, our_high, self.allowed["only we see"])
                for tid, events in self.ours.threads.items()}
        self.windowed = torch
        if self.torch.legacy:
            pairs = match_ordinals(torch, ours, pairs)
        else:
            pairs = {tid: tid for tid in torch}
        for tid, events in torch.items():
            if self.torch.one_thread and tid != main and pairs.get(tid) in ours:
                # On threads of its own making torch observes only what carries its state.
                names = {event.name for event in events}
                ours[pairs[tid]] = number([e for e in ours[pairs[tid]] if e.name in names])
            if events:
                self.thread(tid, events, ours.pop(pairs.get(tid), []))
            else:
                ours.pop(pairs.get(tid), None)
        self.unknown(ours)
        if not self.torch.legacy:
            self.arrow_ends(low, high, our_low, our_high)
            self.memories((low, high), (our_low, our_high))
        self.wrong = len(self.problems)
        if not self.torch.legacy:
            self.times()

    def unknown(self, ours):
        left = {tid: events for tid, events in ours.items() if events}
        if left and not self.allowed["other threads"] and not self.torch.one_thread:
            for tid, events in left.items():
                self.say(f"thread {tid}: {len(events)} events that torch did not see, "
                         f"first {events[0].name}")

    def thread(self, tid, torch, ours):
        names, our_names = [e.name for e in torch], [e.name for e in ours]
        if names != our_names:
            matcher = difflib.SequenceMatcher(None, names, our_names, autojunk=False)
            for kind, a, b, c, d in matcher.get_opcodes():
                if kind != "equal":
                    self.say(f"thread {tid}, event {a}: torch has {names[a:b][:4]} ({b - a}), "
                             f"we have {our_names[c:d][:4]} ({d - c})")
            return
        for a, b in zip(torch, ours):
            a.equal = b
            self.event(tid, a, b)
        self.operators += len(torch)

    def event(self, tid, a, b):
        keys = ("Input Dims",) if self.torch.legacy else tuple(self.inputs)
        where = f"thread {tid}, event {a.index} {a.name}"
        if a.cat != b.cat:
            self.say(f"{where}: category {a.cat}, ours {b.cat}")
        if any(re.fullmatch(pattern, a.name) for pattern in self.allowed["other inputs"]):
            keys = ()
        # The older profiler leaves the outer of two backward operators without its number.
        outer = self.torch.legacy and a.name.startswith("autograd::engine::evaluate_function")
        for key in keys if outer else keys + LINKS:
            want, got = a.args.get(key), b.args.get(key)
            if key == "Input Dims" and (self.torch.legacy or key + " of lists" in self.lacks):
                got = got and without_lists(got)
            if key == "Input type" and "ScalarList" in self.lacks:
                got = got and ["" if kind == "ScalarList" else kind for kind in got]
            if want != got and not (self.torch.legacy and not want and not got):
                self.say(f"{where}: {key} {want!r}, ours {got!r}")
        if self.torch.legacy:
            parent = b.parent
            if parent is not None and parent.index >= 0 and \
                    self.windowed[tid][parent.index].begin > a.begin:
                self.say(f"{where}: lies in {parent.name} in ours only")
            return
        # Rows of a file must nest, so where torch's crosses, ours was cut to fit.
        held = holder(a, b) == parent_index(b)
        if not held and not a.crosses and not self.tied(tid, a, b):
            self.say(f"{where}: parent {a.parent and a.parent.name}, "
                     f"ours {b.parent and b.parent.name}")
        self.skews.append(b.begin - a.begin)
        late = any(re.fullmatch(name, a.name) for name in self.allowed["later begins"])
        self.ratios.append((a.end - a.begin, b.end - max(b.begin, a.begin if late else 0)))

    def tied(self, tid, a, b):
        """In whole microseconds a slice that ends when another begins may hold it."""
        if not self.torch.coarse or parent_index(b) is None:
            return False
        around = self.windowed[tid][parent_index(b)]
        above = b.parent
        while above is not None and above.index != parent_index(a):
            above = above.parent
        outer = above is not None or parent_index(a) is None
        return outer and around.begin <= a.begin == a.end == around.end

    def times(self):
        """Begins agree, durations are plausible: on the whole, for single ones may be preempted."""
        if not self.skews:
            return
        skew = statistics.median(self.skews)
        if abs(skew) > CLOCKS_NS:
            self.say(f"our begins are {skew} ns off (median)")
        worst = sorted(((abs(b - a), a, b) for a, b in self.ratios), reverse=True)
        # Between the two profilers' clock reads a thread may have been preempted.
        preempted = max(3, len(worst) // 20)
        odd = sum(far > 20_000 + 0.2 * theirs for far, theirs, _ in worst)
        if odd > preempted:
            self.say(f"{odd} of {len(worst)} durations differ by more than 20 us + 20 %")
        theirs, ours = (sum(row[i] for row in worst[preempted:]) for i in (1, 2))
        if abs(theirs - ours) > 0.1 * theirs + 1_000_000:
            self.say(f"durations add up to {ours} ns, torch's to {theirs} ns")

    def arrow_ends(self, low, high, our_low, our_high):
        torch = arrows(self.torch, low, high)
        ours = arrows(self.ours, our_low, our_high)
        if self.torch.coarse:
            if "arrows" in self.lacks:
                return
            # Of several slices of one microsecond the arrow does not say which is meant.
            torch = {tuple((tid, self.begin(tid, index)) for tid, index in pair)
                     for pair in torch}
            ours = {tuple((tid, self.begin(tid, index)) for tid, index in pair)
                    for pair in ours}
        for pair in sorted(torch - ours):
            self.say(f"arrow {pair} is torch's alone")
        for pair in sorted(ours - torch):
            if pair[0][0] in self.torch.threads and pair[1][0] in self.torch.threads:
                self.say(f"arrow {pair} is ours alone")
        self.arrows = len(torch)

    def begin(self, tid, index):
        """When torch's event began, of which this is the number; None of no event's."""
        known = index is not None and 0 <= index < len(self.windowed.get(tid, ()))
        return self.windowed[tid][index].begin if known else None

    def memories(self, window, our_window):
        """The same events, in the same order, between the same operators."""
        loose = bool(self.allowed["unordered memory"])
        for tid, events in self.torch.memory.items():
            want = instants(events, self.torch.threads.get(tid, []), *window)
            got = instants(self.ours.memory.get(tid, []), self.ours.threads.get(tid, []),
                           *our_window)
            if self.torch.coarse:
                least = instants(events, self.torch.threads.get(tid, []), *window,
                                 place=bisect.bisect_left)
                got = settled(least, want, got)
            self.instants += len(want)
            if loose and not (collections.Counter(row[:-1] for row in want)
                              - collections.Counter(row[:-1] for row in got)):
                continue
            if want == got:
                continue
            first = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b),
                         min(len(want), len(got)))
            self.say(f"thread {tid}: memory event {first} of {len(want)} (ours {len(got)}): "
                     f"{want[first:first + 1]}, ours {got[first:first + 1]}")


def arrows(trace, low, high):
    """{((thread, index of the forward op), (thread, index of the backward op))}"""
    starts = {tid: {event.begin: event.index for event in reversed(events)}
              for tid, events in trace.threads.items()}
    found = set()
    for ends in trace.flows.values():
        if set(ends) == {"s", "f"} and all(low <= ends[kind][1] < high for kind in "sf"):
            found.add(tuple((ends[kind][0], starts.get(ends[kind][0], {}).get(ends[kind][1]))
                            for kind in "sf"))
    return found


def instants(events, slices, low, high, place=bisect.bisect_right):
    """Rows of a memory event's numbers and the number of slices begun before it."""
    begins = [event.begin for event in slices if event.index >= 0]
    return [(event.name,) + tuple(event.args.get(key) for key in MEMORY)
            + (place(begins, event.begin),)
            for event in events if low <= event.begin < high]


def settled(least, most, got):
    """Our rows; where torch's place is a range, as at the top of it if within."""
    return [ours[:-1] + high[-1:] if low[-1] <= ours[-1] <= high[-1] else ours
            for low, high, ours in zip(least, most, got)] + got[len(most):]


def match_ordinals(torch, ours, pairs):
    """torch's thread ordinals -> our thread ids, by what the threads did."""
    taken = set(pairs.values())
    for ordinal, events in torch.items():
        names = [event.name for event in events]
        for tid, candidates in ours.items():
            seen = [event for event in candidates if event.name in names]
            if ordinal not in pairs and tid not in taken and \
                    names == [event.name for event in seen]:
                pairs[ordinal] = tid
                taken.add(tid)
                ours[tid] = number(seen)
    return pairs


def main(torch_path, our_path, program=None):
    comparison = Comparison(Trace(torch_path), Trace(our_path), allowances(program))
    comparison.run()
    print("".join(f"{problem}\n" for problem in comparison.problems[:20]), end="")
    if comparison.lacks:
        print(f"this torch writes no {', no '.join(comparison.lacks)}: not compared")
    print(f"{comparison.operators} operators, {comparison.instants} memory events, "
          f"{comparison.arrows} arrows; {len(comparison.problems)} differences")
    if not comparison.operators:
        return 1
    # Another process may have had the processor: 3 = look once more.
    return 1 if comparison.wrong else 3 if comparison.problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
