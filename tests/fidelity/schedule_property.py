#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our schedule against torch.profiler.schedule itself, over thousands of random plans.

usage: schedule_property.py build/prog/schedule_at [plans] [seed]

Each plan is asked for the action of every step, and both sides must refuse the same
plans. Exit status 1 and the first plans that differ when they do not agree.
"""
import random
import subprocess
import sys
import warnings

from torch.profiler import schedule

STEPS = 80
KEYS = ("skip_first", "wait", "warmup", "active", "repeat", "skip_first_wait")


def random_plan(rng):
    plan = {key: rng.choice((0, 0, 1, 1, 2, 3, 5, 11)) for key in KEYS}
    if rng.random() < 0.1:
        plan[rng.choice(KEYS)] = rng.choice((17, 40, 79, 80, 1000))
    left_out = [key for key in KEYS if key != "active" and plan[key] == 0]
    for key in left_out:
        if rng.random() < 0.5:
            del plan[key]
    return plan


def known_to_torch(plan):
    """Older torch has no skip_first_wait."""
    try:
        schedule(wait=0, warmup=0, active=1, skip_first_wait=0)
        return True
    except TypeError:
        return "skip_first_wait" not in plan


def by_torch(plan):
    full = {"wait": 0, "warmup": 0, **plan}
    try:
        action = schedule(**full)
    except AssertionError:
        return "refused"
    return "".join(str(action(step).value) for step in range(STEPS))


def by_us(program, plans, rng):
    lines = []
    for plan in plans:
        pairs = [f"{key}={value}" for key, value in plan.items()]
        rng.shuffle(pairs)
        lines.append(f"{STEPS} " + ",".join(pairs))
    done = subprocess.run([program], input="\n".join(lines) + "\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.splitlines()


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(2 ** 32)
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plans = [plan for plan in (random_plan(rng) for _ in range(count))
                 if known_to_torch(plan)]
        want = [by_torch(plan) for plan in plans]
    got = by_us(program, plans, rng)
    bad = [item for item in zip(plans, want, got) if item[1] != item[2]]
    for plan, torchs, ours in bad[:5]:
        print(f"{plan}\n  torch {torchs}\n  ours  {ours}")
    refused = want.count("refused")
    print(f"{len(plans)} plans, {refused} of them refused, {STEPS} steps each, seed {seed}: "
          f"{len(bad)} differ")
    sys.exit(bool(bad) or len(got) != len(plans) or not 0 < refused < len(plans) // 2)


if __name__ == "__main__":
    main()
