# SPDX-License-Identifier: Apache-2.0
"""Closes the descriptors that it does not know, as every daemon does; then its own data."""
import os
import sys
import time

if sys.argv[2:] == ["torch"]:
    import torch
    torch.ones(4).sum()
os.closerange(3, 1024)
db = os.open("db", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.write(db, b"A" * (int(sys.argv[1]) << 20))
kept = []
for i in range(15):
    kept.append([bytearray(1000) for _ in range(2000)])
    time.sleep(0.02)
print(db)
