# SPDX-License-Identifier: Apache-2.0
"""Every third step writes the model and the optimizer to disk, and training waits for it."""
import os
import tempfile

import torch
import zoo


def main():
    torch.manual_seed(0)
    model = zoo.mlp(wide=1024, deep=6)
    optimizer = torch.optim.Adam(model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        for step in range(14):
            zoo.train_step(model, optimizer, torch.randn(16, 256), torch.randint(0, 10, (16,)))
            if step % 3 == 0:
                path = os.path.join(folder, "model.pt")
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
                with open(path, "rb") as file:
                    os.fsync(file.fileno())


if __name__ == "__main__":
    main()
