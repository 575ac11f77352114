# SPDX-License-Identifier: Apache-2.0
"""Embedding bags: offsets, per-sample weights, modes."""
import torch
from harness import profiled

torch.manual_seed(0)
with profiled():
    for mode in ("sum", "mean", "max"):
        bag = torch.nn.EmbeddingBag(10, 3, mode=mode)
        words, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4, 4])
        weights = torch.rand(8) if mode == "sum" else None
        out = bag(words, offsets, per_sample_weights=weights)
        out.sum().backward()
        print(mode, round(out.sum().item(), 4), round(bag.weight.grad.sum().item(), 4))
