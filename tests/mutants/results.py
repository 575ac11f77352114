# SPDX-License-Identifier: Apache-2.0
"""Results: what became of each row, kept in a file so that a run goes on where one ended."""
import os
import threading

from suites import content, sha

COLUMNS = ("file", "name", "row", "source", "tests", "verdict", "seconds", "who", "why")


class Results:
    """The newest line of a row counts. `tests` is the hash of the test that noticed, or, of
    a row that nothing noticed, of all that were asked."""

    def __init__(self, path):
        self.path, self.lock, self.last = path, threading.Lock(), {}
        for line in content(path).decode().split("\n"):
            fields = line.split("\t")
            if len(fields) == len(COLUMNS):
                entry = dict(zip(COLUMNS, fields))
                self.last[f"{entry['file']} {entry['name']}"] = entry

    def add(self, row, keys, verdict, seconds, who, why):
        clean = [str(v).replace("\t", " ").replace("\n", " ") for v in
                 (row.file, row.name, *keys, verdict, f"{seconds:.1f}", who, why)]
        entry = dict(zip(COLUMNS, clean))
        with self.lock:
            self.last[row.id] = entry
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("\t".join(clean) + "\n")
        return entry


def keys(row, root, tests):
    """What a verdict rests on: the row, its file, and those tests."""
    return (sha(row.text), sha(content(os.path.join(root, row.file))),
            sha(*(f"{t.name} {t.key(root)}" for t in tests)))


def still_holds(entry, row, root, plan):
    """Whether the verdict of an earlier run needs no new one."""
    if entry is None or entry["verdict"] not in ("noticed", "survived", "luck"):
        return False
    asked = plan
    if entry["verdict"] == "noticed":
        asked = [suite for suite in plan if suite.name == entry["who"]]
    return bool(asked or entry["verdict"] != "noticed") and \
        tuple(entry[c] for c in ("row", "source", "tests")) == keys(row, root, asked)


def table(rows, last):
    """Lines of a table by folder."""
    head = ("folder", "rows", "same", "noticed", "survived", "known", "open", "noticed of all")
    lines = []
    folders = sorted({row.folder for row in rows})
    for folder in folders + ["all"]:
        count = dict.fromkeys(("rows", "same", "noticed", "survived", "known", "open"), 0)
        for row in rows:
            if folder in (row.folder, "all"):
                count["rows"] += 1
                count[standing(row, last.get(row.id))] += 1
        judged = count["noticed"] + count["survived"] + count["known"]
        percent = f"{100 * count['noticed'] / judged:.0f} %" if judged else "-"
        lines.append((folder, *count.values(), percent))
    widths = [max(len(str(line[i])) for line in [head] + lines) for i in range(len(head))]
    return ["  ".join(str(v).ljust(w) if i == 0 else str(v).rjust(w)
                      for i, (v, w) in enumerate(zip(line, widths))) for line in [head] + lines]


def standing(row, entry):
    """The column of a row; open is what was not run or could not be."""
    if "same" in row.fields:
        return "same"
    verdict = entry["verdict"] if entry else ""
    if verdict in ("survived", "luck"):
        return "known" if "known" in row.fields else "survived"
    return "noticed" if verdict == "noticed" else "open"
