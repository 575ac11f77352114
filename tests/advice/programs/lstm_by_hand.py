# SPDX-License-Identifier: Apache-2.0
"""An LSTM written as the textbook writes it: gate by gate, time step by time step."""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(inputs + hidden, hidden) for _ in range(4))

    def forward(self, x, h, c):
        both = torch.cat([x, h], 1)
        i, f, o = (torch.sigmoid(gate(both)) for gate in self.gates[:3])
        c = f * c + i * torch.tanh(self.gates[3](both))
        return o * torch.tanh(c), c


class Tagger(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.cell = Cell(16, hidden)
        self.head = nn.Linear(hidden, 2)

    def forward(self, sequence):
        h = c = torch.zeros(sequence.shape[1], self.hidden)
        for x in sequence:
            h, c = self.cell(x, h, c)
        return self.head(h)


def main():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(14):
        sequence, target = torch.randn(100, 8, 16), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(sequence), target).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
