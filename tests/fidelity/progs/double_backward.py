# SPDX-License-Identifier: Apache-2.0
"""Gradients of gradients: gradient penalty, Hessian rows, retained graphs."""
import torch
from harness import profiled

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
with profiled():
    x = torch.randn(4, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).square().mean()
    penalty.backward(retain_graph=True)
    penalty.backward()
    print(round(penalty.item(), 4), round(x.grad.sum().item(), 4))
    z = torch.randn(3, requires_grad=True)
    print([round(v, 3) for v in
           torch.autograd.functional.hessian(lambda v: (v ** 3).sum(), z).diagonal().tolist()])
    print(torch.autograd.functional.jacobian(lambda v: v.cumsum(0), z).sum().item())
