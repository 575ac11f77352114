#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of modules like torch's, in every version: found when they are imported, recorded while a
window is open, each with its place in the tree; and nothing of the program's runs for it."""
import ctypes
import gc
import os
import shutil
import sys
import tempfile
import threading

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
    """The look comes first, the import later: as where torch's first module is imported."""
    folder = tempfile.mkdtemp()
    os.makedirs(os.path.join(folder, "torch", "nn", "modules"))
    for name, text in (("torch", ""), ("torch/nn", "from .modules import module\n"), ("torch/nn/modules", "")):
        with open(os.path.join(folder, name, "__init__.py"), "w") as file:
            file.write(text)
    with open(os.path.join(folder, "torch", "nn", "modules", "module.py"), "w") as file:
        file.write(SOURCE)
    sys.path.insert(0, folder)
    find_and_load = sys.modules["_frozen_importlib"]._find_and_load
    at = ctypes.c_void_p.from_address(id(find_and_load) + OFFSET)
    stock = at.value
    LIBRARY.modules_begin_look()
    if at.value == stock:
        walk.fail("imports are not followed")
    try:
        import torch.no_such_module
    except ImportError:
        pass

    @CALLBACK
    def meanwhile():
        import torch.nn

    LIBRARY.modules_window(True, meanwhile)
    want("the importer's pointer", at.value, stock)
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


def check(net, call, tree):
    """All that it calls, in this order, with the paths of named_modules()."""
    before = pointers()
    with Window():
        call()
        got = records()
    want("the pointers", (before, pointers()), (STOCK, STOCK))
    paths = {id(module): path or type(module).__name__ for path, module in net.named_modules()}
    want("the calls", [(kind, path) for kind, path, _, _ in got],
         [(type(module).__name__, paths.get(id(module), type(module).__name__)) for module in tree])
    want("the objects", [self for _, _, self, _ in got], [id(module) for module in tree])
    want("ends", [ended for *_, ended in got], [True] * len(tree))


def test_tree():
    shared, star, plain = Leaf(), Star(), Plain()
    inner = Net(shared, star)
    net = Net(inner, shared, plain=plain, none=None, attn=Net(q=Leaf()))
    tree = [net, inner, shared, star, shared, plain, net.attn, net.attn.q]
    for _ in range(3):
        check(net, lambda: net(1), tree)
    for _ in range(50):     # call sites are specialised while nothing is recorded
        net(1)
    check(net, lambda: [net(1) for _ in range(20)], tree * 20)


def test_a_part_first():
    """It is an outermost one, until what it is below is called."""
    net = Net(Net(Leaf()))
    part = net._modules["0"]
    with Window():
        part(1), net(1), part(1)
        got = [path for _, path, _, _ in records()]
    want("paths", got, ["Net", "0", "Net", "0", "0.0", "0", "0.0"])


def test_exceptions():
    class Fails(Module):
        def forward(self, x):
            raise KeyError("it is kept")

    class Keeps(Net):
        def forward(self, x):
            try:
                super().forward(x)
            except KeyError as error:
                want("the error", error.args, ("it is kept",))

    net = Keeps(Fails(), Leaf())
    check(net, lambda: net(1), [net, net._modules["0"]])
    try:
        raise ValueError("around")
    except ValueError:
        check(net, lambda: net(1), [net, net._modules["0"]])
        want("the exception", sys.exc_info()[1].args, ("around",))


def test_recursion():
    class Again(Module):
        def forward(self, n):
            return self(n - 1) if n else 0

    again = Again()
    check(again, lambda: again(60), [again] * 61)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    with Window():
        try:
            again(10000)
            walk.fail("no RecursionError")
        except RecursionError:
            pass
        finally:
            sys.setrecursionlimit(limit)
    want("the pointers", pointers(), STOCK)


def test_nothing_of_the_programs_runs():
    ran = []

    class Hides(Net):
        def __getattribute__(self, name):
            if name == "_modules" and not quiet:
                ran.append(name)
            return super().__getattribute__(name)

    class Property(Leaf):
        @property
        def _modules(self):
            ran.append("property")
            return {}

        def __init__(self):
            pass

    class Dict(dict):
        def items(self):
            ran.append("items")
            return super().items()

    class Key(str):
        def __hash__(self):
            return hash("own")

        def __eq__(self, other):
            ran.append("eq")
            return self is other

    odd, quiet = Net(Leaf()), True
    odd.__dict__["_modules"] = Dict({"0": Leaf(), Key("own"): Leaf(), 5: Leaf()})
    hides = Hides(Leaf())
    nets = [hides, Property(), odd, Net(), Net(a=Leaf())]
    nets[3].__dict__["_modules"] = None
    nets[4].__dict__.clear()
    calls = [lambda: Leaf.forward(nets[1], 1), None]
    quiet = False
    for net in nets:
        Outer = type("Outer", (Module,), {"forward": lambda self, x: x})
        outer = Outer()
        outer.__dict__["_modules"] = {"x": net}
        del ran[:]
        with Window():
            want("a call", outer(calls), calls)
            got = records()
        want("paths", [path for _, path, _, _ in got], ["Outer"])
        want("what ran", ran, [])


def test_no_reference_is_kept():
    net = Net(Leaf())
    counts = sys.getrefcount(net), sys.getrefcount(net._modules), sys.getrefcount(net._modules["0"])
    with Window():
        for _ in range(100):
            net(1)
    want("references", (sys.getrefcount(net), sys.getrefcount(net._modules), sys.getrefcount(net._modules["0"])), counts)
    with Window():      # new objects at old addresses
        for n in range(3000):
            Net(Leaf(), a=Star())(1)
            if n % 500 == 0:
                gc.collect()


def test_many():
    net = Net(*[Net(*[Leaf() for _ in range(50)]) for _ in range(200)])
    children = [net]
    for child in net._modules.values():
        children += [child, *child._modules.values()]
    with Window():
        net(1)
        got = records()
    paths = {id(module): path or "Net" for path, module in net.named_modules()}
    want("paths", [path for _, path, _, _ in got], [paths[id(child)] for child in children])
    deep = Leaf()
    for _ in range(130):
        deep = Net(deep)
    with Window():
        deep(1)
        got = records()
    want("levels", len(got), 131)
    want("paths", [path for _, path, _, _ in got[:3]], ["Net", "0", "0.0"])


def test_threads():
    net = Net(Leaf(), Star(), Plain())
    paths = {id(module): path or "Net" for path, module in net.named_modules()}
    wrong = []

    def work():
        for _ in range(200):
            if net(1) != 4:
                wrong.append("result")

    with Window():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        got = records()
    wrong += [row for row in got if row[1] != paths[row[2]] or not row[3]]
    want("wrong", (wrong, len(got)), ([], 4 * 200 * 4))


def test_a_look_at_a_tree_is_timed():
    first, second = Leaf(), Leaf()
    with Window():
        first(1), LIBRARY.modules_rare()
        first(1)
        want("a call", LIBRARY.modules_rare(), 0)
        second(1)
        want("a look", LIBRARY.modules_rare() > 0, True)


def test_more_than_have_paths():
    """The names of operators need places, too."""
    class Ends(Net):
        def forward(self, x):
            children = list(self._modules.values())
            return children[-1](children[-35](x))

    net = Ends(*[Ends(*[Leaf() for _ in range(1000)]) for _ in range(35)])
    for _ in range(2):
        with Window():
            net(1)
            want("paths", [(kind, path) for kind, path, _, _ in records()],
                 [("Ends", "Ends"), ("Ends", "0"), ("Leaf", "0.965"), ("Leaf", "0.999"),
                  ("Ends", "34"), ("Leaf", "-"), ("Leaf", "-")])


class Does(Net):
    """Calls what it is given between its children, or instead of them."""
    def __init__(self, does, *children, **named):
        super().__init__(*children, **named)
        self.does = does

    def forward(self, x):
        self.does()
        return super().forward(x)


SEEN, OPEN, EXACT, GONE = 1, 2 + 8, 1 + 2 + 8, 1 + 2 + 4 + 8


def opens(elsewhere=False):
    if elsewhere:
        thread = threading.Thread(target=LIBRARY.modules_window, args=(True, None))
        thread.start()
        thread.join()
    else:
        LIBRARY.modules_window(True, None)


def ends():
    LIBRARY.modules_window(False, None)
    want("the pointers", pointers(), STOCK)


def test_entered():
    """As the one who opens the window finds them, and as another thread does at its first event."""
    def during():
        opens(elsewhere)
        if event:
            event()
        at_event.append(marks())

    for elsewhere in False, True:
        for event in walk.free.modules_event, walk.held.modules_event, None:
            at_event = []
            net = Net(Net(Leaf(), part=Does(during, Leaf())), last=Leaf())
            for _ in range(3):
                net.forward(1), opens(), net(1), ends()     # specialised, and known from before
            del at_event[:]
            net(1)
            before = [("Net", "Net"), ("Net", "0"), ("Does", "0.part")]
            if elsewhere and not event:
                want("in it", at_event[0], [])
            elif elsewhere and event is walk.free.modules_event:
                want("in it", at_event[0], [(kind, "-", OPEN) for kind, _ in before])
            else:
                want("in it", at_event[0], [(*row, OPEN) for row in before])
            got = marks()
            want("behind it", got[:3], [(*before[0], OPEN), (*before[1], GONE), (*before[2], GONE)])
            want("calls", got[3:], [("Leaf", "0.part.0", SEEN), ("Leaf", "last", SEEN)])
            want("settled", LIBRARY.modules_settled(), False)
            walk.free.modules_event()
            want("behind all", marks()[0], (*before[0], GONE))
            want("settled", LIBRARY.modules_settled(), True)
            ends()


def test_entered_and_left_without_the_lock():
    """A module's path is looked for by its address when the lock is there; its parent may be gone as well."""
    def during():
        opens(True)
        walk.free.modules_event()

    net = Net(Net(Does(during)), last=Leaf())
    net(1)
    want("paths", marks(), [("Net", "Net", OPEN), ("Net", "0", GONE), ("Does", "0.0", GONE), ("Leaf", "last", SEEN)])
    ends()
    net = Net(Does(during))
    net(1)
    walk.free.modules_event()
    Leaf()(1)
    want("no paths", marks(), [("Net", "-", GONE), ("Does", "-", GONE), ("Leaf", "Leaf", SEEN)])
    want("settled", LIBRARY.modules_settled(), True)
    ends()


def test_entered_in_a_window_that_ends_there():
    """It has been seen to begin, and is seen to end; and what has returned at a window's end is over."""
    def during():
        opens()
        walk.free.modules_event()

    net = Net(Does(during), last=Leaf())
    opens()
    net(1)
    want("ends", marks(), [("Net", "Net", EXACT), ("Does", "0", EXACT), ("Leaf", "last", SEEN)])
    ends()
    net(1)
    LIBRARY.modules_event()
    opens()
    want("another window", marks(), [])
    ends()


def test_entered_by_threads():
    inside, go, wrong = threading.Barrier(9), threading.Barrier(9), []

    def during():
        inside.wait()
        go.wait()
        for _ in range(100):
            walk.free.modules_event()

    def work(net):
        net(1)
        walk.free.modules_event()
        if not LIBRARY.modules_settled():
            wrong.append("not settled")

    threads = [threading.Thread(target=work, args=(Net(Does(during, Leaf()), Net()),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    inside.wait()
    opens()
    go.wait()
    for thread in threads:
        thread.join()
    rows = [("Net", "Net", GONE), ("Does", "0", GONE), ("Leaf", "0.0", SEEN), ("Net", "1", SEEN)]
    want("rows", (wrong, sorted(marks())), ([], sorted(8 * rows)))
    ends()


def test_entered_deeply():
    class Again(Module):
        def forward(self, n):
            return self(n - 1) if n else during()

    class Fails(Does):
        def forward(self, x):
            super().forward(x)
            raise KeyError("it is kept")

    def during():
        opens(True)
        walk.free.modules_event()

    Again()(99)
    want("levels", (len(marks()), LIBRARY.modules_left_out()), (64, 36))
    walk.free.modules_event()
    want("levels", {row[2] for row in marks()}, {GONE})
    ends()
    try:
        Fails(during)(1)
        walk.fail("no KeyError")
    except KeyError as error:
        want("the error", error.args, ("it is kept",))
    LIBRARY.modules_event()
    want("a failure", marks()[0][::2], ("Fails", GONE))
    ends()


def test_entered_with_something_else():
    """What is no module, though it is called as one, is left alone."""
    class Other:
        _call_impl = lambda self, x: during()

    def during():
        opens(True)
        walk.free.modules_event()
        want("records", (marks(), LIBRARY.modules_left_out()), ([], 1))
        ends()

    Module.__call__(Other(), 1)


def test_the_tables_memory_is_given_back():
    net = Net(*[Leaf() for _ in range(5000)])
    opens()
    net._modules["7"](1), net(1)
    want("memory", LIBRARY.modules_resident() > 200000, True)
    ends()
    want("memory", LIBRARY.modules_resident(), 0)
    opens()
    net(1)
    want("paths", [row[1] for row in marks()[:3]], ["Net", "0", "1"])
    ends()


walk.shape[0] = "modules"
for test in (test_tree, test_a_part_first, test_exceptions, test_recursion, test_nothing_of_the_programs_runs,
             test_no_reference_is_kept, test_many, test_threads, test_a_look_at_a_tree_is_timed, test_entered, test_entered_and_left_without_the_lock,
             test_entered_in_a_window_that_ends_there, test_entered_by_threads, test_entered_deeply,
             test_entered_with_something_else, test_the_tables_memory_is_given_back, test_more_than_have_paths):
    walk.shape[0] = test.__name__
    test()
    want("the pointers", pointers(), STOCK)
print("ok")
