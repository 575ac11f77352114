# SPDX-License-Identifier: Apache-2.0
"""A GAN: two networks, two optimizers, detached samples."""
import torch
from harness import profiled

torch.manual_seed(0)
maker = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.LeakyReLU(0.2),
                            torch.nn.Linear(16, 8), torch.nn.Tanh())
judge = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LeakyReLU(0.2),
                            torch.nn.Linear(16, 1))
making = torch.optim.Adam(maker.parameters(), lr=2e-3, betas=(0.5, 0.999))
judging = torch.optim.Adam(judge.parameters(), lr=2e-3)
score = torch.nn.BCEWithLogitsLoss()
with profiled():
    for step in range(3):
        real, fake = torch.randn(8, 8), maker(torch.randn(8, 4))
        judging.zero_grad()
        first = score(judge(real), torch.ones(8, 1)) + score(judge(fake.detach()),
                                                             torch.zeros(8, 1))
        first.backward()
        judging.step()
        making.zero_grad()
        second = score(judge(fake), torch.ones(8, 1))
        second.backward()
        making.step()
        print(round(first.item(), 4), round(second.item(), 4))
