# SPDX-License-Identifier: Apache-2.0
# packages: torch>=2.1
# later begins: .*: for a fake tensor it asks Python for the shape, 30 us and more, before it looks at its clock
"""torch.export and fx: a graph is traced with fake tensors, then run."""
import torch
from harness import profiled


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.where(x > 0, self.linear(x), x).sum(0)


torch.manual_seed(0)
net = Net()
with profiled():
    program = torch.export.export(net, (torch.ones(3, 4),))
    print(round(program.module()(torch.ones(3, 4)).sum().item(), 4))
    graph = torch.fx.symbolic_trace(net)
    print(round(graph(torch.ones(2, 4)).sum().item(), 4), len(list(graph.graph.nodes)))
