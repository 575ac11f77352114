#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""A leak planted in a C++ extension is found: the function, the line, and who called it."""
import os
import re
import sys

import prof
import test_symbolize as symbolize

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
TRAIN = """
import ctypes, sys, torch
lib = ctypes.CDLL(sys.argv[1])
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(26):
    optimizer.zero_grad()
    model(torch.ones(8, 64)).sum().backward()
    if sys.argv[2] == "leak":
        lib.leak_some(50)
    else:
        lib.leak_none(50)
    optimizer.step()
"""
SOURCE = """
#include <string>
#include <vector>
template <class T> struct Kept {
	std::vector<T *> all;
	__attribute__((noinline)) void add(int n)
	{
		all.push_back(new T[n]); // the leak
	}
};
struct Thing { double a[16]; };
static Kept<Thing> kept;
extern "C" void leak_some(int n) { kept.add(n); kept.all.reserve(1000); }
extern "C" void leak_none(int n) { Kept<Thing> k; k.add(n); delete[] k.all[0]; }
"""


def train(log, how):
    if not os.path.exists(PYTHON):
        raise prof.Skip("there is no PyTorch")
    symbolize.need("g++")
    source = os.path.join(log, "extension.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    library = os.path.join(log, "extension.so")
    got = prof.plain(["g++", "-g", "-O2", "-shared", "-fPIC", "-o", library, source])
    assert got.returncode == 0, got.stderr
    run = prof.launch([PYTHON, "-c", TRAIN, library, how], log, malloc="all", buffer_mb=1024,
                      schedule="wait=2,warmup=2,active=21,repeat=1")
    return run.only().path, library


def leaks(path, *words):
    return prof.plain([prof.LAUNCHER, "memory", "--leaks", *words, path])


def test_the_line_is_found():
    number = SOURCE[:SOURCE.index("// the leak")].count("\n") + 1
    with prof.folder() as log:
        path, _ = train(log, "leak")
        answer = leaks(path, "--max-growth", "5000")
        assert answer.returncode == 1, (answer.stdout, answer.stderr)
        assert f"Kept<Thing>::add(int) (extension.cc:{number})" in answer.stdout, answer.stdout
        # 50 things of 128 bytes a step.
        trace = prof.Trace(path)
        heap = trace.facts["heap"]
        site = next(s for s in heap["sites"] if s["stack"] is not None and any(
            "Kept<Thing>::add" in heap["frames"][i] for i in heap["stacks"][s["stack"]][:3]))
        frames = [heap["frames"][i] for i in heap["stacks"][site["stack"]]]
        # Python has no operator new of its own, and so the C++ library's is a frame.
        assert frames[0].startswith("operator new(unsigned long) (libstdc++"), frames
        assert frames[1].startswith("Kept<Thing>::add(int) (extension.cc:"), frames
        assert frames[2].startswith("leak_some (extension.cc:"), frames
        assert site["call"] == "malloc", site
        assert site["live"] == site["allocs"] * 50 * 128, site
        grown = [after - before for before, after in zip(site["steps"], site["steps"][1:])]
        assert set(grown) == {6400}, site


def test_no_leak_no_finding():
    with prof.folder() as log:
        path, _ = train(log, "none")
        answer = leaks(path, "--max-growth", "5000")
        assert answer.returncode == 0, (answer.stdout, answer.stderr)


STEPS = """
#include <stdlib.h>
void proflaunch_step(void) __attribute__((weak));
void *volatile kept;
int main(void)
{
	for (int step = 0; step < 26; step++) {
		for (int i = 0; i < 100; i++)
			kept = malloc(4096);
		if (proflaunch_step)
			proflaunch_step();
	}
}
"""


def compiled(log, text):
    source, program = os.path.join(log, "steps.c"), os.path.join(log, "steps")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    assert prof.plain(["cc", "-o", program, source, "-pthread"]).returncode == 0
    return program


def test_counters_that_are_too_far_apart_say_nothing():
    """Steps of microseconds, counters of milliseconds: that is no "no leak"."""
    with prof.folder() as log:
        program = compiled(log, STEPS)
        for malloc, status in (("count", 2), ("all", 1)):
            run = prof.launch([program], os.path.join(log, malloc), malloc=malloc,
                              schedule="wait=1,warmup=1,active=22,repeat=1")
            answer = leaks(run.only().path)
            assert answer.returncode == status, (malloc, answer.stdout, answer.stderr)


WORKER = """
#include <pthread.h>
#include <stdlib.h>
void proflaunch_step(void) __attribute__((weak));
void *volatile kept;
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		kept = malloc(64);
		free(kept);
	}
	for (int i = 0; i < 100; i++)
		kept = malloc(4096);
	return arg;
}
int main(void)
{
	for (int step = 0; step < 26; step++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
		if (proflaunch_step)
			proflaunch_step();
	}
}
"""


def test_lost_records_say_nothing():
    """A buffer that was full before the leak came is no "no leak"."""
    with prof.folder() as log:
        program = compiled(log, WORKER)
        for room, status in ((1, 2), (256, 1)):
            run = prof.launch([program], os.path.join(log, str(room)), malloc="all",
                              buffer_mb=room, schedule="wait=1,warmup=1,active=22,repeat=1")
            assert ("heap_frees" in run.only().facts["drops"]) == (room == 1)
            answer = leaks(run.only().path)
            assert answer.returncode == status, (room, answer.stdout, answer.stderr)
            assert ("larger --buffer-mb" in answer.stdout) == (room == 1), answer.stdout


def test_the_advised_buffer_holds_all():
    """What is missing is said first, and with the number that is said nothing is."""
    with prof.folder() as log:
        program = compiled(log, WORKER)
        how = {"malloc": "all", "schedule": "wait=1,warmup=1,active=22,repeat=1"}
        run = prof.launch([program], os.path.join(log, "1"), buffer_mb=1, **how)
        first = prof.plain([prof.LAUNCHER, "memory", run.only().path]).stdout.splitlines()[0]
        found = re.fullmatch(r"INCOMPLETE: [\d,]+ records are missing; "
                             r"--buffer-mb (\d+) should hold them", first)
        assert found, first
        said = re.search(r"buffer_mb = 1 was full: --buffer-mb (\d+) should hold it all", run.err)
        assert said and said[1] == found[1], (run.err, first)
        run = prof.launch([program], os.path.join(log, "2"), buffer_mb=int(found[1]), **how)
        assert not run.only().facts["drops"], run.only().facts["drops"]


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
