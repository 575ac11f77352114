# SPDX-License-Identifier: Apache-2.0
"""Run train.py in torch.profiler with its functions of Python, for the cookbook."""
import runpy

from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CPU], with_stack=True) as recorded:
    runpy.run_path("train.py")
recorded.export_chrome_trace("torch.json")
