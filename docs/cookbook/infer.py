# SPDX-License-Identifier: Apache-2.0
"""Answer requests with a network: no DataLoader, no optimizer, for the cookbook."""
import torch

model = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True).eval()
with torch.inference_mode():
    for number in range(40):
        with torch.profiler.record_function("request"):
            answer = model(torch.randn(1, 10 + number, 64))
print("40 requests answered")
