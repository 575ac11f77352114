#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paths - each path that a page (*.md) names between backquotes is in the tree.

A path is a word that ends as a source file does, or begins with a folder of the top, of agent/
or beside the page; * stands for anything, {a,b} for either. It is looked for from the top,
beside the page, and as the end of a path of the tree: `gate.c` is agent/core/gate.c wherever it
is named. What is built, or lies elsewhere, begins with one of ELSEWHERE. Blocks of code are not
read, and files that the worked example of CONTRIBUTING.md makes are not missed.
"""
import fnmatch
import os
import re
import subprocess
import sys

SOURCE = r"c|h|S|py|sh|mk|def|inc|rows|cc|cpp|md|example|txt"
ELSEWHERE = ("/", "~", "$", "<", "-", "build/", "log/", "http", "..")
EXAMPLE = re.compile(r"^`([^`]+)` is new:$", re.M)


def words_of(page):
    page = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    for quoted in re.findall(r"`([^`\n]+)`", page):
        for word in quoted.split():
            yield word.strip(",;:()'\"").split("#")[0]


def looks_like_path(word, folders):
    """A source file, or something in a folder that there is."""
    if word.startswith(ELSEWHERE) or not re.fullmatch(r"[\w.*{},/-]+", word):
        return False
    return bool(re.search(rf"\.({SOURCE})$", word)) or \
        "/" in word and word.split("/")[0] in folders


def either(word):
    """a/{b,c}.h -> a/b.h, a/c.h"""
    found = re.search(r"\{([^{}]*)\}", word)
    if not found:
        return [word]
    return [w for choice in found[1].split(",")
            for w in either(word[:found.start()] + choice + word[found.end():])]


def main():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    files = [path for path in files if os.path.exists(path)]
    known = set(files) | {path[:i] for path in files for i, c in enumerate(path) if c == "/"}
    bad = 0
    for page in filter(lambda path: path.endswith(".md"), files):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        made = set(EXAMPLE.findall(text))
        folders = {path.split("/")[-1] for path in known - set(files)
                   if os.path.dirname(path) in ("", "agent", os.path.dirname(page))}
        for word in words_of(text):
            if word in made or not looks_like_path(word, folders):
                continue
            for path in either(word.rstrip("/")):
                beside = os.path.normpath(os.path.join(os.path.dirname(page), path))
                if not any(fnmatch.fnmatchcase(there, path) or fnmatch.fnmatchcase(there, beside)
                           or fnmatch.fnmatchcase(there, f"*/{path}") for there in known):
                    print(f"{page}: {path} is not there")
                    bad += 1
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
