# SPDX-License-Identifier: Apache-2.0
"""record_function in every form: nested, decorating, odd names, left open in between."""
import torch
from harness import profiled
from torch.profiler import record_function


@record_function("decorated")
def decorated(x):
    with record_function("inner"):
        return x * 2


x = torch.ones(3, requires_grad=True)
with profiled():
    with record_function("outer"):
        for depth in range(3):
            with record_function(f"loop {depth}"):
                x = decorated(x)
                with record_function("empty"):
                    pass
    with record_function("around backward"):
        x.sum().backward()
    with record_function("with arguments", "epoch 3, batch 17"):
        x.detach() + 1
    deep = [record_function(f"level {level}") for level in range(40)]
    for one in deep:
        one.__enter__()
    torch.zeros(1)
    for one in reversed(deep):
        one.__exit__(None, None, None)
    print(x.sum().item())
# torch.profiler's own file is no JSON with these; ours is, and Perfetto opens it.
for name in ("\\", "ends\\", "ends twice\\\\", "quoted \\\"", "\"", "\\ \n\t]}"):
    with record_function(name):
        with record_function("with odd arguments", name):
            torch.zeros(1)
