# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors: COO, CSR, sparse gradients and their optimizer."""
import warnings

import torch
from harness import profiled

warnings.simplefilter("ignore")
torch.manual_seed(0)
table = torch.nn.Embedding(20, 4, sparse=True)
optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.01)
with profiled():
    coo = torch.sparse_coo_tensor([[0, 1, 2], [2, 0, 1]], [1.0, 2.0, 3.0], (3, 3))
    dense = torch.arange(9.0).view(3, 3)
    print(torch.sparse.mm(coo, dense).sum().item(), coo.coalesce().values().sum().item())
    print((coo.to_sparse_csr() @ dense).sum().item())
    loss = table(torch.tensor([1, 3, 3, 7])).square().sum()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 4), round(table.weight.sum().item(), 4))
