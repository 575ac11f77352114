# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: einsum with and without paths, decompositions, batched products."""
import torch
from harness import profiled

torch.manual_seed(0)
a, b, c = torch.randn(2, 3, 4), torch.randn(4, 5), torch.randn(5, 2, requires_grad=True)
with profiled():
    print(round(torch.einsum("bij,jk,kl->bil", a, b, c).sum().item(), 3))
    print(round(torch.einsum("...ij,...kj->...ik", a, a).diagonal(0, 1, 2).sum().item(), 3))
    torch.einsum("ij,jk->", b, c).backward()
    print(round(c.grad.sum().item(), 3))
    u, s, v = torch.linalg.svd(b)
    q, r = torch.linalg.qr(b)
    print(round(s.sum().item(), 3), round(torch.linalg.det(b.T @ b + torch.eye(5)).item(), 2))
    print(round(torch.linalg.solve(torch.eye(4) * 2, b).sum().item(), 3),
          round(torch.baddbmm(a, a, torch.randn(2, 4, 4), beta=0.5, alpha=2).sum().item(), 3))
    print(torch.tensordot(a, b, dims=([2], [0])).shape, torch.chain_matmul(b, c, c.T).shape)
