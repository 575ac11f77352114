#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modules like torch's that a thread is in when a window begins, in every version: by the thread that opens
it and by others, with the interpreter's lock and without; and memory is given back."""
import threading

import walk
from nn import LIBRARY, Leaf, Module, Net, STOCK, marks, pointers, run, want


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
            elif event is not walk.held.modules_event:
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


run(test_entered, test_entered_and_left_without_the_lock, test_entered_in_a_window_that_ends_there, test_entered_by_threads,
    test_entered_deeply, test_entered_with_something_else, test_the_tables_memory_is_given_back)
