# SPDX-License-Identifier: Apache-2.0
"""A module with functions that end steps, for marker.py."""
import functools


def step(calls):
    calls.append(1)


def deep(calls, n):
    calls.append(1)
    if n:
        deep(calls, n - 1)


class Base:
    def inherited(self, calls):
        calls.append(1)


def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        function(*args)
        function(*args)
    return wrapper


@twice
def decorated(calls):
    calls.append(.5)
