# SPDX-License-Identifier: Apache-2.0
"""A compiled model gets a batch of another length in each step and is compiled for each of them."""
import torch
import zoo


def main():
    torch.manual_seed(0)
    torch._dynamo.config.recompile_limit = 64
    model = zoo.Encoder(wide=64)
    compiled = torch.compile(model, dynamic=False, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(12):
        tokens = torch.randint(0, 5000, (16, 40 + 3 * step))
        zoo.train_step(compiled, optimizer, tokens, torch.randint(0, 8, (16,)))


if __name__ == "__main__":
    main()
