# SPDX-License-Identifier: Apache-2.0
"""A server that gathers what came meanwhile into batches and answers them together."""
import queue
import threading

import torch
from torch.profiler import record_function
import zoo


def clients(inbox, count):
    for _ in range(count):
        inbox.put((torch.randn(256), queue.Queue()))
    inbox.put(None)


def gather(inbox, most=192):
    batch = []
    while len(batch) < most:
        request = inbox.get()
        if request is None:
            return batch, True
        batch.append(request)
    return batch, False


def main():
    torch.manual_seed(0)
    model = zoo.mlp(wide=1536, deep=4).eval()
    inbox = queue.Queue()
    source = threading.Thread(target=clients, args=(inbox, 192 * 14))
    source.start()
    source.join()
    ended = False
    while not ended:
        with record_function("request"), torch.inference_mode():
            batch, ended = gather(inbox)
            if batch:
                answers = model(torch.stack([request for request, _ in batch])).argmax(1).tolist()
                for (_, reply), answer in zip(batch, answers):
                    reply.put(answer)


if __name__ == "__main__":
    main()
