# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of tests/gpu in their order and writes the folder of results."""
import argparse
import json
import os
import platform
import socket
import sys
import tarfile
import time
import traceback

import checks_cupti
import checks_torch
import checks_cost
import assumptions
from common import BUILD, CHECKS, Site, Skip, driver_version, learn_site, output, say

assert checks_cupti and checks_torch and checks_cost


def arguments():
    parser = argparse.ArgumentParser(prog="tests/gpu/run")
    parser.add_argument("--list", action="store_true", help="name the checks and leave")
    parser.add_argument("--out", default=os.path.join(
        BUILD, f"gpu-results-{time.strftime('%Y%m%d-%H%M%S')}"))
    parser.add_argument("--python", help="the python that has torch")
    parser.add_argument("--only", default="", help="names of checks, with commas")
    parser.add_argument("--mps", action="store_true")
    return parser.parse_args()


def machine():
    found = {"date": time.strftime("%Y-%m-%d"), "system": platform.platform(),
             "processors": os.cpu_count(), "driver": driver_version(), "torch": Site.torch,
             "cudart": Site.cudart, "cupti": Site.cupti}
    query = "name,driver_version,compute_cap,memory.total,mig.mode.current,compute_mode,persistence_mode"
    try:
        done = output(["nvidia-smi", f"--query-gpu={query}", "--format=csv"], fail=False)
        found["nvidia-smi"] = done.stdout.strip().splitlines()
    except OSError:
        found["nvidia-smi"] = ["not found"]
    commit = output(["git", "rev-parse", "--short", "HEAD"], fail=False)
    found["commit"] = commit.stdout.strip()
    return json.loads(json.dumps(found).replace(socket.gethostname(), "<host>"))


def run_one(name):
    what, function = CHECKS[name]
    before, begin = len(Site.failures), time.monotonic()
    try:
        found, state = function(), "ok"
    except Skip as reason:
        found, state = {"reason": str(reason)}, "skipped"
    except Exception as error:
        found, state = {"error": f"{type(error).__name__}: {error}"[:2000]}, "failed"
        Site.log.write(traceback.format_exc())
    bad = Site.failures[before:]
    state = "failed" if bad and state == "ok" else state
    say(f"{state:<8}{name} ({time.monotonic() - begin:.0f} s): {what}")
    for text in bad:
        say(f"        {text}")
    if state == "skipped":
        say(f"        {found['reason']}")
    return {"state": state, "what": what, "found": found, "not as it should be": bad}


def rows(value, indent="- "):
    """Nested findings as Markdown lists."""
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield f"{indent}{key}:"
            yield from rows(one, "  " + indent)
        else:
            yield f"{indent}{key}: {one}"


def summary(results):
    lines = ["# On a real GPU", "", "`tests/gpu/run`", "", *rows(results["machine"]), ""]
    lines += ["| check | result | what it shows |", "| --- | --- | --- |"]
    lines += [f"| {name} | {one['state']} | {one['what']} |" for name, one in results["checks"].items()]
    for name, one in results["checks"].items():
        lines += ["", f"## {name}", "", *[f"**{text}**  " for text in one["not as it should be"]],
                  *rows(one["found"] or {})]
    return "\n".join(lines) + "\n"


def save(results):
    with open(os.path.join(Site.out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, default=str)
    with open(os.path.join(Site.out, "summary.md"), "w", encoding="utf-8") as file:
        file.write(summary(results))


def main():
    args = arguments()
    if args.list:
        for name, (what, _) in CHECKS.items():
            print(f"{name:<20}{what}")
        return assumptions.covered()
    unknown = set(filter(None, args.only.split(","))) - set(CHECKS)
    if unknown:
        sys.exit(f"no check {', '.join(sorted(unknown))}; --list names them")
    Site.out, Site.mps = os.path.abspath(args.out), args.mps
    os.makedirs(Site.out, exist_ok=True)
    Site.log = open(os.path.join(Site.out, "log.txt"), "w", encoding="utf-8")
    learn_site(args.python)
    results = {"machine": machine(), "checks": {}}
    for name in CHECKS:
        if not args.only or name in args.only.split(","):
            results["checks"][name] = run_one(name)
            save(results)
    Site.log.close()
    packed = Site.out.rstrip("/") + ".tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(Site.out, os.path.basename(Site.out))
    states = [one["state"] for one in results["checks"].values()]
    print(f"{states.count('ok')} ok, {states.count('failed')} failed, "
          f"{states.count('skipped')} skipped; {packed}")
    return 1 if "failed" in states else 0


if __name__ == "__main__":
    sys.exit(main())
