# SPDX-License-Identifier: Apache-2.0
"""Functions of the script's own: twelve steps of training, three of validation after each fourth, within train().

HOW=raises: the second validation ends by an exception, which train() catches.
"""
import os

import stages_told as told
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
raises = os.environ.get("HOW") == "raises"


def loss_of(batch):
    return (model(batch["x"]) - batch["labels"]).square().mean()


def train_step(batch):
    with told.batch("train"):
        optimizer.zero_grad()
        loss_of(batch).backward()
        optimizer.step()


def validate_step(batch):
    with told.batch("validation"), torch.no_grad():
        return loss_of(batch).item()


def begin_validation():
    model.eval()


def end_validation():
    model.train()


def validate(visit):
    begin_validation()
    for batch in told.loader("validation", 3):
        validate_step(batch)
    if raises and visit == 1:
        raise ArithmeticError
    end_validation()


def train():
    for number, batch in enumerate(told.loader("train", 12)):
        train_step(batch)
        if number % 4 == 3:
            try:
                validate(number // 4)
            except ArithmeticError:
                pass


train()
told.say()
