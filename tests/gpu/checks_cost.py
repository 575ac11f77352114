# SPDX-License-Identifier: Apache-2.0
"""What recording costs on a real GPU, next to nothing, bare CUPTI and torch.profiler."""
import os

from common import HERE, Run, Site, Skip, bare, bare_report, check, expect, goal, last_json, median
from common import on_cudart, output, quick, torch_work, work

LAUNCHES, ROUNDS, REPEAT = quick(20000), 4, 2
WINDOW = {"schedule": "wait=3,active=3,repeat=1"}  # of nine rounds


def per_launch(env=None, mode="launch", number=LAUNCHES, rounds=ROUNDS):
    return last_json(output([work(), mode, str(number), str(rounds)], env=env).stdout)["rounds"]


def parts(rounds):
    """Nine rounds: before a window, in it (its first may still start something), after it."""
    return {"before": rounds[0:2], "window": rounds[3:6], "after": rounds[7:9]}


def recorded(name, kinds, kernels):
    """What bare CUPTI costs is worth something only where it has recorded."""
    found = bare_report()["records"]
    expect(kinds == "none" or found.get("10", 0) >= kernels, f"{name}, bare {kinds}: {found} of {kernels}")
    expect(kinds in ("none", "kernel") or found.get("5", 0) + found.get("4", 0) >= kernels,
           f"{name}, bare {kinds}: calls {found} of {kernels}")


def gather(found, more):
    for key, values in more.items():
        found.setdefault(key, []).extend(values)


def medians(found):
    return {key: round(median(values), 1) for key, values in found.items()}


@check("launch", "ns per empty kernel launch: alone, bare CUPTI, before, in and after a window")
def launch():
    found = {}
    for _ in range(REPEAT):
        gather(found, {"alone": per_launch()})
        for name, kinds in (("subscriber", "none"), ("kernels", "kernel"), ("launches", "launches"),
                            ("all calls", "calls")):
            gather(found, {name: per_launch(bare(kinds))})
            recorded("launch", kinds, ROUNDS * LAUNCHES)
        run = Run("launch", [work(), "launch", str(LAUNCHES), "9"], **WINDOW)
        gather(found, parts(run.json()["rounds"]))
    kernels = len(run.only().of("kernel"))
    expect(kernels == 3 * LAUNCHES, f"launch: ours has {kernels} of {3 * LAUNCHES} kernels")
    result = medians(found)
    result["window - bare CUPTI (goal 150)"] = round(result["window"] - result["launches"], 1)
    goal(result["window"] <= result["launches"] + 150,
         f"launch: {result['window - bare CUPTI (goal 150)']} ns more than bare CUPTI, the goal is 150")
    return result


@check("launch_torch", "ns per empty kernel launch in a process with torch: alone, torch.profiler, ours")
def launch_torch():
    if not Site.torch.get("cuda") and not (Site.fake and Site.torch.get("version")):
        raise Skip(Site.torch.get("why", "no torch with CUDA"))
    library = on_cudart("work.so", "work.c", "-shared", "-fPIC")
    command = [Site.python, os.path.join(HERE, "torch_launch.py"), library, str(LAUNCHES), "9"]
    found = {}
    for _ in range(REPEAT):
        theirs = parts(last_json(output([*command, "--profiler"]).stdout)["rounds"])
        gather(found, {"alone": theirs["before"], "torch.profiler": theirs["window"],
                       "after torch.profiler": theirs["after"]})
        run = Run("launch_torch", command, **WINDOW)
        mine = parts(run.json()["rounds"])
        gather(found, {"ours, before": mine["before"], "ours": mine["window"], "ours, after": mine["after"]})
        kernels = len(run.only().of("kernel"))
        expect(kernels == 3 * LAUNCHES, f"launch_torch: {kernels} of {3 * LAUNCHES} kernels")
    return {**medians(found), **added("launch_torch", medians(found), "ours", "ns")}


def added(name, m, ours, unit):
    """What is added to `alone`, ours and torch.profiler's: the goal is 0.7 of theirs."""
    mine, theirs = m[ours] - m["alone"], m["torch.profiler"] - m["alone"]
    goal(theirs <= 0 or mine <= 0.7 * theirs or mine < 0.01 * m["alone"],
         f"{name}: ours adds {mine:.1f} {unit}, torch.profiler {theirs:.1f}")
    return {"added by torch.profiler": round(theirs, 1), "added by us": round(mine, 1),
            "ours / torch.profiler (goal 0.7)": round(mine / theirs, 2) if theirs > 0 else None}


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


def left_over(kinds, how):
    """Eight rounds of launches, `kinds` on for the first few: what is left of the cost."""
    rounds = last_json(output([work(), "launch", str(LAUNCHES), "8"],
                              env=bare(kinds, after=how, ms=900), fail=False).stdout)["rounds"]
    report = bare_report()
    result, when, ended = report["left"]
    calls, kernels = (report["records"].get(kind, 0) for kind in ("5", "10"))
    expect(result == 0, f"after, {kinds}, {how}: CUPTI says {result}")
    for name, number in (("calls", calls), ("kernels", kernels)):
        expect(number > LAUNCHES or name == "calls" and kinds == "kernel",
               f"after, {kinds}, {how}: {number} {name}: never on")
        expect(number <= 7 * LAUNCHES, f"after, {kinds}, {how}: {number} {name} of {8 * LAUNCHES}: still on")
    return {"with": round(median(rounds[1:3]), 1), "then": round(median(rounds[6:]), 1),
            "left after ms": when, "ended": bool(ended), "calls": calls, "kernels": kernels}


@check("after", "8.3: getters, by bare CUPTI; what stays after disable, unsubscribe and finalize")
def after():
    getters = quick(1000000)
    result = {"getter alone": round(median(per_launch(mode="getters", number=getters)), 1),
              "launch alone": round(median(per_launch()), 1)}
    for kinds in ("none", "kernel", "launches", "calls"):
        result[f"getter, {kinds}"] = round(median(per_launch(bare(kinds), "getters", getters)), 1)
    for kinds in ("kernel", "launches", "calls"):
        for how in ("off", "unsubscribe", "finalize"):
            result[f"launch, {kinds}, then {how}"] = left_over(kinds, how)
    return result


def steps(report):
    return [value / 1e3 for value in report["ns"]]


@check("step_time", "us per training step: alone; before, in and after a window; torch.profiler")
def step_time():
    """Both keep operators, calls and GPU work, without shapes, memory or stacks."""
    result = {}
    for mode, count, turns in (("train", 60, 1), ("tiny", 40, 2), ("graph", 200, 1)):
        command = torch_work(mode, "--steps", count)
        third, rows = count // 4, {}
        for _ in range(turns):
            path = os.path.join(Site.out, "profiler.json")
            theirs = steps(last_json(output([*command, "--profiler", path]).stdout))
            # Its first half runs without anything: that is `alone`.
            gather(rows, {"alone": theirs[third:count // 2], "torch.profiler": theirs[count // 2 + 2:]})
            run = Run(f"step_{mode}", command, marker="torch:Optimizer.step*",
                      schedule=f"wait={2 * third},active={third},repeat=1")
            mine = steps(run.json())
            kernels = len(run.only().of("kernel"))
            expect(kernels >= third, f"step_time, {mode}: {kernels} kernels in a window of {third} steps")
            gather(rows, {"before": mine[third:2 * third - 2], "window": mine[2 * third + 1:3 * third - 1],
                          "after": mine[3 * third + 2:]})
            if os.path.exists(path):
                os.unlink(path)
        m = medians(rows)
        result[mode] = {**m, **added(f"step_time, {mode}", m, "window", "us")}
    return result


@check("graph_replay", "us per launch of a graph of 1,000 kernels: alone, bare, ours by node, by graph")
def graph_replay():
    launches = quick(100)
    command = [work(), "graph", "1000", str(launches)]
    result = {"alone": last_json(output(command).stdout)["us per launch"]}
    for kinds in ("kernel", "launches"):
        result[f"bare {kinds}"] = last_json(output(command, env=bare(kinds)).stdout)["us per launch"]
        report = bare_report()
        kernels = report["records"].get("10", 0)
        expect(kernels + report["dropped"] > 1000 * launches, f"graph_replay, bare {kinds}: {kernels} kernels")
        result[f"bare {kinds}: zero times"] = report["zero"]
        result[f"bare {kinds}: dropped"] = report["dropped"]
    for way in ("node", "graph", "off"):
        run = Run(f"graph_{way}", command, schedule="wait=1,active=1,repeat=1", cuda_graphs=way)
        result[f"ours, {way}"] = run.json()["us per launch"]
        kernels = len(run.only().of("kernel"))
        result[f"ours, {way}: kernels"] = kernels
        expect(way != "node" or kernels == 1000 * launches,
               f"graph_replay: {kernels} of {1000 * launches} kernels")
    return result
