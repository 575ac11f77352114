# SPDX-License-Identifier: Apache-2.0
"""ranks.py, whose rank 1 is killed in the first attempt, for docs/torchrun.md."""
import os
import signal

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 10 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
dist.destroy_process_group()
