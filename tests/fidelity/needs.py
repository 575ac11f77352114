# SPDX-License-Identifier: Apache-2.0
"""needs.py PROGRAM - exit status 77, with the reason, where the program cannot run.

A program's line "# packages: torch>=2.1 lightning" says what it needs.
"""
import importlib.metadata
import re
import sys


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


def lacking(need):
    name, _, least = need.partition(">=")
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is not installed here"
    if numbers(version) < numbers(least):
        return f"{name} {version} is older than {least}"
    return None


with open(sys.argv[1], encoding="utf-8") as file:
    line = re.search(r"^# packages: (.*)", file.read(), re.M)
for reason in filter(None, map(lacking, line[1].split() if line else [])):
    print(reason)
    sys.exit(77)
