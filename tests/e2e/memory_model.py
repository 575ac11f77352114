# SPDX-License-Identifier: Apache-2.0
"""The memory tables computed again, from the JSON of a trace, in the plainest way."""
import gzip
import json
import re
from decimal import Decimal

EMPTY = re.compile("aten::empty")
NODE = "autograd::engine::evaluate_function"


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return json.loads(file.read(), parse_float=Decimal)


def ns(number):
    return int(Decimal(number) * 1000)


class Model:
    def __init__(self, path):
        raw = load(path)
        self.raw = raw
        events = raw["traceEvents"]
        self.begin = min(ns(e["ts"]) for e in events if e["ph"] != "M")
        self.ops = [e for e in events if e["ph"] == "X" and e.get("cat") == "cpu_op"]
        for e in self.ops:
            e["from"] = ns(e["ts"])
            e["to"] = e["from"] + ns(e["dur"])
        self.steps = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), int(e["name"][13:]))
                            for e in events if e["ph"] == "X"
                            and e["name"].startswith("ProfilerStep#"))
        self.memory = sorted((e for e in events if e["name"] == "[memory]"),
                             key=lambda e: ns(e["ts"]))
        self.blocks, self.older = self.pair()

    def stack(self, event):
        """Operators in flight on its thread, innermost first."""
        ts = ns(event["ts"])
        found = [e for e in self.ops if e["tid"] == event["tid"] and e["from"] <= ts < e["to"]]
        return sorted(found, key=lambda e: (e["to"] - e["from"], -e["from"]))

    def label(self, event):
        names = [e["name"] for e in self.stack(event)]
        if not names:
            return None
        if EMPTY.match(names[0]) and len(names) > 1 and not names[1].startswith(NODE):
            return f"{names[1]} ({names[0]})"
        return names[0]

    def pair(self):
        """[begin, end or None, bytes, label, freed in its outermost operator]"""
        live, blocks, older = {}, [], []
        for e in self.memory:
            args, ts = e["args"], ns(e["ts"])
            key = args["Device Type"], args["Device Id"], args["Addr"]
            if args["Bytes"] > 0:
                outer = [o for o in self.stack(e) if not o["name"].startswith(NODE)]
                live[key] = [ts, None, args["Bytes"], self.label(e),
                             outer[-1] if outer else None]
                blocks.append(live[key])
            elif key in live:
                block = live.pop(key)
                block[1] = ts
                outer = block[4]
                block[4] = outer is not None and ts <= outer["to"] and outer["tid"] == e["tid"]
            else:
                older.append((ts, -args["Bytes"]))
        for block in blocks:
            block[4] = block[4] is True
        return blocks, older

    def live_at(self, ts):
        return [b for b in self.blocks if b[0] <= ts and (b[1] is None or ts < b[1])]

    def peak(self):
        """Of the allocator's own totals, where it has any."""
        best = max(self.memory, key=lambda e: e["args"]["Total Allocated"])
        if best["args"]["Total Allocated"]:
            return best["args"]["Total Allocated"], ns(best["ts"])
        total, top = 0, (0, 0)
        for e in self.memory:
            total += e["args"]["Bytes"]
            top = max(top, (total, ns(e["ts"])), key=lambda pair: pair[0])
        return top

    def step_of(self, ts):
        numbers = [number for begin, end, number in self.steps if begin <= ts <= end]
        return numbers[-1] if numbers else None

    def by_label(self, blocks):
        sums = {}
        for block in blocks:
            sums[block[3]] = sums.get(block[3], 0) + block[2]
        return sums


def curves(rows):
    """Raw timeline rows as (time, bytes, category), what is older at the first time."""
    first = min(row[0] for row in rows if row[0] > 0)
    return sorted((max(row[0], first), row[2], row[3]) for row in rows)


def agreement(ours, theirs):
    """Bytes times time that both put into the same category, over what torch has."""
    a, b = curves(ours), curves(theirs)
    times = sorted({row[0] for row in a + b})
    size = [[0] * 8, [0] * 8]
    at = [0, 0]
    common, sums = [0] * 8, [[0] * 8, [0] * 8]
    for now, after in zip(times, times[1:]):
        for side, rows in enumerate((a, b)):
            while at[side] < len(rows) and rows[at[side]][0] <= now:
                size[side][rows[at[side]][2]] += rows[at[side]][1]
                at[side] += 1
        for c in range(8):
            common[c] += min(size[0][c], size[1][c]) * (after - now)
            for side in (0, 1):
                sums[side][c] += size[side][c] * (after - now)
    return sum(common) / max(sum(sums[0]), sum(sums[1])), common, sums
