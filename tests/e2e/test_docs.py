#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README and docs/: what they say of options is so, links lead somewhere, words are explained first."""
import glob
import os
import re
import sys

import prof

ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
PAGES = ["README.md"] + sorted(os.path.relpath(path, ROOT)
                               for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def test_options_are_what_the_parsers_read():
    got = prof.plain([sys.executable, os.path.join(ROOT, "tests", "docs", "options.py")])
    assert got.returncode == 0 and "8 options in the README" in got.stdout, got.stdout + got.stderr


def test_the_readme_is_short():
    size = os.path.getsize(os.path.join(ROOT, "README.md"))
    assert 5000 < size < 7700, f"{size} bytes: costs, options and limits are pages of their own"
    assert os.path.getsize(os.path.join(ROOT, "docs", "trace.png")) < 150000


def anchors(page):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", BLOCK.sub("", read(page)), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere():
    links = 0
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", read(page))):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            assert os.path.exists(os.path.join(ROOT, path)), f"{page}: {target}"
            assert not anchor or anchor in anchors(path), f"{page}: {target}"
            links += 1
    assert links > 15, links


def test_words_are_explained_before_they_are_used():
    """The first time that a word comes it is bold, or the first cell of a table of words."""
    for page, words in (("README.md", ("step", "window", "marker", "stack_depth")),
                        ("docs/options.md", ("step", "window", "marker", "stack_depth")),
                        ("docs/cookbook.md", ("step", "window", "marker", "stack_depth"))):
        text = BLOCK.sub("", read(page))
        for word in words:
            first = re.search(rf"\b{word}s?\b", text, re.I)
            line = text[text.rfind("\n", 0, first.start()) + 1:text.find("\n", first.start())]
            assert f"**{word}" in line or line.startswith("| ") or word == "stack_depth" and \
                re.search(r"`stack_depth`.* (is|are) ", line), f"{page}: {word} in: {line}"


def default_of_file():
    """In help, the manual pages, README and docs/options.md, each as it is said there."""
    plain = {page: prof.plain([prof.LAUNCHER, *words]).stdout.replace("\\", "")
             for page, words in (("help", ["--help"]), ("man", ["--print-man", "proflaunch.1"]),
                                 ("file", ["--print-man", "profile.conf.5"]), ("conf", ["--print-config"]))}
    said = {page: re.search(r"default (%[^\s,;]*[^\s,;.])", re.sub(r"\n#?\s*", " ", text))[1]
            for page, text in plain.items()}
    for page in ("README.md", "docs/options.md"):
        row = re.search(r"^\| `--file` \|(.*)$", read(page), re.M)[1]
        said[page] = re.search(r"`(%[^`]*)` \|", row)[1]
    return said


def matches(name, pattern, rank):
    known = re.escape(pattern)
    for sign, is_so in (("%h", re.escape(os.uname().nodename)), ("%p", r"\d+"), ("%t", r"\d{19}"), ("%r", rank)):
        known = known.replace(sign, is_so)
    return re.fullmatch(known + r"\.pt\.trace\.json", name)


def test_the_default_of_file_is_the_same_everywhere_and_true():
    said = default_of_file()
    assert len(set(said.values())) == 1, said
    pattern = said["help"]
    told = re.sub(r"\n *", " ", prof.plain([prof.LAUNCHER, "--help"]).stdout)
    of_rank = re.search(r"of a rank (%[^\s,;]*[^\s,;.])", told)
    for env, want in (({}, pattern), ({"RANK": "3", "WORLD_SIZE": "4"}, of_rank[1] if of_rank else pattern)):
        with prof.folder() as log:
            run = prof.launch(["true"], log, marker="none", malloc="count", env=env)
            assert matches(os.path.basename(run.paths()[0]), want, "3"), (run.paths(), want)
    with prof.folder() as log:
        run = prof.launch(["true"], log, marker="none", malloc="count", file=pattern)
        assert matches(os.path.basename(run.paths()[0]), pattern, ""), (run.paths(), pattern)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
