#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""The heap without a marker: one window from start to end, unless torch is met."""
import os
import signal
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
BLOCKS = "x = [bytearray(100000 + i) for i in range(300)]\n"
TRAIN = BLOCKS + """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	static char *keep[300];
	int i;

	if (fork())
		return wait(&i) < 0;
	for (i = 0; i < 300; i++)
		*(volatile char *)(keep[i] = malloc(1000000)) = 1;
	return 0;
}
"""


def sites(trace):
    return trace.facts["heap"]["total"]["allocs"]


def test_any_program_is_one_window():
    for mode, least in (("all", 300), ("sample", 20)):
        with prof.folder() as log:
            run = prof.launch([sys.executable, "-c", BLOCKS], log, malloc=mode)
            trace = run.only()
            assert sites(trace) >= least, (mode, sites(trace))
            assert trace.facts["window"] == {"number": 1, "complete": True}, trace.facts["window"]
            assert "libtorch" not in run.err and "boundar" not in run.err, run.err


def test_also_one_that_is_killed():
    with prof.folder() as log:
        run = prof.launch([sys.executable, "-c", BLOCKS + "import os; os.kill(os.getpid(), 9)"],
                          log, malloc="all", check=False)
        assert run.status == -signal.SIGKILL, run.status
        assert sites(run.only()) >= 300


def test_a_child_of_one_that_allocates_little():
    with prof.folder() as log:
        program = os.path.join(log, "forks")
        built = prof.plain(["cc", "-O0", "-o", program, "-x", "c", "/dev/stdin"], input=FORKS)
        assert built.returncode == 0, built.stderr
        run = prof.launch([program], log, malloc="sample")
        assert sites(run.only()) >= 250, run.err


DAEMON = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid) {
			waitpid(pid, NULL, 0);
			_exit(0);
		}
		setsid();
	}
	for (int i = 0; i < 3000; i++)
		*(volatile char *)malloc(1000) = 1;
	return 0;
}
"""


def test_a_daemon_forks_twice():
    with prof.folder() as log:
        program = os.path.join(log, "daemon")
        built = prof.plain(["cc", "-O0", "-o", program, "-x", "c", "/dev/stdin"], input=DAEMON)
        assert built.returncode == 0, built.stderr
        run = prof.launch([program], log, malloc="all")
        assert sites(run.only()) >= 3000, run.err


def test_torch_has_its_steps_and_nothing_else():
    """Neither what was before torch, nor the shell's."""
    if not os.path.exists(PYTHON):
        raise prof.Skip("there is no PyTorch")
    with prof.folder() as log:
        run = prof.launch(["bash", "-c", 'x=$(echo a); "$@"; :', "sh", PYTHON, "-c", TRAIN], log,
                          malloc="all", buffer_mb=1024, schedule="wait=2,warmup=1,active=3,repeat=1")
        trace = run.only()
        assert trace.steps() == [3, 4, 5], trace.steps()
        assert not run.paths("children"), run.paths("children")


def test_operators_have_a_share_of_the_buffer():
    """What an import allocates would fill it many times over before the first of them."""
    if not os.path.exists(PYTHON):
        raise prof.Skip("there is no PyTorch")
    counts = []
    for options in ({"malloc": "off"}, {"malloc": "all", "buffer_mb": 4}):
        with prof.folder() as log:
            run = prof.launch([PYTHON, "-c", TRAIN], log, marker="none", **options)
            facts = run.only().facts
            assert not facts["drops"].keys() - {"heap_allocations", "heap_frees"}, facts["drops"]
            counts.append({name: facts["events"][name] for name in ("operators", "annotations")})
    assert facts["drops"]["heap_allocations"], facts["drops"]
    assert counts[0] == counts[1], counts


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
