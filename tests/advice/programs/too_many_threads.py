# SPDX-License-Identifier: Apache-2.0
"""Eight request threads, and each of them has its operators run on sixteen more."""
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.profiler import record_function
import zoo


def answer(model, request):
    with torch.inference_mode():
        return model(request).argmax(1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(16)
    model = zoo.mlp(wide=768, deep=3).eval()
    requests = [torch.randn(192, 256) for _ in range(24)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(12):
            with record_function("iteration"):
                list(pool.map(lambda request: answer(model, request), requests))


if __name__ == "__main__":
    main()
