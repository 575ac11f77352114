# SPDX-License-Identifier: Apache-2.0
"""Tests of a small network, as a project would have them, for the cookbook."""
import torch


def train(steps):
    model = torch.nn.Linear(64, 10)
    for _ in range(steps):
        model(torch.randn(8, 64)).sum().backward()
    return model


def test_shape():
    assert train(1).weight.shape == (10, 64)


def test_gradients():
    assert train(5).weight.grad is not None
