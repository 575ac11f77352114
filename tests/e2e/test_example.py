#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: full
"""CONTRIBUTING's worked example: made in a copy of the tree, as it stands there, it is
built, passes the test that it brings, and keeps the rules.

A block of the example has a line before it that says where it goes:
    `path` is new:    `path`, after `text`:    before `text`:    instead of `text`:
where the text is in one line of the file, and the block goes behind that line, before it,
or takes its place.
"""
import os
import re
import shutil
import subprocess
import sys

import prof

ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
PLACE = re.compile(r"^`([^`]+)`(?: is new|, (after|before|instead of) `(.+)`):$")


def blocks():
    """(path, where, text, lines) of the example's blocks."""
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
        page = file.read()
    section = re.search(r"^## Worked example.*?(?=^## |\Z)", page, re.M | re.S)[0]
    parts = re.split(r"^```(\w*)\n(.*?)^```$", section, flags=re.M | re.S)
    for i in range(0, len(parts) - 1, 3):
        place = PLACE.match(parts[i].strip().splitlines()[-1])
        assert place, f"where does this block go?\n{parts[i + 2]}"
        yield place[1], place[2], place[3], parts[i + 2]


def make_change(tree):
    """The example's blocks in that tree; the paths that have changed."""
    paths = []
    for path, where, text, block in blocks():
        target = os.path.join(tree, path)
        paths.append(path)
        if not where:
            assert not os.path.exists(target), f"{path} is not new"
            with open(target, "w", encoding="utf-8") as file:
                file.write(block)
            continue
        with open(target, encoding="utf-8") as file:
            lines = file.readlines()
        found = [i for i, line in enumerate(lines) if text in line]
        assert len(found) == 1, f"{path}: {text!r} is in {len(found)} lines"
        at = found[0]
        lines[at + (where == "after"):at + (where != "before")] = [block]
        with open(target, "w", encoding="utf-8") as file:
            file.writelines(lines)
    return sorted(set(paths))


def copy_tree(tree):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"],
                            capture_output=True, check=True).stdout.decode().split("\0")
    for path in filter(None, listed):
        source, target = os.path.join(ROOT, path), os.path.join(tree, path)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)


def work(tree, *command):
    """In the tree, with a build folder of its own, and none of the outer make's settings."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SAN", "CC", "CFLAGS", "LDFLAGS")
    environment = {key: value for key, value in os.environ.items() if key not in outer}
    got = prof.plain(command, cwd=tree, env={**environment, "BUILD": "build"})
    assert got.returncode == 0, f"{command}\n{got.stdout[-3000:]}{got.stderr}"
    return got.stdout


def test_the_worked_example_works():
    with prof.folder() as tree:
        copy_tree(tree)
        paths = make_change(tree)
        work(tree, "clang-format", "--dry-run", "--Werror",
             *(path for path in paths if path.endswith((".c", ".h"))))
        programs = [re.sub(r"^tests/programs/(\w+)\.c$", r"build/prog/\1", path)
                    for path in paths if path.startswith("tests/programs/")]
        work(tree, "make", "-j2", "WERROR=1", "CFLAGS=-O0", "all", *programs)
        tests = [path for path in paths if path.startswith("tests/e2e/")]
        assert programs and tests, paths
        for test in tests:
            print(work(tree, sys.executable, test), end="")
        for rule in ("layers", "exports", "banned"):
            work(tree, "sh", f"tests/lint/{rule}.sh")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
