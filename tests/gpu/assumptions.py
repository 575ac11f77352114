# SPDX-License-Identifier: Apache-2.0
"""tests/fake/ASSUMPTIONS: each line names the check here that confirms or refutes it.

A line is "check: what the fake takes for true"; lines that begin with # are comments,
lines that begin with a blank go on with the one before.
"""
import os
import re

from common import CHECKS, HERE

PATH = os.path.join(HERE, "..", "fake", "ASSUMPTIONS")


def lines():
    """(check, text)"""
    found = []
    if not os.path.exists(PATH):
        return found
    with open(PATH, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            if line[0].isspace() and found:
                found[-1][1] += " " + line.strip()
                continue
            match = re.match(r"([\w, -]+?):\s*(.*)", line)
            found.append([match[1] if match else "", match[2] if match else line.strip()])
    return found


def covered():
    """Says which assumptions nothing checks; the number of them as exit status 0 or 1."""
    bare = [(name, text) for name, text in lines()
            if not any(one.strip() in CHECKS for one in name.split(","))]
    for name, text in bare:
        print(f"no check {name!r} for the assumption: {text}")
    return 1 if bare else 0
