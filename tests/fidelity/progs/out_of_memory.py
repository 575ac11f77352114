# SPDX-License-Identifier: Apache-2.0
"""Allocations that fail, large ones that do not, many small ones."""
import torch
from harness import profiled

with profiled():
    try:
        torch.empty(2 ** 58, dtype=torch.float64)
    except RuntimeError as error:
        print(type(error).__name__)
    big = torch.ones(2 ** 22)
    print(big[:10].sum().item())
    del big
    kept = [torch.zeros(n) for n in range(1, 200)]
    print(sum(t.numel() for t in kept))
    del kept[::2]
    x = torch.ones(3)
    x.resize_(5000)
    x.untyped_storage().resize_(4) if hasattr(x, "untyped_storage") else None
