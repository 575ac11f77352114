# SPDX-License-Identifier: Apache-2.0
"""Inference mode and no_grad loops, in-place work, out= arguments, views."""
import torch
from harness import profiled

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.ReLU(inplace=True),
                          torch.nn.BatchNorm1d(4)).eval()
out = torch.empty(4)
with profiled():
    with torch.inference_mode():
        print(round(net(torch.randn(2, 2, 9)).sum().item(), 4))
    with torch.no_grad():
        x = torch.zeros(4)
        for step in range(20):
            x.add_(step).mul_(0.5)
            torch.add(x, 1, out=out)
            x[1:3].copy_(out[::2])
        print(round(x.sum().item(), 4))
    state = torch.zeros(1, 3)
    for step in range(5):
        state = torch.sigmoid(state.roll(1, 1) + step)
    print(round(state.sum().item(), 4))
