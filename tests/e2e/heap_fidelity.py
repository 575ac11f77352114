# SPDX-License-Identifier: Apache-2.0
"""What the heap's end-to-end tests share: the counts of a reference, of valgrind, of us."""
import array
import glob
import os
import re
import subprocess

import prof

HEAP = os.path.join(prof.BUILD, "heap")
REFERENCE = os.path.join(HEAP, "reference.so")
COUNTS = ("allocs", "bytes", "frees", "freed")


def program(name, *arguments):
    path = os.path.join(HEAP, name)
    if not os.path.exists(path):
        raise AssertionError(f"{name} was not built: make heap")
    return [path, *map(str, arguments)]


class Counts:
    """allocs, bytes, frees, freed; None where whoever counted does not tell."""

    def __init__(self, allocs, bytes, frees, freed=None):
        self.allocs, self.bytes, self.frees, self.freed = allocs, bytes, frees, freed

    def __sub__(self, other):
        return Counts(*(None if a is None or b is None else a - b
                        for a, b in zip(self.row(), other.row())))

    def __eq__(self, other):
        return all(a is None or b is None or a == b for a, b in zip(self.row(), other.row()))

    def row(self):
        return tuple(getattr(self, name) for name in COUNTS)

    def __repr__(self):
        return ", ".join(f"{name} {value}" for name, value in zip(COUNTS, self.row()))


def reference(command, folder):
    """The program alone, on the allocator that counts."""
    out = os.path.join(folder, "reference")
    run = subprocess.run(command, env={**os.environ, "LD_PRELOAD": REFERENCE, "REF_OUT": out},
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.returncode == 0, run
    (path,) = glob.glob(out + ".*")
    found = counted(path)
    os.unlink(path)
    return found


def counted(path):
    """What the reference said."""
    with open(path, encoding="ascii") as file:
        numbers = dict(re.findall(r"(\w+) (\d+)", file.read()))
    assert numbers["strange"] == "0", numbers
    return Counts(*(int(numbers[name]) for name in COUNTS))


def valgrind(command):
    """The program alone, under memcheck; what the C library frees last is left out."""
    run = prof.plain(["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", *command])
    assert run.returncode == 0, run
    found = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes",
                      run.stderr)
    allocs, frees, size = (int(text.replace(",", "")) for text in found.groups())
    return Counts(allocs, size, frees)


def launch(command, log, **given):
    return prof.launch(command, log, **{"marker": "none", "malloc": "all", "buffer_mb": 2048, **given})


def heap(trace):
    found = trace.facts["heap"]
    dropped = {kind: n for kind, n in trace.facts["drops"].items() if kind.startswith("heap") and n}
    assert not dropped, dropped
    return found


def ours(trace, implied=0):
    """The trace's totals, and the frees of blocks older than the window.

    An implied free is none that was seen: its block's address came back.
    """
    total = heap(trace)["total"]
    assert total.get("implied_frees", 0) == implied, total
    return Counts(total["allocs"], total["bytes"], total["frees"] + total["foreign_frees"],
                  total["freed"])


def sites(trace, function):
    """The call sites whose stack has a function of this name."""
    found = heap(trace)
    for site in found["sites"]:
        if site["stack"] is not None:
            frames = [found["frames"][i] for i in found["stacks"][site["stack"]]]
            if any(re.match(rf"{re.escape(function)}\b", frame) for frame in frames):
                yield site


class Log:
    """Every event of a run on the reference: [(ns since the epoch, bytes, address)]."""

    def __init__(self, path):
        words = array.array("q")
        with open(path, "rb") as file:
            while True:
                block = file.read(24 * 65536)
                words.frombytes(block)
                if len(block) < 24 * 65536 or words[-3] == 0:
                    break
        self.ns, self.bytes, self.address = words[0::3], words[1::3], words[2::3]
        self.length = next((i for i, ns in enumerate(self.ns) if not ns), len(self.ns))

    def counts(self, low, high):
        """Of the events from number low to number high, whose blocks may be older."""
        part = self.bytes[low:high]
        made = [size for size in part if size >= 0]
        gone = [-1 - size for size in part if size < 0]
        return Counts(len(made), sum(made), len(gone), sum(gone))
