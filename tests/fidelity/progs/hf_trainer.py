# SPDX-License-Identifier: Apache-2.0
# packages: transformers accelerate
"""Hugging Face Trainer on a tiny random model and made-up data."""
import os
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error",
                  HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")
import torch
from harness import profiled
from transformers import (BertConfig, BertForSequenceClassification, PrinterCallback, Trainer,
                          TrainingArguments)

if __name__ == "__main__":
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16))
    data = [{"input_ids": torch.randint(50, (8,)), "attention_mask": torch.ones(8).long(),
             "labels": torch.tensor(i % 2)} for i in range(12)]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model=model, train_dataset=data, eval_dataset=data[:4],
                          args=TrainingArguments(output_dir=folder, max_steps=3, use_cpu=True,
                                                 per_device_train_batch_size=4, seed=0,
                                                 report_to=[], disable_tqdm=True,
                                                 logging_strategy="no", save_strategy="no"))
        trainer.remove_callback(PrinterCallback)  # it prints times
        with profiled():
            print(round(trainer.train().training_loss, 4))
            print(round(trainer.evaluate()["eval_loss"], 4))
