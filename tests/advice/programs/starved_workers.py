# SPDX-License-Identifier: Apache-2.0
"""One worker reads from slow storage; the model is ready for the next batch long before."""
import time

import torch
from torch.utils.data import DataLoader
import zoo


class NetworkImages(zoo.Images):
    """Each sample is a file on a share that answers after four milliseconds."""

    def __getitem__(self, index):
        time.sleep(0.004)
        return super().__getitem__(index)


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(NetworkImages(48 * 14), batch_size=48, num_workers=1, shuffle=True)
    for images, labels in loader:
        zoo.train_step(model, optimizer, images, labels)


if __name__ == "__main__":
    main()
