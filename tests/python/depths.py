# SPDX-License-Identifier: Apache-2.0
"""Allocates below a recursion through sorted: the innermost frames are the same, the depth is not."""


def deep(n):
    return sorted([n], key=lambda _: deep(n - 1) if n else [len(bytearray(1000000))])


for depth in (12, 30, 20):
    deep(depth)
