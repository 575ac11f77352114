#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_path.py FOLDER LONGEST - HTA's critical path through cuda_work's mode `path`, by hand.

In a step two streams are at work, and the program waits for one, then for the other:

    call      alpha  beta    alpha  wait    gamma  wait    gamma  wait for all
    stream    1      2       1      for 1   1      for 2   1

With LONGEST beta the path runs through beta, else through both alphas. What is on it is
written down below; edges and their lengths must be those, and their sum the path's.
"""
import glob
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from gpu_trace import Trace  # noqa: E402

CALLS = ["cudaLaunchKernel"] * 3 + ["cudaStreamSynchronize", "cudaLaunchKernel"] * 2 + \
    ["cudaDeviceSynchronize"]
RUNS, AFTER, LAUNCH, WAITS, NEXT = ("OPERATOR_KERNEL", "DEPENDENCY", "KERNEL_LAUNCH_DELAY",
                                    "SYNC_DEPENDENCY", "KERNEL_KERNEL_DELAY")


def by_hand(calls, work, longest):
    """(kind of edge, ns, from, to) - a wait for the GPU and what follows it take no time."""
    first, second, third, wait, fourth, other, fifth, _ = calls
    alpha, beta, again, gamma, last = (work[c.correlation] for c in
                                       (first, second, third, fourth, fifth))
    if longest == "beta":
        return [(RUNS, first.length, first, first),  # the second launch is after the first
                (AFTER, 0, first, second),
                (LAUNCH, beta.begin - second.begin, second, beta),
                (RUNS, beta.length, beta, beta),
                (WAITS, 0, beta, other),
                (AFTER, 0, other, fifth),
                (LAUNCH, last.begin - fifth.begin, fifth, last),
                (RUNS, last.length, last, last)]
    return [(LAUNCH, alpha.begin - first.begin, first, alpha),
            (RUNS, alpha.length, alpha, alpha),
            (NEXT, again.begin - alpha.end, alpha, again),
            (RUNS, again.length, again, again),
            (WAITS, 0, again, wait),
            (AFTER, 0, wait, fourth),
            (LAUNCH, gamma.begin - fourth.begin, fourth, gamma),
            (RUNS, gamma.length, gamma, gamma),
            (NEXT, last.begin - gamma.end, gamma, last),
            (RUNS, last.length, last, last)]


def theirs(analysis, instance):
    graph, fine = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep",
                                                  instance_id=instance)
    assert fine, instance
    table = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()

    def event(node):
        row = table.loc[graph.node_list[node].ev_idx]
        return names[row["name"]], int(row["correlation"])

    nodes = graph.critical_path_nodes
    edges = [(graph.edges[u, v]["object"], event(u), event(v)) for u, v in zip(nodes, nodes[1:])]
    return [(edge.type.name, 1000 * edge.weight, one, other) for edge, one, other in edges]


def check(wanted, found):
    """Its times are floats: a part of a nanosecond is lost."""
    problems = []
    wanted = [(kind, ns, (a.name, a.correlation), (b.name, b.correlation))
              for kind, ns, a, b in wanted]
    if [(kind, *ends) for kind, _, *ends in wanted] != [(kind, *ends) for kind, _, *ends in found]:
        problems.append(f"by hand {wanted}, HTA says {found}")
    for mine, other in zip(wanted, found):
        if abs(mine[1] - other[1]) > 1:
            problems.append(f"by hand {mine}, HTA says {other}")
    length, total = sum(edge[1] for edge in wanted), sum(edge[1] for edge in found)
    if abs(length - total) > len(wanted):
        problems.append(f"length by hand {length}, HTA says {total}")
    return problems


def main(folder, longest):
    from hta.trace_analysis import TraceAnalysis

    (path,) = glob.glob(os.path.join(folder, "*.json"))
    trace = Trace(path)
    work = {w.correlation: w for w in trace.work}
    analysis = TraceAnalysis(trace_dir=folder)
    problems = []
    # HTA leaves the last step out.
    for instance, step in enumerate(trace.steps[:-1]):
        calls = [c for c in trace.calls if step.begin <= c.begin < step.end]
        assert [c.name for c in calls] == CALLS, [c.name for c in calls]
        problems += check(by_hand(calls, work, longest), theirs(analysis, instance))
    for problem in problems[:10]:
        print(problem)
    print(f"HTA: the critical path of {len(trace.steps) - 1} steps, by {longest}; "
          f"{len(problems)} differences")
    return 1 if problems or len(trace.steps) < 3 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
