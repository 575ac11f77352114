# SPDX-License-Identifier: Apache-2.0
# packages: lightning
"""Lightning: a fit loop with validation, forward and backward inside Optimizer.step."""
import logging
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import lightning
import torch
from harness import profiled
from torch.utils.data import DataLoader, TensorDataset


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        print("train", round(loss.item(), 4))
        return loss

    def validation_step(self, batch, index):
        print("validate", round(self.layer(batch[0]).sum().item(), 4))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)
    net = Net()
    with tempfile.TemporaryDirectory() as folder, profiled():
        lightning.Trainer(accelerator="cpu", max_epochs=1, logger=False,
                          enable_checkpointing=False, enable_progress_bar=False,
                          enable_model_summary=False, default_root_dir=folder).fit(
                              net, loader, loader)
