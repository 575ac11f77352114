# SPDX-License-Identifier: Apache-2.0
"""A simulation of scalars: it calls tiny operators and allocates all the time, and everything is recorded."""
import torch
from torch.profiler import record_function


def advance(position, speed):
    force = -position
    speed = speed + 0.01 * force
    return position + 0.01 * speed, speed


def main():
    torch.manual_seed(0)
    position, speed = torch.ones(4), torch.zeros(4)
    for _ in range(14):
        with record_function("iteration"):
            for _ in range(1500):
                position, speed = advance(position, speed)


if __name__ == "__main__":
    main()
