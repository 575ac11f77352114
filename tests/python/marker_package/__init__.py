# SPDX-License-Identifier: Apache-2.0
"""Imports a module of its own when it is called, and then a function that calls only C."""


def run(calls, n):
    from marker_package import inner
    for _ in range(n):
        inner.step(calls)
