#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tensorboard_run.py LOGDIR - a real TensorBoard with its plugin, on a real log directory.

Every page of the plugin is asked for its data, as its own script would ask; numbers are
held against the trace file.  (Its charts come from the web: only data can be checked.)
"""
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

PLUGIN = "/data/plugin/pytorch_profiler/"
STATIC = ("index.js", "index.html", "trace_viewer_full.html", "trace_embedding.html")
LOADING_S = 60


class Board:
    def __init__(self, logdir):
        self.scratch = tempfile.TemporaryDirectory()
        self.log = open(os.path.join(self.scratch.name, "log"), "w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", "0",
             "--host", "127.0.0.1", "--load_fast=false"], stdout=self.log, stderr=self.log)
        self.base = self.wait_for(self.address, "TensorBoard did not start")

    def address(self):
        with open(self.log.name, encoding="utf-8") as log:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", log.read())
        return found and found[0]

    def wait_for(self, ask, complaint):
        deadline = time.monotonic() + LOADING_S
        while time.monotonic() < deadline:
            answer = ask()
            if answer:
                return answer
            time.sleep(0.2)
        self.log.seek(0)
        raise SystemExit(complaint + "\n" + self.log.read())

    def get(self, page, **query):
        url = f"{self.base}{PLUGIN}{page}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            data = answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
        return data

    def json(self, page, **query):
        return json.loads(self.get(page, **query))

    def runs(self):
        answer = self.json("runs")
        return answer["runs"] if not answer["loading"] else None

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        self.scratch.cleanup()


class Pages:
    """All pages for one worker and span, against its file."""

    def __init__(self, board, run, worker, span, trace):
        self.board, self.trace = board, trace
        self.where = {"run": run, "worker": worker, "span": span}
        self.problems, self.asked = [], 0

    def say(self, text):
        self.problems.append(text)

    def ask(self, page, **query):
        self.asked += 1
        try:
            return self.board.json(page, **self.where, **query)
        except (urllib.error.HTTPError, ValueError) as error:
            self.say(f"{page} {query}: {error}")
            return None

    def slices(self, *cats):
        return [e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] in cats]

    def run(self, views):
        self.overview()
        self.operators()
        self.same_trace()
        self.ask("tree")
        self.ask("diff", **{"exp_" + key: value for key, value in self.where.items()})
        self.ask("diffnode", path="0", **{"exp_" + key: value for key, value in self.where.items()})
        if "Memory" in views:
            self.memory()
        elif any(e["name"] == "[memory]" for e in self.trace["traceEvents"]):
            self.say(f"no Memory view among {views}")

    def overview(self):
        answer = self.ask("overview")
        if answer is None:
            return
        steps = sorted((e for e in self.slices("user_annotation")
                        if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])
        rows = answer["steps"]["rows"]
        labels = [str(row[0]) for row in rows]
        # A file without steps (a worker's) is one step, 0, to the plugin.
        if labels != ([step["name"].split("#")[1] for step in steps] or ["0"]):
            self.say(f"overview: steps {labels}, in the file {[s['name'] for s in steps]}")
        for row, step in zip(rows, steps):
            shown = sum(cell["value"] if isinstance(cell, dict) else cell
                        for cell in row[1:] if isinstance(cell, (int, float)))
            if abs(shown - step["dur"]) > 5 + 0.001 * step["dur"]:
                self.say(f"overview: step {row[0]} has {shown} us, the file {step['dur']}")

    def operators(self):
        for group in ("Operation", "OperationAndInputShape"):
            self.ask("operation", group_by=group)
            table = self.ask("operation/table", group_by=group)
            if table is None:
                continue
            shown, kept = {}, {}
            for row in table["data"]:
                shown[row["name"]] = shown.get(row["name"], 0) + row["calls"]
            for event in self.slices("cpu_op"):
                kept[event["name"]] = kept.get(event["name"], 0) + 1
            # The plugin merges a call with an only child of the same name.
            for name, calls in shown.items():
                if not 0 < calls <= kept.get(name, 0):
                    self.say(f"operators: {name} has {calls} calls, the file {kept.get(name)}")
            if len(shown) < 0.9 * len(kept) - 4:
                self.say(f"operators: {len(shown)} names, the file has {len(kept)}")

    def same_trace(self):
        answer = self.ask("trace")
        if answer is not None and answer != self.trace:
            self.say("the trace page gives another trace than the file")

    def memory(self):
        self.ask("memory")
        curve = self.ask("memory_curve")
        self.ask("memory_events")
        sizes = [e["args"]["Total Allocated"] for e in self.trace["traceEvents"]
                 if e["name"] == "[memory]"]
        if curve and "CPU" in curve.get("metadata", {}).get("peaks", {}):
            text = curve["metadata"]["peaks"]["CPU"]
            shown = float(re.search(r"([\d.]+)\s*MB", text)[1])
            if abs(shown - max(sizes) / 2 ** 20) > 0.11:
                self.say(f"memory: {text}, in the file {max(sizes)} bytes")


def trace_of(logdir, run, worker, spans, span):
    folder = logdir if run == os.path.basename(logdir.rstrip("/")) else os.path.join(logdir, run)
    files = sorted(glob.glob(os.path.join(folder, f"{worker}.*pt.trace.json*")))
    path = files[spans.index(span)]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def main(logdir):
    board, bad, asked = Board(logdir), 0, 0
    try:
        runs = board.wait_for(board.runs, "the plugin found no run")
        for page in STATIC:
            board.get(page)
        for run in runs:
            views = board.json("views", run=run)
            for worker in board.json("workers", run=run, view=views[0]):
                if worker == "All":
                    continue
                spans = board.json("spans", run=run, worker=worker)
                for span in spans:
                    pages = Pages(board, run, worker, span,
                                  trace_of(logdir, run, worker, spans, span))
                    pages.run(views)
                    asked += pages.asked
                    bad += len(pages.problems)
                    for problem in pages.problems[:10]:
                        print(f"{run} {worker} {span}: {problem}")
    finally:
        board.close()
    print(f"{len(runs)} runs, {asked} pages asked, {bad} problems")
    return 1 if bad or not asked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
