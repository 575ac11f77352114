# SPDX-License-Identifier: Apache-2.0
"""A thread that computes statistics in pure Python holds the interpreter's lock while the model trains."""
import threading

import torch
import zoo


def statistics(stop, counts):
    number = 0
    while not stop.is_set():
        number = (number * 1103515245 + 12345) % 2147483648
        counts[number % 64] += 1


def main():
    torch.manual_seed(0)
    stop, counts = threading.Event(), [0] * 64
    threading.Thread(target=statistics, args=(stop, counts), daemon=True).start()
    model = zoo.mlp(wide=512, deep=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(14):
        zoo.train_step(model, optimizer, torch.randn(256, 256), torch.randint(0, 10, (256,)))
    stop.set()


if __name__ == "__main__":
    main()
