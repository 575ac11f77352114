# SPDX-License-Identifier: Apache-2.0
"""Policy gradient on many copies of a small world that is written with tensors."""
import torch
from torch import nn
import zoo


class Carts:
    """Positions and speeds of 8192 carts; a push to the left or to the right."""

    def reset(self):
        self.state = 0.1 * torch.randn(8192, 64)
        return self.state

    def act(self, action):
        push = 0.1 * (2.0 * action[:, None] - 1.0)
        self.state = (self.state + push).clamp(-2.0, 2.0)
        return self.state, -self.state.pow(2).mean(1)


def main():
    torch.manual_seed(0)
    world, policy = Carts(), zoo.mlp(wide=192, deep=1, inputs=64, outputs=2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(14):
        state, chances, rewards = world.reset(), [], []
        for _ in range(5):
            choice = torch.distributions.Categorical(logits=policy(state), validate_args=False)
            action = choice.sample()
            chances.append(choice.log_prob(action))
            state, reward = world.act(action)
            rewards.append(reward)
        gain = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(chances) * (gain - gain.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    main()
