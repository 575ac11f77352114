# SPDX-License-Identifier: Apache-2.0
"""A line from a laptop's debugging session stayed: one thread, whatever the machine has."""
import torch
from torch.utils.data import DataLoader, TensorDataset
import zoo


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(256 * 14, 256), torch.randint(0, 10, (256 * 14,)))
    model = zoo.mlp(wide=1536, deep=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs, labels in DataLoader(data, batch_size=256):
        zoo.train_step(model, optimizer, inputs, labels)


if __name__ == "__main__":
    main()
