# SPDX-License-Identifier: Apache-2.0
"""One encoder and one decoder layer with masks, AdamW, clipped gradients."""
import torch
from harness import profiled

torch.manual_seed(0)
model = torch.nn.Transformer(d_model=32, nhead=4, num_encoder_layers=1,
                             num_decoder_layers=1, dim_feedforward=64, batch_first=True)
head, embed = torch.nn.Linear(32, 11), torch.nn.Embedding(11, 32)
params = [*model.parameters(), *head.parameters(), *embed.parameters()]
optimizer = torch.optim.AdamW(params, lr=1e-3)
mask = model.generate_square_subsequent_mask(7)
with profiled():
    for step in range(2):
        text = torch.randint(11, (4, 8))
        out = head(model(embed(text), embed(text[:, :-1]), tgt_mask=mask))
        loss = torch.nn.functional.cross_entropy(out.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        print(round(loss.item(), 4))
    model.eval()
    with torch.no_grad():
        print(round(model(embed(text), embed(text)).sum().item(), 3))
