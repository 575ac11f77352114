# SPDX-License-Identifier: Apache-2.0
"""A compiled model with batches of one shape: it is compiled once, before the measured steps."""
import torch
import zoo


def main():
    torch.manual_seed(0)
    model = zoo.mlp(wide=1024, deep=3)
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(14):
        zoo.train_step(compiled, optimizer, torch.randn(128, 256), torch.randint(0, 10, (128,)))


if __name__ == "__main__":
    main()
