# SPDX-License-Identifier: Apache-2.0
"""Recurrent nets: LSTM, bidirectional GRU, packed sequences, cells."""
import torch
from harness import profiled
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
lstm = torch.nn.LSTM(5, 7, num_layers=2, batch_first=True)
gru = torch.nn.GRU(7, 3, bidirectional=True, batch_first=True)
cell = torch.nn.LSTMCell(6, 4)
with profiled():
    for step in range(2):
        x = torch.randn(3, 6, 5)
        packed = pack_padded_sequence(x, torch.tensor([6, 4, 2]), batch_first=True)
        out, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        out, _ = gru(out)
        h, c = cell(out[:, 0])
        loss = (h * c).sum() + out.square().mean()
        loss.backward()
        print(round(loss.item(), 4))
