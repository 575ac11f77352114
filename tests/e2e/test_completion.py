#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish complete behind `proflaunch`: the words that a user gets by the tabulator."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import prof

FRAMEWORK = "/usr/share/bash-completion/bash_completion"
MARK = "the-line-is"

# What is typed, a tabulator, what stands there then: where all shells agree.
LINES = [
    ("--logd", ["--logdir"]),
    ("--malloc sam", ["--malloc", "sample"]),
    ("--activities cpu,", ["--activities", "cpu,cuda"]),
    ("--logdir fold", ["--logdir", "folder"]),
    ("-o fold", ["-o", "folder"]),
    ("recov", ["recover"]),
    ("recover --outp", ["recover", "--output"]),
    ("memory --max", ["memory", "--max-growth"]),
    ("memory uniq", ["memory", "unique.txt"]),
    ("report --format js", ["report", "--format", "json"]),
    ("export --by alloc", ["export", "--by", "allocated"]),
    ("export --ps", ["export", "--pstats"]),
    ("-- cat uniq", ["--", "cat", "unique.txt"]),
    ("--quiet cat uniq", ["--quiet", "cat", "unique.txt"]),
    ("--malloc all --logdir folder cat uniq", ["--malloc", "all", "--logdir", "folder", "cat", "unique.txt"]),
    ("doctor cat uniq", ["doctor", "cat", "unique.txt"]),
    ("bottl", ["bottleneck"]),
    ("bottleneck --lim", ["bottleneck", "--limit"]),
    ("bottleneck --logd", ["bottleneck", "--logdir"]),
    ("bottleneck --limit 3 cat uniq", ["bottleneck", "--limit", "3", "cat", "unique.txt"]),
    ("--print-man profile.c", ["--print-man", "profile.conf.5"]),
    ("cat --logd", ["cat", "--logd"]),
]


def script(shell, path):
    got = prof.plain([prof.LAUNCHER, "--print-completion", shell])
    assert got.returncode == 0 and not got.stderr, got.stderr
    with open(path, "w", encoding="utf-8") as file:
        file.write(got.stdout)


class Terminal:
    """A shell that believes that somebody types."""

    def __init__(self, argv, folder, start):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.environ.update(TERM="dumb", PS1="", HOME=folder, INPUTRC="/dev/null")
            os.execvp(argv[0], argv)
        for line in start:
            self.type(line + "\n")
        self.type("echo the shell is $((40 + 2))\n")
        self.until("the shell is 42")

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, pattern, limit=60):
        seen, end = "", time.monotonic() + limit
        while not re.search(pattern, seen) and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                seen += os.read(self.fd, 65536).decode(errors="replace")
        assert re.search(pattern, seen), seen
        return seen

    def complete(self, line):
        """Types it and a tabulator; then goes to the line's begin and has its words printed."""
        self.type("proflaunch " + line + "\t")
        self.type(f"\x01printf '<%s>' {MARK} \x05; echo 'so'' it is'\n")
        words = re.findall(r"<([^>]*)>", self.until("so it is").split(f"<{MARK}>")[-1])
        assert words and words[0] == "proflaunch", words
        return words[1:]

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def check(shell, start, argv):
    with prof.folder() as work:
        os.mkdir(os.path.join(work, "folder"))
        open(os.path.join(work, "unique.txt"), "w", encoding="utf-8").close()
        script(shell, os.path.join(work, "_proflaunch"))
        terminal = Terminal(argv, work, start)
        wrong = []
        for line, want in LINES:
            got = terminal.complete(line)
            if [word.rstrip("=/") for word in got] != want:
                wrong.append(f"{line}: {got}, not {want}")
        terminal.close()
        assert not wrong, "\n".join(wrong)


def test_bash_alone():
    check("bash", ["complete -r", ". ./_proflaunch"], ["bash", "--norc", "--noprofile", "-i"])


def test_bash_with_its_framework():
    if not os.path.exists(FRAMEWORK):
        raise prof.Skip("bash-completion is not installed")
    check("bash", [f". {FRAMEWORK}", ". ./_proflaunch"], ["bash", "--norc", "--noprofile", "-i"])


def test_zsh():
    if not shutil.which("zsh"):
        raise prof.Skip("no zsh here")
    check("zsh", ["fpath=($PWD $fpath)", "autoload -Uz compinit", "compinit -u -D",
                  "bindkey -e", "PROMPT=", "unsetopt zle_bracketed_paste prompt_cr prompt_sp 2>/dev/null; unset zle_bracketed_paste"],
          ["zsh", "-f", "-i"])


def test_fish():
    if not shutil.which("fish"):
        raise prof.Skip("no fish here")
    with prof.folder() as work:
        os.mkdir(os.path.join(work, "folder"))
        open(os.path.join(work, "unique.txt"), "w", encoding="utf-8").close()
        script("fish", os.path.join(work, "script"))
        wrong = []
        for line, want in LINES:
            got = subprocess.run(["fish", "-c", "source script; complete -C 'proflaunch %s'" % line], cwd=work, text=True,
                                 capture_output=True, env={**os.environ, "HOME": work}, timeout=60)
            words = [row.split("\t")[0].rstrip("/") for row in got.stdout.splitlines()]
            if words != [want[-1]] and not (line.split()[-1] == want[-1] and not words):
                wrong.append(f"{line}: {words}, not {want[-1]} {got.stderr}")
        assert not wrong, "\n".join(wrong)


def test_each_option_of_the_help_is_there():
    options = set(re.findall(r"(?m)^  (--[a-z][a-z0-9-]*)(?=[ \n])", prof.plain([prof.LAUNCHER, "--help"]).stdout))
    assert len(options) > 30
    for shell in ("bash", "zsh", "fish"):
        text = prof.plain([prof.LAUNCHER, "--print-completion", shell]).stdout
        spelt = "-l %s " if shell == "fish" else "--%s"
        missing = [o for o in options if spelt % o[2:] not in text]
        assert not missing, f"{shell}: {missing}"


def test_another_shell_is_refused():
    for words in (["tcsh"], []):
        got = prof.plain([prof.LAUNCHER, "--print-completion", *words])
        assert got.returncode == 2 and "the shells are bash, zsh and fish" in got.stderr and not got.stdout, got.stderr


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
