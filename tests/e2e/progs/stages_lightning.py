# SPDX-License-Identifier: Apache-2.0
"""Lightning: two epochs that are validated twice each, after its sanity check; then a test and a prediction.

PACKAGE=pytorch_lightning takes it by its other name.
"""
import importlib
import os
import sys
import tempfile

import stages_told as told
import torch

lightning = importlib.import_module(os.environ.get("PACKAGE", "lightning.pytorch"))


class Net(lightning.LightningModule):
    """None of its steps calls what it overrides."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def work(self, stage, batch):
        with told.batch(stage):
            return (self.layer(batch["x"]) - batch["labels"]).square().mean()

    def training_step(self, batch, index):
        return self.work("train", batch)

    def validation_step(self, batch, index):
        self.log("loss", self.work("validation", batch))

    def test_step(self, batch, index):
        self.work("test", batch)

    def predict_step(self, batch, index):
        return self.work("predict", batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


net = Net()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=2, val_check_interval=5, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, default_root_dir=folder)
    trainer.fit(net, told.loader("train", 10), told.loader("validation", 5))
    sys.stdout.flush()
    trainer.test(net, told.loader("test", 6), verbose=False)
    trainer.predict(net, told.loader("predict", 7))
told.say()
