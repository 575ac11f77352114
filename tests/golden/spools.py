#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spools of killed programs, made once, and what `recover` makes of them before and after a change.

spools.py make FOLDER           programs under the launcher, killed at their ends
spools.py write FOLDER OUT      each spool's files, by this build's `recover`: equal bytes are wanted
spools.py compare OUT OTHER     names what differs; status 1

Of BUILD.  A spool says when and in which process it was made, so none is kept in git.
"""
import filecmp
import glob
import os
import random
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PYTHON = os.path.abspath(os.environ.get("PYTHON", f"{BUILD}/venv/bin/python"))
CUPTIS = ("11.7", "11.8", "12.1", "12.8", "13.4")

# Stops the finisher, so that what the command records stays; then nobody is left to end it well.
WRAP = """
name=
while [ "$name" != proflaunch-fin ]; do
	read -r children < /proc/$PPID/task/$PPID/children
	for finisher in $children; do
		read -r name < /proc/$finisher/comm
		[ "$name" != proflaunch-fin ] || break
	done
done
kill -STOP $finisher
"$@" > /dev/null 2>&1
kill -STOP $PPID
kill -KILL $finisher $PPID
"""

TORCH = ("accumulate", "annotations", "cnn", "custom_function", "dtypes", "einsum", "exceptions",
         "lstm", "odd_inputs", "optimizers", "sparse", "threads", "torchscript", "transformer")
EVERYTHING = "--marker none --record-shapes on --profile-memory on"


def cases():
    """(name, options, environment, command)"""
    for name in TORCH:
        program = [PYTHON, f"{ROOT}/tests/fidelity/progs/{name}.py"]
        harness = {"PYTHONPATH": f"{ROOT}/tests/fidelity"}
        yield f"torch-{name}", "--marker none", harness, program
        yield f"torch-{name}-all", EVERYTHING, harness, program
    train = [PYTHON, f"{ROOT}/tests/programs/heap_train.py"]
    steps = "--schedule wait=1,warmup=1,active=2,repeat=2 --record-shapes on"
    yield "torch-steps", steps, {}, train
    yield "torch-043", EVERYTHING + " --dialect tb043", {}, train
    for mode in ("count", "sample", "all"):
        yield f"heap-train-{mode}", f"--malloc {mode} --profile-memory on", {}, train
        yield f"heap-every-{mode}", f"--marker none --malloc {mode}", {}, [f"{BUILD}/heap/every", "c,new,std,keep", "40"]
        yield f"heap-storm-{mode}", f"--marker none --malloc {mode}", {}, [f"{BUILD}/heap/storm", "40", "200"]
    for version in CUPTIS:
        fake = f"{BUILD}/fake/run-{version}"
        env = {"LD_LIBRARY_PATH": fake, "CUDART": glob.glob(f"{fake}/libcudart.so.*")[0],
               "CUPTI": glob.glob(f"{fake}/libcupti.so.*")[0]}
        for mode in ("loop", "graph", "events"):
            yield (f"gpu-{mode}-{version}", "--marker none --cuda-sync on" if mode == "events" else "--marker none",
                   env, [f"{BUILD}/prog/cuda_work", mode, "5"])


def make_one(folder, options, env, command):
    os.makedirs(folder)
    words = [f"{BUILD}/proflaunch", "--logdir", folder + "/log", *options.split(), "--",
             "sh", "-c", WRAP, "sh", *command]
    subprocess.run(words, cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=300, check=False)
    return [f for f in glob.glob(folder + "/log/.proflaunch/**", recursive=True) if os.path.isfile(f)]


def damage(folder):
    """Each tenth spool a second time, with bytes changed behind its header, and once cut short."""
    draw = random.Random(14)
    for name in sorted(os.listdir(folder))[::10]:
        for kind in ("bytes", "cut"):
            copy = f"{folder}/{name}-{kind}"
            subprocess.run(["cp", "-r", "--sparse=always", f"{folder}/{name}", copy], check=True)
            for path in glob.glob(copy + "/log/.proflaunch/**/*", recursive=True):
                size = os.path.getsize(path) if os.path.isfile(path) else 0
                if size < 1 << 17:
                    continue
                with open(path, "r+b") as file:
                    if kind == "cut":
                        file.truncate(size * 2 // 3)
                    for _ in range(100 if kind == "bytes" else 0):
                        file.seek(draw.randrange(1 << 16, size))
                        file.write(bytes([draw.randrange(256)]))


def make(folder):
    for name, options, env, command in cases():
        found = make_one(f"{folder}/{name}", options, env, command)
        print(name, len(found), "files", flush=True)
    damage(folder)


def write(folder, out):
    for name in sorted(os.listdir(folder)):
        os.makedirs(f"{out}/{name}")
        subprocess.run(["cp", "-r", "--sparse=always", f"{folder}/{name}", f"{out}/{name}/job"], check=True)
        done = subprocess.run([f"{BUILD}/proflaunch", "recover", "--output", f"{out}/{name}/log",
                               f"{out}/{name}/job/log"], capture_output=True, text=True, timeout=300, check=False)
        shutil.rmtree(f"{out}/{name}/job")
        with open(f"{out}/{name}/said", "w", encoding="utf-8") as file:
            file.write(f"{done.returncode}\n{done.stdout}{done.stderr}")
    for path in files_of(out):
        with open(f"{out}/{path}", "r+b") as file:      # a trace says its own name
            text = file.read().replace(out.encode(), b"OUT")
            file.seek(0)
            file.truncate()
            file.write(text)


def files_of(out):
    return {os.path.relpath(os.path.join(d, f), out) for d, _, fs in os.walk(out) for f in fs}


def compare(out, other):
    mine, theirs = files_of(out), files_of(other)
    bad = sorted(mine ^ theirs) + sorted(f for f in mine & theirs
                                         if not filecmp.cmp(f"{out}/{f}", f"{other}/{f}", shallow=False))
    traces = sum(1 for f in mine if ".pt.trace.json" in f)
    print(*bad, f"{len(mine)} files, {traces} traces: {len(bad)} differ", sep="\n")
    return bool(bad)


def main():
    what, *folders = sys.argv[1:]
    sys.exit({"make": make, "write": write, "compare": compare}[what](*map(os.path.abspath, folders)))


if __name__ == "__main__":
    main()
