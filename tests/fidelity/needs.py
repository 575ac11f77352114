# SPDX-License-Identifier: Apache-2.0
"""needs.py PROGRAM - exit status 77, with the reason, where the program cannot run.

A program's lines "# packages: torch>=2.1 lightning" and "# commands: g++" say what it
needs.
"""
import importlib.metadata
import re
import shutil
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
    needs = dict(re.findall(r"^# (packages|commands): (.*)", file.read(), re.M))
missing = [f"there is no {command} here" for command in needs.get("commands", "").split()
           if not shutil.which(command)]
for reason in missing + list(filter(None, map(lacking, needs.get("packages", "").split()))):
    print(reason)
    sys.exit(77)
