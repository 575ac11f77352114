#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: full
"""What README and cookbook show can be typed, and what we say there is what we say."""
import os
import subprocess
import sys

import prof

sys.path.insert(0, os.path.join(prof.HERE, "..", "docs"))
import console      # noqa: E402 (its folder was not in the path before)

ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
TOOL = os.path.join(ROOT, "tests", "docs", "console.py")


def pages(*names):
    return prof.plain([sys.executable, TOOL, *(os.path.join(ROOT, name) for name in names)],
                      timeout=1800)


def judge(block, *more):
    with prof.folder() as work:
        path = os.path.join(work, "page.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# A page\n\n```console\n{block}```\n")
        got = prof.plain([sys.executable, TOOL, *more, path])
        with open(path, encoding="utf-8") as file:
            return got.returncode, got.stdout, file.read()


def test_a_page_that_says_what_is_not_said_is_found():
    assert judge("$ echo 'proflaunch: 3 files in /a/b, 1.5 ms'\n"
                 "proflaunch: 12 files in /x, 20 µs\n")[0] == 0
    status, out, _ = judge("$ echo 'proflaunch: 3 files'\nproflaunch: 3 traces\n")
    assert status == 1 and "3 traces" in out and "make docs" in out, out
    assert judge("$ echo 3 files\n12 traces\n")[0] == 0, "what programs print is theirs"
    assert judge("$ false\n")[0] == 1, "a command that fails"
    assert judge("$ false || echo status $?\nstatus 1\n")[0] == 0
    assert judge("$ python3 -c 'x' 2>&1 | head\n")[0] == 1, "a traceback before a pipe"


def test_output_is_written_anew():
    status, _, page = judge("$ cat <<END\n> one\n> END\nold\n$ pwd\nold\n", "--write")
    assert status == 0
    assert page == "# A page\n\n```console\n$ cat <<END\n> one\n> END\none\n$ pwd\n/tmp/cookbook\n```\n", page


def test_tasks_and_the_readme():
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "--mount-proc", "--pid", "--fork",
                            "true"], capture_output=True, check=False)
    if probe.returncode:
        raise prof.Skip("unshare is not allowed here")
    got = pages("README.md", "docs/cookbook.md", "docs/export.md", "docs/torchrun.md")
    assert got.returncode == 0, got.stdout[-3000:] + got.stderr
    assert got.stdout.count("docs/cookbook.md: ## ") == 16, got.stdout
    commands, lines = [int(word) for word in got.stdout.split("\n")[-2].split() if word.isdigit()]
    assert commands > 30 and lines > 30, got.stdout


def test_no_folder_of_a_machine_is_shown():
    for name in ("README.md", "docs/cookbook.md", "docs/torchrun.md"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = file.read()
        for block in console.BLOCK.findall(text):
            assert ROOT not in block and console.BUILD not in block, name


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
