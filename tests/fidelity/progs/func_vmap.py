# SPDX-License-Identifier: Apache-2.0
# packages: torch>=2.0
"""torch.func: vmap, grad, jacrev, functional_call over an ensemble."""
import torch
from harness import profiled
from torch.func import functional_call, grad, jacfwd, jacrev, stack_module_state, vmap

torch.manual_seed(0)
nets = [torch.nn.Linear(3, 2) for _ in range(4)]
params, buffers = stack_module_state(nets)


def loss(params, x, y):
    return (functional_call(nets[0], params, (x,)) - y).square().mean()


with profiled():
    x, y = torch.randn(5, 3), torch.randn(5, 2)
    each = vmap(vmap(grad(loss), in_dims=(None, 0, 0)), in_dims=(0, None, None))(params, x, y)
    print(round(each["weight"].sum().item(), 4))
    print(round(jacrev(torch.sin)(x[0]).sum().item(), 4),
          round(jacfwd(torch.cos)(x[0]).sum().item(), 4))
