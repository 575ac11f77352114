# SPDX-License-Identifier: Apache-2.0
"""A language model with torch's own LSTM."""
import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, words=2000, wide=256):
        super().__init__()
        self.embedding = nn.Embedding(words, wide)
        self.lstm = nn.LSTM(wide, wide, num_layers=2)
        self.head = nn.Linear(wide, words)

    def forward(self, tokens):
        out, _ = self.lstm(self.embedding(tokens))
        return self.head(out)


def main():
    torch.manual_seed(0)
    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(14):
        text = torch.randint(0, 2000, (36, 32))
        optimizer.zero_grad()
        scores = model(text[:-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), text[1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()


if __name__ == "__main__":
    main()
