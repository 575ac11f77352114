# SPDX-License-Identifier: Apache-2.0
"""The whole corpus lies in memory as small objects, and gc.collect() runs in each step "to be safe"."""
import gc

import torch
import zoo


class Sentence:
    def __init__(self, number):
        self.words = [{"text": str(number + i), "sentence": self} for i in range(4)]


def main():
    torch.manual_seed(0)
    corpus = [Sentence(i) for i in range(150000)]
    model = zoo.mlp(wide=256, deep=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        zoo.train_step(model, optimizer, torch.randn(64, 256), torch.randint(0, 10, (64,)))
        gc.collect()
    print(len(corpus))


if __name__ == "__main__":
    main()
