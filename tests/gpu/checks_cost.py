# SPDX-License-Identifier: Apache-2.0
"""What recording costs on a real GPU, next to nothing, bare CUPTI and torch.profiler."""
import os

from common import Run, Site, bare, bare_report, check, expect, last_json, median, output
from common import quick, torch_work, work

LAUNCHES, ROUNDS, REPEAT = quick(20000), 4, quick(5)


def per_launch(env=None, mode="launch", number=LAUNCHES, rounds=ROUNDS):
    return last_json(output([work(), mode, str(number), str(rounds)], env=env).stdout)["rounds"]


def ours(name, mode="launch", number=LAUNCHES, **options):
    """(rounds before a window, in it, after it)"""
    run = Run(name, [work(), mode, str(number), "9"],
              schedule="wait=3,active=3,repeat=1", **options)
    rounds = run.json()["rounds"]
    return rounds[0:2], rounds[3:6], rounds[7:9]


@check("launch", "ns per empty kernel launch: alone, bare CUPTI, before, in and after a window")
def launch():
    found = {key: [] for key in ("alone", "subscriber", "kernels", "launches", "all calls",
                                 "before", "window", "after")}
    for turn in range(REPEAT):
        found["alone"] += per_launch()
        found["subscriber"] += per_launch(bare("none"))
        found["kernels"] += per_launch(bare("kernel"))
        found["launches"] += per_launch(bare("launches"))
        found["all calls"] += per_launch(bare("calls"))
        before, window, after = ours("launch")
        found["before"] += before
        found["window"] += window
        found["after"] += after
    result = {key: round(median(values), 1) for key, values in found.items()}
    result["window - bare CUPTI (goal 150)"] = round(result["window"] - result["launches"], 1)
    expect(result["window"] <= result["launches"] + 150, "launch: goal bare CUPTI + 150 ns missed")
    return result


@check("launch_driver", "the same for cuLaunchKernel, found by dlsym, as Triton launches")
def launch_driver():
    result = {"alone": median(per_launch(mode="driver")),
              "bare CUPTI": median(per_launch(bare("launches"), mode="driver"))}
    run = Run("launch_driver", [work(), "driver", str(quick(5000)), "6"], schedule="wait=2,active=2,repeat=1")
    rounds = run.json()["rounds"]
    trace = run.only()
    result.update(window=median(rounds[2:4]), after=median(rounds[5:]), **trace.linked())
    names = trace.names("cuda_driver", "cuda_runtime")
    result["calls"] = names
    expect(names.get("cuLaunchKernel") == 2 * quick(5000), f"launch_driver: calls {names}")
    return result


@check("after", "what stays after disabling: ns per launch and per getter, by bare CUPTI")
def after():
    result = {"getter alone": median(per_launch(mode="getters", number=quick(1000000)))}
    for kinds in ("none", "kernel", "launches", "calls"):
        result[f"getter, {kinds}"] = median(per_launch(bare(kinds), "getters", quick(1000000)))
        rounds = per_launch(bare(kinds, after="off", ms=1000), rounds=8)
        result[f"launch, {kinds}, then disabled"] = median(rounds[5:])
    return {key: round(value, 1) for key, value in result.items()}


def steps(report):
    return [value / 1e3 for value in report["ns"]]


@check("step_time", "us per training step: alone; before, in and after a window; torch.profiler")
def step_time():
    result = {}
    for mode, count in (("train", 60), ("tiny", 40), ("graph", 200)):
        command = torch_work(mode, "--steps", count)
        third = count // 4
        rows = {key: [] for key in ("alone", "before", "window", "after", "torch.profiler")}
        for _ in range(3):
            alone = steps(last_json(output(command).stdout))
            rows["alone"] += alone[third:]
            run = Run(f"step_{mode}", command, marker="torch:Optimizer.step*",
                      schedule=f"wait={2 * third},active={third},repeat=1")
            mine = steps(run.json())
            rows["before"] += mine[third:2 * third - 2]
            rows["window"] += mine[2 * third + 1:3 * third - 1]
            rows["after"] += mine[3 * third + 2:]
            path = os.path.join(Site.out, "profiler.json")
            theirs = steps(last_json(output([*command, "--profiler", path]).stdout))
            rows["torch.profiler"] += theirs[count // 2 + 2:]
            if os.path.exists(path):
                os.unlink(path)
        m = {key: round(median(values), 1) for key, values in rows.items()}
        added, theirs = m["window"] - m["alone"], m["torch.profiler"] - m["alone"]
        m["ours / torch.profiler (goal 0.7)"] = round(added / theirs, 2) if theirs > 0 else None
        expect(theirs <= 0 or added <= 0.7 * theirs or added < 0.01 * m["alone"],
               f"step_time: {mode} adds {added:.1f} us, torch.profiler {theirs:.1f}")
        result[mode] = m
    return result


@check("graph_replay", "us per launch of a graph of 1,000 kernels: alone, bare, ours by node, by graph")
def graph_replay():
    command = [work(), "graph", "1000", "200"]
    result = {"alone": last_json(output(command).stdout)["us per launch"]}
    for kinds in ("kernel", "launches"):
        result[f"bare {kinds}"] = last_json(output(command, env=bare(kinds)).stdout)["us per launch"]
        report = bare_report()
        result[f"bare {kinds}: zero times"] = report["zero"]
        result[f"bare {kinds}: dropped"] = report["dropped"]
    for way in ("node", "graph", "off"):
        run = Run(f"graph_{way}", command, schedule="wait=1,active=1,repeat=1", cuda_graphs=way)
        result[f"ours, {way}"] = run.json()["us per launch"]
        trace = run.only()
        kernels = len(trace.of("kernel"))
        result[f"ours, {way}: kernels"] = kernels
        expect(way != "node" or kernels == 200000, f"graph_replay: {kernels} of 200,000 kernels")
    return result
