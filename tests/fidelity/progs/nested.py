# SPDX-License-Identifier: Apache-2.0
"""Nested (ragged) tensors in both layouts."""
import warnings

import torch
from harness import profiled

warnings.simplefilter("ignore")
torch.manual_seed(0)
parts = [torch.randn(2, 4), torch.randn(5, 4), torch.randn(1, 4)]
linear = torch.nn.Linear(4, 3)
# Before 2.4 no gradient goes through the values of a jagged tensor.
jagged_learns = [int(part) for part in torch.__version__.split(".")[:2]] >= [2, 4]
with profiled():
    strided = torch.nested.nested_tensor(parts)
    print(round(torch.nested.to_padded_tensor(linear(strided), 0.0).sum().item(), 4))
    if jagged_learns:
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
        out = torch.nn.functional.gelu(linear(jagged))
        out.values().sum().backward()
        print(round(linear.weight.grad.sum().item(), 4))
