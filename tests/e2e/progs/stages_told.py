# SPDX-License-Identifier: Apache-2.0
"""What a program itself says of its stages: when each of their batches was at work, and of what kind it was.

Each stage has two operators that nothing else calls, so a file shows whose batches it has: one where a batch
is loaded, one where it is worked on.
"""
import contextlib
import json
import logging
import time
import warnings

import torch

WORK = {"train": "sin", "validation": "cos", "test": "tan", "predict": "atan"}
LOAD = {"train": "sinh", "validation": "cosh", "test": "asinh", "predict": "atanh"}
spans = {}

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
torch.manual_seed(0)
torch.set_num_threads(1)


@contextlib.contextmanager
def batch(stage):
    """Around the work on one batch."""
    begin = time.time_ns()
    getattr(torch, WORK[stage])(torch.zeros(1))
    yield
    spans.setdefault(stage, []).append([begin, time.time_ns()])


def loader(stage, batches):
    """Two samples to a batch."""
    return torch.utils.data.DataLoader(samples(2 * batches), batch_size=2, collate_fn=collator(stage))


def samples(count):
    return [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(count)]


def collator(stage):
    def collate(rows):
        getattr(torch, LOAD[stage])(torch.zeros(1))
        return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
    return collate


def say():
    print(json.dumps({stage: {"batches": len(of), "spans": of} for stage, of in spans.items()}))
