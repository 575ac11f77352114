#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""Which line of Python launched: CUDA's driver called with the interpreter's lock, as Triton's launcher does, on a fake GPU."""
import os
import sys

import cuda
import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
BEGIN = """import atexit, ctypes
driver = ctypes.PyDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
done = [driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context),
        driver.cuModuleLoadData(ctypes.byref(module), b""),
        driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"_Z5alphaPfi")]
assert not any(done), done
word = ctypes.c_int(1)
arguments = (ctypes.c_void_p * 2)(ctypes.addressof(word), ctypes.addressof(word))
def launch():
    assert driver.cuLaunchKernel(kernel, 8, 2, 1, 64, 1, 1, 0, None, arguments, None) == 0
def twice():
    launch()
    launch()
"""


def launches(log, code, python=PYTHON, **given):
    path = os.path.join(log, "code.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    run = prof.launch([python, path], log, env=cuda.environment(cuda.NEWEST), python_stack="ops", marker="none", **given)
    prof.strict(run.paths())
    trace = run.only()
    return [e["args"] for e in trace.named("cuLaunchKernel")], trace


def test_a_launch_has_its_line():
    with prof.folder() as log:
        calls, trace = launches(log, BEGIN + "for _ in range(50):\n    twice()\ndriver.cuCtxSynchronize()\n")
        assert len(calls) == 100, len(calls)
        # The interpreter is found by its own pending call, which the first of them ask for.
        found = [call.get("Call stack", "").split(";") for call in calls[8:]]
        assert all(len(stack) == 3 for stack in found), found[:3]
        assert all(stack[0].endswith("code.py(11): launch") and stack[2].endswith("code.py(16): <module>")
                   for stack in found), found[:3]
        assert {stack[1].rpartition("/")[2] for stack in found} == {"code.py(13): twice", "code.py(14): twice"}
        assert trace.facts["python stacks"]["unknown"] == 0, trace.facts["python stacks"]


def test_both_stacks():
    with prof.folder() as log:
        calls, _ = launches(log, BEGIN + "for _ in range(9):\n    twice()\n", cuda_stacks="native")
        for call in calls[8:]:
            frames = call["Call stack"].split(";")
            lines = [i for i, frame in enumerate(frames) if "code.py(" in frame]
            assert [frames[i].rpartition(": ")[2] for i in lines] == ["launch", "twice", "<module>"], call
            assert lines[0] > 0 and "ffi_call" in call["Call stack"].split(frames[lines[0]])[0], call
            assert any("Py_BytesMain" in frame or "main (" in frame for frame in frames[lines[2]:]), call
            assert "Native call stack" not in call, call


def test_an_operators_launch_has_the_operators():
    """What torch launches inside of an operator has that one's line, and none of its own."""
    code = BEGIN + ("import torch\nclass Twice(torch.autograd.Function):\n    @staticmethod\n"
                    "    def forward(ctx, x):\n        launch()\n        return x * 2\n"
                    "for _ in range(5):\n    Twice.apply(torch.ones(2))\n    launch()\n")
    with prof.folder() as log:
        calls, trace = launches(log, code)
        assert len(calls) == 10 and all("Call stack" in call for call in calls), calls
        assert any("Call stack" in e["args"] for e in trace.named("aten::mul")), trace.names()


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
