#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""journeys - in which files is the code that runs for one operator, kernel, allocation ...

`make journeys` builds agent and launcher so that each function that begins is in a log
(journeys.c). Each journey is made twice, with N records and with 2N: what is called N times
more, or nearly, runs for a record. The functions are shown in the order in which they are
called for a record in the middle, the agent's first, then the finisher's. What is assembled
(*.S) is not seen.

A file with any of them counts, a header, too. The way is the folders in that order, without
steps down to a lower floor and back, as any call makes them; it returns when it comes to a
folder again that it has left. MOST holds how many files and returns there may be: these
numbers may only fall. What runs for the first records alone does not count: a counter track,
say, has 4,096 points.
"""
import array
import collections
import functools
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
TESTS = os.path.abspath(os.environ.get("BUILD", "build"))
BUILD = f"{TESTS}-journeys"
CALLS = os.path.join(BUILD, "calls")
OBJECTS = {"agent": "libproflaunch.so", "launcher": "proflaunch"}
ENTRIES = 8 << 20
N = 2000

# files, returns; the number that is aimed at
MOST = {"operator": (18, 0, 18), "named scope": (22, 0, 22), "kernel": (31, 22, 18), "allocation": (24, 5, 24),
        "option": (6, 0, 6), "step boundary": (15, 0, 9)}

FLOORS = {"base": 0, "config": 0, "agent/core": 1, "agent/hooks": 2, "agent/unwind": 2,
          "agent/cupti/lib": 2, "writer": 3, "agent": 3, "finisher": 4, "launcher": 5}

OPTIONS = ("cuda_sync=on", "cuda_memory=on", "malloc_stacks=off", "stack_depth=32",
           "malloc_sample_kb=64", "cuda_latency=on", "cuda_buffer_mb=32", "linger=off",
           "profile_memory=on", "record_shapes=on", "cuda_driver_calls=on", "quiet=on",
           "buffer_mb=64", "occupancy=kineto", "dialect=tb043", "cuda_estimate=on")


def program(name, *words):
    return [os.path.join(TESTS, "prog", name), *map(str, words)]


def journeys(n):
    """name, options, command, environment; of n records."""
    window = ["--marker", "none"]
    fake = os.path.join(TESTS, "fake", "run-13.0")
    gpu = {"LD_LIBRARY_PATH": fake, "CUDART": os.path.join(fake, "libcudart.so.13"),
           "FAKE_KERNEL_NS": "2000"}
    many = OPTIONS[:len(OPTIONS) * n // (2 * N)]
    yield "operator", window, program("edges", "dispatched", n), {}
    yield "named scope", window, program("edges", "many", n), {}
    yield "kernel", window, program("cuda_times", "kernels", n), gpu
    yield "allocation", window + ["--malloc", "all"], program("heap_pairs", 2 * n), {}
    yield ("option", [w for o in many for w in ("--" + o.split("=")[0].replace("_", "-"),
                                                 o.split("=")[1])], ["true"], {})
    yield "step boundary", ["--schedule", "active=1000000"], program("edges", "boundaries", n), {}


def make_run(options, command, environment):
    """The logs of one run: {object: [entry]}."""
    for name in os.listdir(CALLS):
        os.unlink(os.path.join(CALLS, name))
    with tempfile.TemporaryDirectory(prefix="proflaunch.") as log:
        got = subprocess.run([os.path.join(BUILD, "proflaunch"), "--logdir", log, *options, "--",
                              *command], capture_output=True, text=True, timeout=300,
                             env={**os.environ, **environment, "JOURNEYS": CALLS})
    assert got.returncode == 0, got.stdout + got.stderr
    logs = collections.defaultdict(list)
    for name in sorted(os.listdir(CALLS)):
        words = array.array("Q")
        with open(os.path.join(CALLS, name), "rb") as file:
            words.frombytes(file.read(8 * 2))
            assert words[0] <= ENTRIES, f"{name}: {words[0]} calls are too many"
            words.frombytes(file.read(8 * words[0]))
        logs[name.split(".")[1]] += words[2:]
    return logs


def cluster_order(functions, places, sequence, gap):
    """As the functions are called for one record: passes behind one another, and each as
    it is around its first quarter."""
    quarter = {f: places[f][len(places[f]) // 4] for f in functions}
    clusters, last = [], None
    for f in sorted(functions, key=quarter.get):
        if last is None or quarter[f] - last > gap:
            clusters.append([])
        clusters[-1].append(f)
        last = quarter[f]
    for cluster in clusters:
        least = min(len(places[f]) for f in cluster)
        head = min((f for f in cluster if len(places[f]) < 1.2 * least),
                   key=lambda f: places[f][0])
        middle = len(places[head]) // 4
        begin = places[head][middle]
        end = places[head][middle + 1] if middle + 1 < len(places[head]) else len(sequence)
        seen = [f for f in dict.fromkeys(e for e in sequence[begin:end]) if f in cluster]
        yield seen + [f for f in cluster if f not in seen]


def per_record(few, many, records):
    """What runs for each record: a list of passes, each a list of functions."""
    counts = [collections.Counter(e >> 33 for e in log) for log in (few, many)]
    functions = {f for f in counts[1] if counts[1][f] - counts[0][f] >= 0.75 * records}
    # Of one that runs at the start, too, the last calls are those for records.
    extra = {f: max(0, 2 * counts[0][f] - counts[1][f]) for f in functions}
    sequence, places = [], collections.defaultdict(list)
    for e in many:
        f = e >> 33
        if f not in functions:
            continue
        if extra[f]:
            extra[f] -= 1
            continue
        places[f].append(len(sequence))
        sequence.append(f)
    gap = 20 * max(1, len(sequence) // (2 * records))
    return list(cluster_order(functions, places, sequence, gap))


@functools.lru_cache(None)
def definitions():
    """{function: [files that define it]}"""
    listed = subprocess.run(
        "git ls-files -co --exclude-standard agent base config finisher launcher report writer |"
        " grep '[.][ch]$' | ctags -L - -o - --languages=C --langmap=C:+.h --kinds-C=f",
        shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(list)
    for line in listed.splitlines():
        found[line.split("\t")[0]].append(line.split("\t")[1])
    return found


def names_of(functions, kind):
    """{function: (file, name)}"""
    lines = subprocess.run(["addr2line", "-f", "-e", os.path.join(BUILD, OBJECTS[kind]),
                            *map(hex, functions)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    names = {}
    for f, name, place in zip(functions, lines[::2], lines[1::2]):
        path = os.path.relpath(os.path.join(ROOT, place.split(":")[0]), ROOT)
        known = definitions()[name]
        # Of a function that is always inlined the line is its caller's.
        names[f] = (path if path in known or len(known) != 1 else known[0]), name
    return names


def floor_of(folder):
    """The longest beginning of it that FLOORS has."""
    parts = folder.split("/")
    return next(FLOORS[part] for i in range(len(parts), 0, -1)
                for part in ["/".join(parts[:i])] if part in FLOORS)


def folder_way(paths):
    """Without what lies lower between two visits to a folder."""
    way = []
    for folder in map(os.path.dirname, paths):
        last = len(way) - 1 - way[::-1].index(folder) if folder in way else len(way)
        if all(floor_of(between) < floor_of(folder) for between in way[last + 1:]):
            del way[last:]
        way.append(folder)
    return [folder for i, folder in enumerate(way) if not i or way[i - 1] != folder]


def count_returns(paths):
    way = folder_way(paths)
    return len(way) - len(set(way))


def turned(functions, names):
    """A pass comes again and again, so that any of its functions may be seen first: the one
    from which the way is the shortest."""
    turns = [functions[i:] + functions[:i] for i in range(len(functions))]
    return min(turns, key=lambda turn: count_returns([names[f][0] for f in turn]))


def trace_journey(name, few, many, records):
    files, ways = {}, []
    for kind in OBJECTS:
        for functions in per_record(few[kind], many[kind], records):
            names = names_of(functions, kind)
            for path, called in (names[f] for f in turned(functions, names)):
                files.setdefault((kind, path), []).append(called)
                ways.append(path)
    way = folder_way(ways)
    count = len({path for _, path in files})
    returns = count_returns(ways)
    most = MOST[name]
    own = sum(kind == "agent" for kind, _ in files)
    headers = len({path for _, path in files if path.endswith(".h")})
    print(f"{name}: {count} files (most {most[0]}, aim {most[2]}), {own} of them in the agent, "
          f"{headers} headers; {returns} returns (most {most[1]})")
    for (kind, path), called in files.items():
        print(f"  {kind:9}{path:34}{' '.join(dict.fromkeys(called))}")
    print("  way:", " > ".join(way))
    return count <= most[0] and returns <= most[1]


def main():
    os.makedirs(CALLS, exist_ok=True)
    good = True
    wanted = sys.argv[1:]
    for (name, *first), (_, *second) in zip(journeys(N), journeys(2 * N)):
        if wanted and name not in wanted:
            continue
        records = {"option": len(OPTIONS) // 2, "allocation": 2 * N * 9}.get(name, N)
        # Of eight options what only waits may have been called eight times more by chance, and
        # where the agent's thread comes between the program's calls the way is a longer one.
        good &= any(trace_journey(name, make_run(*first), make_run(*second), records)
                    for _ in range(3))
    sys.exit(not good)


if __name__ == "__main__":
    main()
