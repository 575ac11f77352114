# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: matrix products in bfloat16, on the processor."""
import torch
from torch.utils.data import DataLoader, TensorDataset
import zoo


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randint(0, 5000, (16 * 14, 64)), torch.randint(0, 8, (16 * 14,)))
    model = zoo.Encoder()
    optimizer = torch.optim.AdamW(model.parameters())
    for tokens, labels in DataLoader(data, batch_size=16):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(tokens), labels)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
