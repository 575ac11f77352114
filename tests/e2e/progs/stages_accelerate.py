# SPDX-License-Identifier: Apache-2.0
"""Accelerate: a loop as its own examples have it; two epochs of eight batches, each validated on four.

HOW=frozen: a part of the model is set to evaluation for good, after train(). HOW=transformers: a model of that
package's kind, whose eval() is its own.
"""
import os

import stages_told as told
import torch
from accelerate import Accelerator

HOW = os.environ.get("HOW")


def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1), torch.nn.Linear(4, 1))


def pretrained():
    from transformers import PretrainedConfig, PreTrainedModel

    class Net(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self):
            super().__init__(PretrainedConfig())
            self.net = net()

        def forward(self, x):
            return self.net(x)
    return Net()


accelerator = Accelerator(cpu=True)
model = pretrained() if HOW == "transformers" else net()
model, optimizer, train_loader, eval_loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.1), told.loader("train", 8), told.loader("validation", 4))
for epoch in range(2):
    model.train()
    if HOW == "frozen":
        model[0].eval()
    for batch in train_loader:
        with told.batch("train"):
            loss = (model(batch["x"]) - batch["labels"]).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    losses = []
    for batch in eval_loader:
        with told.batch("validation"), torch.no_grad():
            loss = (model(batch["x"]) - batch["labels"]).square()
        losses.append(accelerator.gather_for_metrics(loss))
told.say()
