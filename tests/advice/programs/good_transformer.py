# SPDX-License-Identifier: Apache-2.0
"""A transformer that classifies texts of one length."""
import torch
from torch.utils.data import DataLoader, TensorDataset
import zoo


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randint(0, 5000, (16 * 14, 96)), torch.randint(0, 8, (16 * 14,)))
    model = zoo.Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for tokens, labels in DataLoader(data, batch_size=16):
        zoo.train_step(model, optimizer, tokens, labels)


if __name__ == "__main__":
    main()
