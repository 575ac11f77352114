# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer: two epochs of six updates of two batches each, evaluated after each fourth; then a prediction."""
import os
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_TELEMETRY="1")
import stages_told as told
import torch
from transformers import PrinterCallback, Trainer, TrainingArguments


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        shown = self.layer(x)
        return {"loss": (shown - labels).square().mean(), "logits": shown}


class Own(Trainer):
    """None of these calls what it overrides, but the training step."""

    def training_step(self, *given):
        with told.batch("train"):
            return super().training_step(*given)

    def compute_loss(self, model, inputs, *given, **also):
        return model(**inputs)["loss"]

    def prediction_step(self, model, inputs, loss_only, ignore_keys=None):
        with told.batch(stage), torch.no_grad():
            shown = model(**inputs)
        return shown["loss"], None if loss_only else shown["logits"], None if loss_only else inputs["labels"]

    def get_train_dataloader(self):
        return self.accelerator.prepare(told.loader("train", 12))

    def get_eval_dataloader(self, data=None):
        return self.accelerator.prepare(told.loader("validation", 3))

    def get_test_dataloader(self, data):
        return self.accelerator.prepare(told.loader("predict", 5))


with tempfile.TemporaryDirectory() as folder:
    trainer = Own(model=Net(), train_dataset=told.samples(24), eval_dataset=told.samples(6),
                  args=TrainingArguments(output_dir=folder, num_train_epochs=2, use_cpu=True, report_to=[],
                                         per_device_train_batch_size=2, per_device_eval_batch_size=2,
                                         gradient_accumulation_steps=2, optim="sgd", disable_tqdm=True,
                                         eval_strategy="steps", eval_steps=4, logging_strategy="no",
                                         save_strategy="no"))
    trainer.remove_callback(PrinterCallback)  # it prints times
    stage = "validation"
    trainer.train()
    stage = "predict"
    trainer.predict(told.samples(10))
told.say()
