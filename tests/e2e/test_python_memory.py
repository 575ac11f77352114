#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: waits
"""Which line of Python allocated: what the heap's call sites say, in every version that is here."""
import json
import os
import sys

import prof
from test_python_walk import KNOWN, versions

PROGRAM = os.path.join(prof.HERE, "..", "python", "allocate.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
DEPTH = 128             # stack_depth


def interpreters():
    """A path for each minor version, the newest."""
    return {key[:2]: path for key, path in versions().items() if key[0] == 3 and key[1] in KNOWN}


def frames(site):
    """[[file, line, function]], innermost first."""
    found = []
    for text in site["Call stack"].split(";"):
        place, _, name = text.rpartition("): ")
        file, _, line = place.rpartition("(")
        found.append([file, int(line), name])
    return found


def same(ours, theirs):
    """Files lack the folder that they were found in."""
    return len(ours) == min(len(theirs), DEPTH) and all(
        line == own[1] and name == own[2] and (own[0] == file or own[0].endswith("/" + file))
        for (file, line, name), own in zip(ours, theirs))


def whole(run):
    """The trace, if no stack is missing."""
    trace = run.only()
    counts = trace.facts["python stacks"]
    assert counts["unproven"] == counts["unknown"] == counts["disagreed"] == 0, counts
    return trace


def compare(path, log, **given):
    """Blocks by the stack that the interpreter says; how many were compared."""
    out = os.path.join(log, "expected")
    run = prof.launch([path, PROGRAM, out], log, python_stack="ops", malloc="all", marker="none", **given)
    with open(out, encoding="utf-8") as file:
        expected = {int(size): stack for size, stack in json.load(file).items()}
    blocks = {e["args"]["bytes"]: e["args"] for e in whole(run).raw["traceEvents"]
              if e.get("cat") == "heap" and e["args"]["bytes"] in expected}
    missing = sorted(set(expected) - set(blocks))
    assert not missing, (path, len(missing), [expected[size][:3] for size in missing[:5]])
    for size, block in blocks.items():
        assert "Call stack" in block, (path, expected[size][:4], block)
        assert same(frames(block), expected[size]), (path, block["Call stack"], expected[size])
    return len(blocks)


def test_each_block_is_of_the_interpreters_own_line():
    for version, path in interpreters().items():
        with prof.folder() as log:
            print("  Python %d.%d: %d blocks" % (*version, compare(path, log)), flush=True)


def test_without_native_stacks():
    with prof.folder() as log:
        compare(VENV, log, malloc_stacks="off")


@prof.full
def test_each_block_with_other_allocators():
    """Every object of Python's goes through malloc; freed memory is overwritten."""
    for path in interpreters().values():
        for name in "malloc", "malloc_debug", "debug":
            with prof.folder() as log:
                compare(path, log, env={**os.environ, "PYTHONMALLOC": name})


def run_code(log, code, python=VENV, **given):
    path = os.path.join(log, "code.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    return prof.launch([python, path], log, **{"python_stack": "ops", "marker": "none", **given})


LEAKS = """import zlib
kept, cache = [], {}
def read(n):
    return bytearray(n)
def worker(n):
    kept.append(read(n))
def closure(n):
    block = [0] * n
    return lambda: block
def cached(n):
    cache[n] = dict.fromkeys(range(n))
packed = zlib.compress(bytes(1 << 20))
for i in range(60):
    worker(1 << 20)
    kept.append(closure(100000))
    cached(3000 + i)
    kept.append(zlib.decompress(packed))
"""


def test_leaks_are_named_by_their_line():
    """A list that keeps blocks, a closure, a cache, and a function of C that Python calls."""
    lines = ["code.py(4): read < ", "code.py(8): closure < ", "code.py(11): cached < ", "code.py(17): <module>"]
    for mode in "all", "sample":
        with prof.folder() as log:
            run = run_code(log, LEAKS, malloc=mode)
            said = prof.plain([prof.LAUNCHER, "memory", "--json", *run.paths()])
            rows = json.loads(said.stdout)
            text = json.dumps(rows)
            for line in lines:
                assert line in text, (mode, line, text[:4000])


def test_operators_and_lines_together():
    """What an operator allocates is its line's; tensors' blocks, too."""
    code = "import torch\nkept = []\ndef grow():\n    kept.append(torch.ones(300000))\nfor i in range(20):\n    grow()\n"
    with prof.folder() as log:
        heap = whole(run_code(log, code, malloc="all", buffer_mb=1024)).facts["heap"]
        site, = [s for s in heap["sites"] if s["op"] == "aten::empty"]
        assert site["Call stack"].split(";")[0].endswith("code.py(4): grow") and site["allocs"] == 20, site


def test_python_is_found_without_a_module_of_c():
    """By a pending call: nothing of C's has to be imported."""
    with prof.folder() as log:
        heap = whole(run_code(log, "kept = [bytearray(100000) for _ in range(9)]\n", python="/usr/bin/python3",
                              malloc="all")).facts["heap"]
        assert any(s.get("Call stack", "").endswith("code.py(1): <module>") for s in heap["sites"])


ENDS = (
    # Whatever the module is: an exception that is left set would come up in the program.
    "import sys, time\nsys.modules['atexit'] = None\nkept = []\nend = time.monotonic() + 1\n"
    "while time.monotonic() < end:\n    kept.append(bytearray(100000)); time.sleep(.01)\nprint('fine')\n",
    "import sys, time, types\nsys.modules['atexit'] = types.ModuleType('atexit')\nkept = []\nend = time.monotonic() + 1\n"
    "while time.monotonic() < end:\n    kept.append(bytearray(100000)); time.sleep(.01)\nprint('fine')\n",
    # The first allocation that is recorded comes while the interpreter ends.
    "import atexit, time\ndef last():\n    time.sleep(.6)\n    kept = [bytearray(100000) for _ in range(20)]\n"
    "atexit.register(last)\nprint('fine')\n",
)


def test_programs_notice_nothing_of_the_look():
    """The window opens late, so that the interpreter is asked late."""
    for path in interpreters().values():
        for code in ENDS:
            with prof.folder() as log:
                run = run_code(log, code, python=path, malloc="all", marker="time:200",
                               schedule="wait=1,warmup=0,active=2,repeat=1")
                lines = [line for line in run.err.splitlines() if not line.startswith("proflaunch")]
                assert run.out == "fine\n" and not lines, (path, code, run.out, lines)


def test_a_thread_without_the_lock_has_the_operators_line_or_none():
    """zlib lets the lock go while it allocates; torch's operators do, too, and are known."""
    code = ("import atexit, zlib, threading\nkept = []\ndef work():\n    for _ in range(20):\n"
            "        kept.append(zlib.compress(bytes(1 << 20)))\n"
            "threads = [threading.Thread(target=work) for _ in range(3)]\n[t.start() for t in threads]\n[t.join() for t in threads]\n")
    with prof.folder() as log:
        heap = whole(run_code(log, code, malloc="all")).facts["heap"]
        lines = {site["Call stack"].split(";")[0] for site in heap["sites"] if "Call stack" in site}
        assert any(line.endswith("code.py(5): work") for line in lines), lines


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
