# SPDX-License-Identifier: Apache-2.0
"""linger.py [torch] - says ready, then works for some seconds without opening anything."""
import os
import sys
import threading
import time

work = lambda: [bytearray(1000) for _ in range(500)]
if sys.argv[1:] == ["torch"]:
    import torch
    work = lambda: torch.ones(64, 64).mm(torch.ones(64, 64)).sum()
    work()


def loop():
    until = time.monotonic() + 4
    while time.monotonic() < until:
        work()
        time.sleep(0.001)


threads = [threading.Thread(target=loop) for _ in range(2)]
for thread in threads:
    thread.start()
print("ready", os.getpid(), flush=True)
loop()
for thread in threads:
    thread.join()
