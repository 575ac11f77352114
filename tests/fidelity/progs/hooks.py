# SPDX-License-Identifier: Apache-2.0
"""Hooks of every kind; operators run inside all of them."""
import torch
from harness import profiled

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
seen = []
net[0].register_forward_hook(lambda module, args, out: out * 2)
net[2].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
net[2].register_full_backward_hook(
    lambda module, into, out: seen.append(round(out[0].sum().item(), 3)))
x = torch.randn(2, 3, requires_grad=True)
x.register_hook(lambda grad: grad * 3)
if hasattr(x, "register_post_accumulate_grad_hook"):
    net[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(
        round(p.grad.sum().item(), 3)))
with profiled():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda t: t.float()):
        y = net(x).sum()
    y.backward()
    with torch.autograd.detect_anomaly(check_nan=True):
        (x * 2).sum().backward()
    print(seen, round(x.grad.sum().item(), 4))
