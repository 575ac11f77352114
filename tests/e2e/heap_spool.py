# SPDX-License-Identifier: Apache-2.0
"""The heap records of spools that processes left behind, by reading the files: what the
agent wrote, before any writer of ours has looked at it."""

import os
import re
import struct
import subprocess
import sys

HEADER, CHUNK = 64 * 1024, 64
FREE_CALLS = ("free", "operator delete")


def table(name, path, pattern):
    text = open(path).read()
    return {m: i for i, m in enumerate(re.findall(pattern, text.split(name, 1)[1].split("\n\n", 1)[0]))}


KINDS = table("#define RECORD_KINDS", "agent/core/record.h", r"KIND\((\w+),")
CALLS = list(table("#define HEAP_CALLS", "agent/core/record_heap.h", r'CALL\(\w+, +"([^"]+)"'))


class Spool:
    """records: (thread id, kind, call, sampled, begin, address, bytes, stack)"""

    def __init__(self, path):
        data = open(path, "rb").read()
        assert data[:8] == b"PROFSPL1", path
        self.path, self.records, self.marks, self.drops = path, [], [], {}
        at = HEADER
        while at + CHUNK <= len(data):
            magic, size, kind, used = struct.unpack_from("<4I", data, at)
            if magic != 0x4B4E4843:
                at += 4096
                continue
            if kind == 2:
                self.chunk(data, at + CHUNK, at + used)
            elif kind == 4:
                self.cycle(data, at + CHUNK)
            at += size

    def chunk(self, data, at, end):
        tid = 0
        while at < end:
            kind, flags, units, name, begin, last = struct.unpack_from("<BBHIQQ", data, at)
            assert units >= 3, "a record of %d units" % units
            if kind == KINDS["THREAD"]:
                tid = struct.unpack_from("<I", data, at + 24)[0]
            elif kind in (KINDS["ALLOC"], KINDS["FREE"]):
                size = struct.unpack_from("<Q", data, at + 24)[0] if kind == KINDS["ALLOC"] else 0
                self.records.append((tid, "alloc" if kind == KINDS["ALLOC"] else "free",
                                     CALLS[flags & 15], bool(flags & 16), begin, last, size, name))
            elif kind == KINDS["HEAP"]:
                self.marks.append((begin, flags) + struct.unpack_from("<q4Q", data, at + 24))
            at += units * 8

    def cycle(self, data, at):
        drops = struct.unpack_from("<%dQ" % len(KINDS), data, at + 48)
        for kind, n in zip(KINDS, drops):
            self.drops[kind] = self.drops.get(kind, 0) + n

    def count(self, kind, call=None):
        return sum(1 for r in self.records if r[1] == kind and call in (None, r[2]))

    def bytes(self, call=None):
        return sum(r[6] for r in self.records if r[1] == "alloc" and call in (None, r[2]))

    def live(self):
        """What is allocated at the end, and frees of what was not seen."""
        live, foreign = {}, 0
        for r in sorted(self.records, key=lambda r: r[4]):
            if r[1] == "alloc":
                live[r[5]] = r
            elif live.pop(r[5], None) is None:
                foreign += 1
        return live, foreign


def spools(folder):
    return [Spool(os.path.join(top, f)) for top, _, files in os.walk(folder) for f in sorted(files)
            if open(os.path.join(top, f), "rb").read(8) == b"PROFSPL1"]


def run(folder, command, preload=(), **options):
    """Without a launcher; a program that kills itself leaves its spool."""
    agent = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "libproflaunch.so"))
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROF_")}
    env.update({"PROF_" + k.upper(): str(v) for k, v in options.items()})
    env.update(LD_PRELOAD=" ".join([agent, *preload]), PROF_SPOOL=folder, PROF_LOGDIR=folder + "/log",
               PROF_MARKER=str(options.get("marker", "none")))
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)


if __name__ == "__main__":
    for s in spools(sys.argv[1]):
        live, foreign = s.live()
        print(s.path, "allocs", s.count("alloc"), "bytes", s.bytes(), "frees", s.count("free"),
              "live", len(live), "foreign", foreign, "drops", {k: v for k, v in s.drops.items() if v})
        for call in CALLS:
            print("  %-16s %8d %8d" % (call, s.count("alloc", call), s.count("free", call)))
        for m in s.marks[:3] + s.marks[-2:]:
            print("  mark", m)
