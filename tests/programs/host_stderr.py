# SPDX-License-Identifier: Apache-2.0
"""Descriptor 2 becomes a file with data: with "full" on a disk that takes no more."""
import os
import resource
import sys

os.close(2)
assert os.open("db", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) == 2
os.write(2, b"PRECIOUS\n")
if sys.argv[1:] == ["full"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    child = os.fork()
    if not child:
        x = [bytearray(1000) for _ in range(2000)]
        os._exit(0)
    print(os.waitpid(child, 0)[1])
elif sys.argv[1:] == ["torch"]:
    import torch
    print(torch.ones(8) @ torch.ones(8))
