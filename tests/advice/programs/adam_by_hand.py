# SPDX-License-Identifier: Apache-2.0
"""Adam written by hand: nine small operators for each of three hundred small tensors."""
import torch
from torch import nn


class MyAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                m, v = state["m"], state["v"]
                m.mul_(first).add_(p.grad * (1 - first))
                v.mul_(second).add_(p.grad * p.grad * (1 - second))
                p.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))


def main():
    torch.manual_seed(0)
    blocks = []
    for _ in range(75):
        blocks += [nn.Linear(16, 16), nn.LayerNorm(16), nn.ReLU()]
    model = nn.Sequential(*blocks, nn.Linear(16, 4))
    optimizer = MyAdam(model.parameters())
    for _ in range(14):
        inputs, labels = torch.randn(32, 16), torch.randint(0, 4, (32,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
