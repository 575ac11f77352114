# SPDX-License-Identifier: Apache-2.0
"""Every dtype and memory format, views with odd strides, many dimensions."""
import torch
from harness import profiled

torch.manual_seed(0)
names = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
         "float64", "complex64", "complex128", "bool", "float8_e4m3fn", "float8_e5m2",
         "uint16", "uint32", "uint64", "complex32"]
with profiled():
    for name in names:
        if hasattr(torch, name):
            x = torch.ones(2, 3).to(getattr(torch, name))
            x.t().clone(), x[:, ::2].view(torch.uint8 if x.element_size() == 1 else x.dtype)
            x.to(torch.float32 if not x.is_complex() else torch.complex64)
    image = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    torch.nn.functional.conv2d(image, torch.randn(4, 3, 1, 1)).sum()
    video = torch.randn(1, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last_3d)
    (video + 1).flip(4).transpose(1, 3).mul(2), image.diagonal(0, 2, 3).neg()
    (torch.zeros(1).expand(6, 5) + torch.ones(5).as_strided((6, 5), (0, 1))).cos()
    torch.randn(2, 1, 2, 1, 2, 1, 2, 1).squeeze().movedim(0, 3).reshape(4, -1).abs()
print(round(image.sum().item(), 3))
