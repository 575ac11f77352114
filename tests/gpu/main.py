# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of tests/gpu in their order and writes the folder of results."""
import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tarfile
import time
import traceback

import assumptions
import checks_cupti  # in the order in which they shall run: the most wanted first
import checks_torch
import checks_cost
import checks_life
import fidelity
import where
from common import BUILD, CHECKS, Check, Site, Skip, say

MOST_SENT = 3 << 20  # bytes of a file
assert checks_cupti and checks_torch and checks_cost and checks_life


def arguments():
    parser = argparse.ArgumentParser(prog="tests/gpu/run")
    parser.add_argument("--list", action="store_true", help="name the checks and leave")
    parser.add_argument("--out", default=os.path.join(
        BUILD, f"gpu-results-{time.strftime('%Y%m%d-%H%M%S')}"))
    parser.add_argument("--python", help="the python that has torch")
    parser.add_argument("--only", default="", help="names of checks, with commas")
    parser.add_argument("--seconds", type=int, default=480,
                        help="for all checks together; what comes later is left out; 0: any time")
    return parser.parse_args()


def machine():
    found, (host, instead) = where.machine()
    text = json.dumps(found, default=str)
    return json.loads(text.replace(host, instead) if len(host) > 3 else text)


def tried(name, function):
    """(what it found, state)"""
    try:
        if Site.until and time.monotonic() > Site.until:
            raise Skip(f"no time left; --only {name} tries it alone, --seconds 0 all")
        return function(), "ok"
    except Skip as reason:
        return {"reason": str(reason)}, "skipped"
    except subprocess.TimeoutExpired as error:
        if Site.until and time.monotonic() > Site.until:
            return {"reason": f"cut off, no time left; --only {name} tries it alone"}, "skipped"
        return {"error": f"{error.cmd[:4]} takes longer than {error.timeout:.0f} s"}, "failed"
    except Exception as error:
        Site.log.write(traceback.format_exc())
        return {"error": f"{type(error).__name__}: {error}"[:2000]}, "failed"


def run_one(name):
    """The check, in this thread."""
    Check.failures.texts, begin = [], time.monotonic()
    found, state = tried(name, CHECKS[name].function)
    bad = Check.failures.texts + ([found["error"]] if state == "failed" else [])
    return {"state": "failed" if bad else state, "what": CHECKS[name].what,
            "seconds": round(time.monotonic() - begin, 1), "found": found, "not as it should be": bad}


def tell(name, one):
    what = one["found"]["reason"] if one["state"] == "skipped" else one["what"]
    say(f"{one['state']:<8}{name} ({one['seconds']:.0f} s): {what}")
    for text in one["not as it should be"]:
        say(f"        {text[:500]}")


def run_all(names):
    """(name, result) in order; neighbours that may run side by side do."""
    workers = max(1, min(4, (os.cpu_count() or 1) // 4))
    for apart, group in itertools.groupby(names, lambda name: CHECKS[name].apart):
        with concurrent.futures.ThreadPoolExecutor(workers if apart else 1) as pool:
            futures = [(name, pool.submit(run_one, name)) for name in group]
            for name, future in futures:
                yield name, future.result()


def rows(value, indent="- "):
    """Nested findings as Markdown lists."""
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield f"{indent}{key}:"
            yield from rows(one, "  " + indent)
        else:
            yield f"{indent}{key}: {one}"


def summary(results):
    lines = ["# On the fake GPU: no number here says anything" if Site.fake else "# On a real GPU", "", "`tests/gpu/run`", "", *rows(results["machine"]), ""]
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


def sendable(member):
    """Not the largest traces: the folder is to be sent."""
    return member if member.size < MOST_SENT else None


def main():
    args = arguments()
    if args.list:
        for name, one in CHECKS.items():
            print(f"{name:<20}{one.what}")
        return assumptions.covered() or fidelity.covered()
    unknown = set(filter(None, args.only.split(","))) - set(CHECKS)
    if unknown:
        sys.exit(f"no check {', '.join(sorted(unknown))}; --list names them")
    Site.out = os.path.abspath(args.out)
    os.makedirs(Site.out, exist_ok=True)
    begin = time.monotonic()
    Site.log = open(os.path.join(Site.out, "log.txt"), "w", encoding="utf-8")
    where.learn(args.python)
    results = {"machine": machine(), "checks": {}}
    say(f"{', '.join(results['machine']['devices'])}; driver {results['machine']['driver']}; "
        f"{Site.cudart}; {Site.cupti}; torch {Site.torch.get('version', 'not there')}")
    Site.until = begin + args.seconds if args.seconds else None
    wanted = [name for name in CHECKS if not args.only or name in args.only.split(",")]
    for name, one in run_all(wanted):
        tell(name, one)
        results["checks"][name] = one
        results["seconds"] = round(time.monotonic() - begin)
        save(results)
    Site.log.close()
    packed = Site.out.rstrip("/") + ".tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(Site.out, os.path.basename(Site.out), filter=sendable)
    states = [one["state"] for one in results["checks"].values()]
    print(f"{states.count('ok')} ok, {states.count('failed')} failed, "
          f"{states.count('skipped')} skipped; {packed}")
    return 1 if "failed" in states else 0


if __name__ == "__main__":
    sys.exit(main())
