# SPDX-License-Identifier: Apache-2.0
"""A GAN: generator and discriminator take turns, each with an optimizer of its own."""
import torch
from torch import nn
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    generator = nn.Sequential(
        nn.ConvTranspose2d(64, 64, 8), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
    critic = zoo.small_cnn(classes=1)
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    judge = nn.functional.binary_cross_entropy_with_logits
    for real, _ in DataLoader(zoo.Images(64 * 14), batch_size=64, shuffle=True):
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), 64, 1, 1))
        of_critic.zero_grad()
        (judge(critic(real), ones) + judge(critic(fake.detach()), zeros)).backward()
        of_critic.step()
        of_generator.zero_grad()
        judge(critic(fake), ones).backward()
        of_generator.step()


if __name__ == "__main__":
    main()
