# SPDX-License-Identifier: Apache-2.0
"""Arguments of every kind: long lists, None, strings, undefined tensors, many numbers."""
import torch
from harness import profiled

torch.manual_seed(0)
x = torch.arange(24.0).view(2, 3, 4)
with profiled():
    torch.cat([torch.ones(1, 2)] * 40)
    torch.stack([x[0], x[1]], -1)
    x.permute(2, 0, 1).contiguous(memory_format=torch.contiguous_format)
    torch.split(x, [1, 2], 1)
    x.index_put((torch.tensor([0]), torch.tensor([1])), torch.tensor(5.0))
    x[:, None, ..., 1::2]
    torch.nn.functional.interpolate(x[None], scale_factor=(2.0, 1.5), mode="bilinear")
    torch.nn.functional.pad(x, (1, -1, 0, 2), value=float("-inf"))
    torch.full((2,), float("nan")), torch.full((1,), 1e300, dtype=torch.double)
    torch.full((2,), 2 ** 62), torch.full((2,), True), torch.full((), -0.0)
    torch.clamp(x, min=None, max=3), torch.clamp(x, 1e-7, 1.0000001)
    torch.arange(0, 1, 0.1, dtype=torch.float64), torch.arange(-(2 ** 40), 2 ** 40, 2 ** 38)
    torch.bucketize(x, torch.tensor([1.0, 5.0]), out_int32=True)
    torch.div(x, 3, rounding_mode="floor"), torch.empty(0, 3).sum(0)
    torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    torch.zeros([1] * 12), torch.zeros(2, 0, 3), torch.tensor(3).expand(2, 3)
    torch.randperm(5, generator=torch.Generator().manual_seed(1))
    torch.nn.functional.layer_norm(x, (4,)), torch.nn.functional.layer_norm(x, (4,), x[0, 0])
    torch.repeat_interleave(x, 2, dim=1), x.unfold(2, 2, 1), x.as_strided((2, 2), (1, 4), 3)
    torch.quantile(x, torch.tensor([0.25, 0.75])), torch.histc(x, 4, 0, 23)
    torch.searchsorted(torch.arange(5), torch.tensor([2]), side="right")
    torch.rand(3, 3).to("cpu", torch.float16, non_blocking=True, copy=True)
    torch.where(x > 3), torch.nonzero(x), x.unique(return_counts=True)
    torch.zeros([1] * 31), torch.ones(2).repeat(*[1] * 35)
print(x.sum().item())
