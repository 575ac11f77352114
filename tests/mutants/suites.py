# SPDX-License-Identifier: Apache-2.0
"""Suites: the tests that could notice a fault, in which order, and one run of one of them."""
import glob
import hashlib
import os
import re
import signal
import subprocess
import tempfile
import time

# What runs end to end where no unit program notices: the first pattern that fits the file.
BY_FOLDER = (
    (r"agent/hooks/cuda_(find|dlsym)|agent/cuda/(find|lookup)", "e2e/cuda_hooks_find.sh e2e/test_cuda_ways.py"),
    (r"agent/hooks/(cuda|estimate|kernels|nccl|driver)|agent/cuda/",
     "e2e/cuda_hooks.sh e2e/cuda_hooks_fake.sh e2e/test_cuda_work.py"),
    (r"agent/hooks/(patch|toggle)|agent/patch/", "e2e/test_symbol.py e2e/test_collect.py"),
    (r"agent/hooks/(heap|malloc|unwind|stack)|agent/(heap|unwind)/",
     "e2e/test_heap_plugins.py e2e/test_heap_largest.py e2e/test_heap_fidelity.py"
     " e2e/test_heap_survive.py e2e/test_heap_storm.py"),
    (r"agent/hooks/", "e2e/test_host.py e2e/test_children.py e2e/test_processes.py"),
    (r"agent/(wire_)?heap|agent/core/stacks", "e2e/test_heap_fidelity.py e2e/test_heap_largest.py"),
    (r"agent/core/(side|gpu_chunk|record_cuda|record_gpu|cuda)", "e2e/test_cuda_work.py e2e/test_cuda_contexts.py"),
    (r"config/|agent/core/(config|deny|own_env|place)", "e2e/launcher_config.sh e2e/launcher_machine.sh"),
    (r"base/|agent/core/", "e2e/test_processes.py e2e/test_robust.py e2e/test_descriptors.py"),
    (r"agent/(cupti|gpu|wire_gpu)", "e2e/test_cuda_work.py e2e/test_cuda_tee.py e2e/test_cuda_ways.py"
     " e2e/test_cuda_trouble.py e2e/test_cuda_errors.py"),
    (r"agent/sched/", "e2e/test_edges.py e2e/test_steps.py e2e/test_collect.py e2e/test_symbol.py"),
    (r"agent/torch/", "fidelity:threads fidelity:odd_inputs fidelity:dtypes e2e/test_edges.py"),
    (r"agent/", "e2e/test_host.py e2e/test_processes.py e2e/test_robust.py"),
    (r"writer/(cuda|gpu|occupancy|collective)",
     "e2e/test_cuda_work.py e2e/test_cuda_events.py e2e/test_cuda_options.py"),
    (r"writer/(heap|leak|stack)", "e2e/test_heap_largest.py e2e/test_heap_leak.py"),
    (r"writer/symbol", "e2e/test_heap_symbols.py e2e/test_recover_symbols.py"),
    (r"writer/", "fidelity:annotations fidelity:dtypes e2e/test_edges.py e2e/test_robust.py"),
    (r"launcher/doctor", "e2e/launcher_doctor.sh e2e/launcher_doctor_gpu.sh"),
    (r"launcher/symbol", "e2e/test_symbolize.py e2e/test_heap_symbols.py"),
    (r"launcher/(recover|sweep|owner|remains|tend)",
     "e2e/test_launcher_recover.py e2e/launcher_many.sh e2e/test_robust.py"),
    (r"launcher/(group|forward|inherit|release|say|child)",
     "e2e/test_launcher_caller.py e2e/test_launcher_signals.py e2e/test_launcher_life.py"
     " e2e/launcher_status.sh e2e/launcher_host.sh"),
    (r"launcher/", "e2e/launcher_status.sh e2e/launcher_config.sh e2e/launcher_texts.sh"
     " e2e/launcher_host.sh e2e/launcher_targets.sh e2e/launcher_machine.sh"
     " e2e/test_launcher_signals.py e2e/test_launcher_life.py e2e/test_launcher_recover.py"),
    (r"finisher/", "e2e/test_finisher_small.py e2e/test_finisher.py"),
    (r"report/", "e2e/launcher_heap.sh e2e/test_memory.py"),
)
PATIENCE = 5    # a run may take so many times as long as it does without a fault
LEAST = int(os.environ.get("MUTANTS_LEAST", 20))    # seconds that any run may take


def sha(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Suite:
    """One test program: a unit suite, or a script that runs real programs."""

    def __init__(self, name, file, words, unit):
        self.name, self.file, self.words, self.unit = name, file, words, unit

    def head(self, root, what):
        """What a script says of itself, as tests/run.sh reads it: "# run: what VALUE"."""
        if self.unit:
            return None
        lines = content(os.path.join(root, self.file)).decode(errors="replace").split("\n")[:40]
        found = [line[7 + len(what):].strip() for line in lines if line.startswith(f"# run: {what}")]
        return found[0] if found else None

    def alone(self, root):
        return self.head(root, "alone") is not None

    def limit(self, root, usual, san):
        """Seconds after which a run is taken to hang."""
        if usual is None:
            said = self.head(root, "timeout")
            return 3 * int(said or 120) if not self.unit else (900 if san else 300)
        return max(LEAST, PATIENCE * usual)

    def key(self, root):
        return sha(content(os.path.join(root, self.file)))


def find(name, root):
    """(suite, None) of a word of tests:, or (None, why there is none)."""
    kind, colon, what = name.partition(":")
    if colon and kind == "host":
        suite = Suite(name, "tests/host/run.py", ["tests/host/run.py", "--only", what], False)
    elif colon and kind == "fidelity":
        script = f"tests/fidelity/progs/{what}.py"
        suite = Suite(name, script, ["tests/fidelity/check.sh", "/usr/bin/python3", script], False)
    elif colon:
        return None, f"{name!r}: only host: and fidelity: have a colon"
    elif "/" in name and not name.startswith("unit/"):
        suite = Suite(name, f"tests/{name}", [f"tests/{name}"], False)
    else:
        stem = re.sub(r"\.c$", "", name.removeprefix("unit/"))
        suite = Suite(stem, f"tests/unit/{stem}.c", [stem], True)
    if not os.path.isfile(os.path.join(root, suite.file)):
        return None, f"no test {suite.file}"
    return suite, None


def every_unit(root):
    stems = sorted(os.path.basename(p)[:-2]
                   for p in glob.glob(os.path.join(glob.escape(root), "tests/unit/test_*.c")))
    return [find(stem, root)[0] for stem in stems]


def of_folder(file, root):
    for pattern, names in BY_FOLDER:
        if re.match(pattern, file):
            return [s for s in (find(name, root)[0] for name in names.split()) if s]
    return []


def nearness(suite, file, root):
    """How much a unit suite has to do with a file, by its name and by what it includes."""
    def parts(name):
        return set(re.split(r"[/_.]", name))
    stem = os.path.splitext(file)[0]
    own = parts(suite.name) - {"test"}
    points = 4 * len(own & parts(os.path.basename(stem))) + len(own & parts(os.path.dirname(stem)))
    text = content(os.path.join(root, suite.file)).decode(errors="replace")
    points += 5 if f'"{stem}.h"' in text else 0
    return points - 0.1 * len(own - parts(stem))


def stop_all(mark):
    """Ends every process that carries our mark in its environment: what a run left behind."""
    needle = f"MUTANT_RUN={mark}".encode()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                if needle in file.read().split(b"\0"):
                    os.kill(int(number), signal.SIGKILL)
        except OSError:
            pass


def run(suite, tree, mark, usual=None, san=""):
    """(status, seconds, output): "ok", "skip", "fail" or "hang"."""
    build = f"build-{san}" if san else "build"
    env = tree.environment(build)
    env.update(MUTANT_RUN=mark, UBSAN_OPTIONS="halt_on_error=1")
    words = [f"{build}/{suite.name}"] if suite.unit else suite.words
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="m.", ignore_cleanup_errors=True) as place, \
            tempfile.TemporaryFile() as output:
        env["TMPDIR"] = place       # what a test that is ended leaves goes with it
        try:
            process = subprocess.Popen(["nice"] + words, cwd=tree.path, env=env, stdout=output,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        except OSError as error:
            return "fail", 0, str(error)
        try:
            code = process.wait(suite.limit(tree.path, usual, san))
            status = {0: "ok", 77: "skip"}.get(code, "fail")
        except subprocess.TimeoutExpired:
            status = "hang"
            process.terminate()         # Check ends its test at this
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
        stop_all(mark)
        process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return status, time.monotonic() - begin, text


def failure(status, output):
    """What of a test's output says best what it noticed: one line."""
    if status == "hang":
        return "no end"
    lines = [line.strip() for line in output.split("\n") if line.strip()]
    checks = [m.group(1) for m in (re.search(r":[FE]:[^:]*:([^:]+):\d*: ", l) for l in lines) if m]
    if checks:
        return checks[0]
    return lines[-1][:120] if lines else ""
