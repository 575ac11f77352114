#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of modules like torch's, in every version: recorded while a window is open, each with its place in
the tree; and nothing of the program's runs for it."""
import gc
import sys
import threading

import walk
from nn import LIBRARY, Leaf, Module, Net, Plain, STOCK, Star, Window, pointers, records, run, want


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


run(test_tree, test_a_part_first, test_exceptions, test_recursion, test_nothing_of_the_programs_runs,
    test_no_reference_is_kept, test_many, test_threads, test_a_look_at_a_tree_is_timed, test_more_than_have_paths)
