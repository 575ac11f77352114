# SPDX-License-Identifier: Apache-2.0
"""flops.py profile|count|plain [FOLDER] - work with known FLOPs, the same each time.

profile: under torch.profiler, which writes FOLDER/profile.json: [[name, flops], ...] of events that have some.
count: under torch.utils.flop_counter, which writes FOLDER/count.json: {name: flops}.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function

torch.manual_seed(0)


def grown(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def products():
    x, w = grown(4, 8), grown(6, 8)
    F.linear(x, w, grown(6)).sum().backward()
    F.linear(grown(2, 3, 8), w).sum().backward()
    torch.bmm(grown(3, 4, 8), grown(3, 8, 6)).sum().backward()
    torch.baddbmm(torch.ones(3, 4, 6), grown(3, 4, 8), grown(3, 8, 6)).sum().backward()
    torch.addmm(torch.ones(4, 6), x, w.t(), out=None).sum().backward()
    torch.einsum("bij,bjk->bik", grown(2, 3, 4), grown(2, 4, 5)).sum().backward()
    torch.mm(torch.ones(0, 4), torch.ones(4, 2))
    torch.mm(torch.ones(3, 0), torch.ones(0, 3))
    torch.mm(torch.ones(4, 4).to_sparse(), torch.ones(4, 4))


def elements():
    x = torch.ones(4, 8)
    (x * 2 + x).sum()
    torch.add(torch.tensor(3.0), 1)
    torch.mul(x, torch.ones(8), out=torch.empty(4, 8))
    x.mul_(2).add_(1)
    torch.ones(0, 3) * 2
    torch.ones(2, 3, 4, 5, 6, 7, 8) + 1


def convolutions():
    image = grown(2, 4, 9, 11)
    F.conv2d(image, grown(6, 4, 3, 2), grown(6), stride=(2, 1), padding=(1, 0), dilation=(1, 2)).sum().backward()
    F.conv2d(image[0], grown(6, 4, 3, 3)).sum().backward()
    F.conv2d(image, grown(6, 4, 3, 3), padding="same").sum().backward()
    F.conv1d(grown(2, 4, 9), grown(6, 4, 3)).sum().backward()
    F.conv3d(grown(2, 4, 5, 6, 7), grown(6, 4, 3, 3, 3), padding=1).sum().backward()
    F.conv_transpose2d(image, grown(4, 6, 3, 3), stride=2).sum().backward()
    F.conv_transpose1d(grown(2, 4, 9), grown(4, 6, 3)).sum().backward()
    F.conv2d(torch.ones(2, 4, 9, 9), grown(6, 4, 3, 3)).sum().backward()


def groups():
    """flop_counter has a grouped convolution's gradient of the weight as often as there are groups."""
    F.conv2d(torch.ones(2, 4, 9, 9), torch.ones(6, 2, 3, 3), groups=2)
    F.conv_transpose2d(torch.ones(2, 4, 9, 9), torch.ones(4, 3, 3, 3), groups=2)


def attention():
    query = grown(2, 4, 16, 8)
    F.scaled_dot_product_attention(query, query, query).sum().backward()
    F.scaled_dot_product_attention(query, grown(2, 4, 10, 8), grown(2, 4, 10, 8), is_causal=True).sum().backward()
    F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)     # by products of matrices
    torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(torch.ones(2, 5, 8)).sum().backward()


def work():
    products()
    elements()
    convolutions()
    groups()
    if hasattr(F, "scaled_dot_product_attention"):
        attention()


def keep(name, what):
    with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
        json.dump(what, file)


def under_profiler():
    with profile(activities=[ProfilerActivity.CPU], with_flops=True, record_shapes=True) as p:
        with record_function("inside"):
            work()
    events = p.profiler.kineto_results.events()
    start = (lambda e: e.start_ns()) if hasattr(events[0], "start_ns") else (lambda e: e.start_us())
    keep("profile.json", [[e.name(), e.flops()] for e in sorted(events, key=start) if e.flops()])


def under_counter():
    from torch.utils import flop_counter as known
    aten = torch.ops.aten
    mode = known.FlopCounterMode(display=False, custom_mapping={
        aten._scaled_dot_product_flash_attention_for_cpu: lambda *shapes, **_: known.sdpa_flop_count(*shapes[:3]),
        aten._scaled_dot_product_flash_attention_for_cpu_backward:
            lambda *shapes, **_: known.sdpa_backward_flop_count(*shapes[:4])})
    with mode:
        work()
    keep("count.json", {str(op).replace("aten.", "aten::"): n for op, n in mode.get_flop_counts()["Global"].items()})


if __name__ == "__main__":
    {"profile": under_profiler, "count": under_counter, "plain": work}[sys.argv[1]]()
