# SPDX-License-Identifier: Apache-2.0
"""Eight Python threads; forward in one, backward in another."""
import queue
import threading

import torch
from harness import profiled
from torch.profiler import record_function

torch.manual_seed(0)
results, handed = {}, queue.Queue()


def work(number):
    with record_function(f"thread {number}"):
        x = torch.full((number + 2, 4), 0.5, requires_grad=True)
        y = (x * number).tanh().sum()
        if number % 2:
            handed.put((number, x, y))
        else:
            y.backward()
            results[number] = x.grad.sum().item()


with profiled(all_threads=True):
    threads = [threading.Thread(target=work, args=(n,), name=f"work{n}") for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while not handed.empty():
        number, x, y = handed.get()
        y.backward()
        results[number] = x.grad.sum().item()
for number in sorted(results):
    print(number, round(results[number], 4))
