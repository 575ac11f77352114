# SPDX-License-Identifier: Apache-2.0
"""Modules like torch's, in every version, whose calls are recorded while a window is open: for modules.py
and entered.py. They are found when they are imported."""
import ctypes
import importlib
import os
import shutil
import sys
import tempfile

import walk

LIBRARY = walk.held
LIBRARY.modules_text.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBRARY.modules_rare.restype = ctypes.c_uint64
OFFSET = ctypes.c_long.from_address(id(type(walk.fail)) + 56).value
LIBRARY.modules_left_out.restype = LIBRARY.modules_resident.restype = ctypes.c_uint64
LIBRARY.modules_settled.restype = ctypes.c_bool
CALLBACK = ctypes.PYFUNCTYPE(None)
ROOM = ctypes.create_string_buffer(1 << 21)

SOURCE = """
class Module:
    def __init__(self):
        self.__dict__["_modules"] = {}

    def __setattr__(self, name, value):
        if isinstance(value, Module) or name.startswith("none"):
            self._modules[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        if name in self.__dict__["_modules"]:
            return self.__dict__["_modules"][name]
        raise AttributeError(name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _wrapped_call_impl

    def named_modules(self, memo=None, prefix=""):
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, prefix + ("." if prefix else "") + name)
"""


def want(what, got, wanted):
    if got != wanted:
        walk.fail("%s: %r, not %r" % (what, got, wanted))


def records():
    size = LIBRARY.modules_text(ROOM, len(ROOM))
    want("room", size >= 0, True)
    rows = [row.split() for row in ctypes.string_at(ROOM, size).decode().splitlines()]
    return [(kind, path, int(self), ended == "1") for kind, path, self, ended, *_ in rows]


def marks():
    """Class, path, and whether it has ended (1), was entered before the window (2), was gone (4), and
    began with the window (8)."""
    size = LIBRARY.modules_text(ROOM, len(ROOM))
    rows = [row.split() for row in ctypes.string_at(ROOM, size).decode().splitlines()]
    return [(kind, path, int(ended) + 2 * int(flags) + 8 * int(begun)) for kind, path, _, ended, flags, begun in rows]


def pointers():
    return [ctypes.c_void_p.from_address(id(f) + OFFSET).value for f in FUNCTIONS]


class Window:
    def __enter__(self):
        LIBRARY.modules_window(True, None)

    def __exit__(self, *unused):
        LIBRARY.modules_window(False, None)


def find():
    """The look comes first, the import later: as where torch's first module is imported. Here the interpreter
    imports nothing itself: import_module does, in Python, whose call sites are hot."""
    folder = tempfile.mkdtemp()
    os.makedirs(os.path.join(folder, "torch", "nn", "modules"))
    for name in "torch", "torch/nn", "torch/nn/modules":
        with open(os.path.join(folder, name, "__init__.py"), "w"):
            pass
    with open(os.path.join(folder, "torch", "nn", "modules", "module.py"), "w") as file:
        file.write(SOURCE)
    sys.path.insert(0, folder)
    find_and_load = sys.modules["_frozen_importlib"]._find_and_load
    at = ctypes.c_void_p.from_address(id(find_and_load) + OFFSET)
    stock = at.value
    for _ in range(50):
        try:
            importlib.import_module("no_such_module")
        except ImportError:
            pass
    LIBRARY.modules_begin_look()
    if at.value == stock:
        walk.fail("imports are not followed")
    try:
        import torch.no_such_module
    except ImportError:
        pass

    @CALLBACK
    def meanwhile():
        importlib.import_module("torch.nn.modules.module")

    LIBRARY.modules_window(True, meanwhile)
    want("the importer's pointer", at.value, stock)
    want("the importer's type", type(find_and_load), type(walk.fail))
    type("Early", (sys.modules["torch.nn.modules.module"].Module,), {"forward": lambda self: None})()()
    want("modules that are found as a window opens", [row[0] for row in records()], ["Early"])
    LIBRARY.modules_window(False, None)
    shutil.rmtree(folder)
    return sys.modules["torch.nn.modules.module"].Module


walk.start()
LIBRARY.modules_window(False, None)
Module = find()
FUNCTIONS = [Module._wrapped_call_impl, Module._call_impl]
STOCK = pointers()


class Leaf(Module):
    def forward(self, x):
        return x + 1


class Net(Module):
    def __init__(self, *children, **named):
        super().__init__()
        for n, child in enumerate(children):
            self._modules[str(n)] = child
        for name, child in named.items():
            setattr(self, name, child)

    def forward(self, x):
        for child in self._modules.values():
            x = child(x) if child is not None else x
        return x


class Star(Leaf):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Plain(Leaf):
    def __call__(self, x):
        return super().__call__(x)


def run(*tests):
    for test in tests:
        walk.shape[0] = test.__name__
        test()
        want("the pointers", pointers(), STOCK)
    print("ok")
