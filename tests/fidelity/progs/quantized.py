# SPDX-License-Identifier: Apache-2.0
"""Quantization: dynamic modules, quantized tensors, fake quantization."""
import warnings

import torch
from harness import profiled

warnings.simplefilter("ignore")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
with profiled():
    x = torch.randn(4, 8)
    print(round(small(x).sum().item(), 2))
    q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    print(round(q.dequantize().sum().item(), 2), q.int_repr().sum().item())
    print(round(torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127).sum().item(), 2))
