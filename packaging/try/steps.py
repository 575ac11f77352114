#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py [torch] - two turns of a loop; steps.py check TRACE [torch] - whether a trace of it is as it should be.

Without torch a turn ends with os.getloadavg(): that is what `--marker symbol:getloadavg` waits for.
"""
import json
import os
import re
import sys


def plain():
    kept = []
    for turn in range(2):
        kept.append([bytes(9000 + i) for i in range(2000)])
        os.getloadavg()
        print("turn", turn)


def trains():
    import torch
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        print("turn", turn)


def check(path, wanted):
    with open(path) as file:
        text = file.read()
    events = json.loads(text)["traceEvents"]
    steps = sorted({event["name"] for event in events if event.get("name", "").startswith("ProfilerStep#")})
    if steps != ["ProfilerStep#0", "ProfilerStep#1"]:
        sys.exit("steps in the trace: %s" % (" ".join(steps) or "none"))
    lost = [want for want in wanted if not re.search(want, text)]
    if lost:
        sys.exit("not in the trace: " + " ".join(lost))
    print(len(events), "events")


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2], ["aten::addmm", "AddmmBackward"] if sys.argv[3:] else [r"steps\.py\(\d+\): plain"])
elif sys.argv[1:]:
    trains()
else:
    plain()
