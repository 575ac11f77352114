# SPDX-License-Identifier: Apache-2.0
"""tests/fake/ASSUMPTIONS: each line has a check of its number in tests/fake/assume.c.

A line is "assumed: NUMBER what the fake takes for true"; lines that begin with # are
comments, lines that begin with a blank go on with the one before.
"""
import os
import re

from common import HERE, Site, built, on_cudart

FAKE = os.path.join(HERE, "..", "fake")


def read(name):
    with open(os.path.join(FAKE, name), encoding="utf-8") as file:
        return file.read()


def numbers():
    return set(re.findall(r"^assumed: (\d+) ", read("ASSUMPTIONS"), re.M))


def checked():
    """Numbers that assume.c's table has, with a function that there is."""
    table = re.findall(r"\{ (\d+), (a\d+_\w+) \}", read("assume.c"))
    source = "".join(read(name) for name in sorted(os.listdir(FAKE)) if name.startswith("assume"))
    return {number for number, function in table
            if re.search(rf"^static const char \*{function}\(void\)$", source, re.M)
            and function.startswith(f"a{number}_")}


def covered():
    """Says which assumptions nothing checks, and the other way round; 0 or 1."""
    text = read("ASSUMPTIONS")
    odd = [line for line in text.splitlines() if line and not re.match(r"#|\s|assumed: \d+ \S", line)]
    for line in odd:
        print(f"not an assumption with a number: {line}")
    for number in sorted(numbers() ^ checked(), key=int):
        print(f"assumption {number}: " + ("no check in assume.c" if number in numbers() else "not in the list"))
    return 1 if odd or numbers() ^ checked() else 0


def program():
    """assume, and the environment in which it finds everything."""
    inject = built("assume_inject.so", os.path.join(FAKE, "assume_inject.c"), "-shared", "-fPIC", "-ldl")
    path = on_cudart("assume", os.path.join(FAKE, "assume.c"), "-rdynamic")
    return path, {"CUPTI": Site.cupti, "ASSUME_INJECT": inject, **({"NCCL": Site.nccl} if Site.nccl else {})}
