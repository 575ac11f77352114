# SPDX-License-Identifier: Apache-2.0
"""Each test is an annotation of its own name: pytest reads this file, for the cookbook."""
import pytest
import torch


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    with torch.profiler.record_function(item.name):
        yield
