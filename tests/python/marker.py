# SPDX-License-Identifier: Apache-2.0
"""One way to call a function that ends steps: marker.py WAY N. Prints how many steps should end.

Nothing may tell the program that it is watched: what it sees is asserted at the end.
"""
import sys

CALLS = []


def step():
    CALLS.append(1)


class Trainer:
    def method(self, x=1, *, y=2):
        CALLS.append(1)
        return x + y

    @staticmethod
    def static():
        CALLS.append(1)

    @classmethod
    def of_class(cls):
        CALLS.append(1)

    def __call__(self):
        CALLS.append(1)

    def __getitem__(self, i):
        CALLS.append(1)
        return i

    @property
    def value(self):
        CALLS.append(1)
        return 1

    def generates(self):
        CALLS.append(1)
        yield 1

    async def waits(self):
        CALLS.append(1)


def raises():
    CALLS.append(1)
    raise KeyError("it is the program's own")


def recurses(n):
    if n:
        recurses(n - 1)
    else:
        CALLS.append(1)


def script(n):
    for _ in range(n):
        step()


def method(n):
    trainer = Trainer()
    for i in range(n):
        assert trainer.method(i, y=3) == i + 3


def static(n):
    for _ in range(n):
        Trainer.static()


def of_class(n):
    for _ in range(n):
        Trainer.of_class()


def called(n):
    trainer = Trainer()
    for _ in range(n):
        trainer()


def item(n):
    trainer = Trainer()
    for i in range(n):
        assert trainer[i] == i


def value(n):
    trainer = Trainer()
    for _ in range(n):
        assert trainer.value == 1


def raised(n):
    for _ in range(n):
        try:
            raises()
        except KeyError as error:
            assert error.args == ("it is the program's own",)


def recursion(n):
    for _ in range(n):
        recurses(5)


def threads(n):
    """Of two that call it, only the first one's steps are counted."""
    import threading
    for _ in range(n):
        step()
    ended = len(CALLS)
    others = [threading.Thread(target=step) for _ in range(3)]
    for other in others:
        other.start()
        other.join()
    assert len(CALLS) == ended + 3
    del CALLS[ended:]


def worker(n):
    """The thread of the first step has them all, as long as it lives."""
    import threading
    done, may_end = threading.Event(), threading.Event()

    def work():
        script(n)
        done.set()
        may_end.wait()

    other = threading.Thread(target=work)
    other.start()
    done.wait()
    step()
    del CALLS[n:]
    may_end.set()
    other.join()


def daemon(n):
    """A thread is in the middle of a step when the interpreter ends, which stops it there."""
    import threading
    import time
    script(n)
    begun = threading.Event()

    def wait():
        begun.set()
        while True:
            time.sleep(.01)
    threading.Thread(target=lambda: holds(wait), daemon=True).start()
    begun.wait()


def holds(wait):
    wait()


def imported(n):
    import marker_module
    for _ in range(n):
        marker_module.step(CALLS)


def from_package(n):
    """The script's own names do not change when that is imported."""
    import marker_package  # noqa: F401
    before = len(globals())
    marker_package.run(CALLS, n)
    assert len(globals()) == before


def taken(n):
    """A name that was taken from the module before anybody looked."""
    from marker_module import step as mine
    for _ in range(n):
        mine(CALLS)


def inherited(n):
    import marker_module

    class Derived(marker_module.Base):
        pass
    marker_module.Derived = Derived
    import colorsys  # noqa: F401, here we look again
    for _ in range(n):
        Derived().inherited(CALLS)


def decorated(n):
    import marker_module
    for _ in range(n):
        marker_module.decorated(CALLS)


def redefined(n):
    import marker_module
    for _ in range(n):
        marker_module.step(CALLS)
    before = marker_module.step

    def other(calls):
        calls.append(1)
    marker_module.step = other
    import colorsys  # noqa: F401, here we look again
    for _ in range(n):
        marker_module.step(CALLS)
    before([])


def reloaded(n):
    import importlib

    import marker_module
    for _ in range(n):
        marker_module.step(CALLS)
    importlib.reload(marker_module)
    import colorsys  # noqa: F401
    for _ in range(n):
        marker_module.step(CALLS)


def forked(n):
    """The child's steps are its own."""
    import os
    script(n)
    child = os.fork()
    if not child:
        script(n)
        os._exit(0)
    os.waitpid(child, 0)


def at_exit(n):
    import atexit  # noqa: F401, as much of the library does
    import colorsys  # noqa: F401
    script(n)


class Late:
    def __init__(self):
        self.me = self

    def __del__(self):
        [str(i) for i in range(10)]
        self.again()

    def again(self):
        import colorsys  # noqa: F401
        import json  # noqa: F401


def late(n):
    """Python code that runs while the interpreter is finalised."""
    script(n)
    sys.late = [Late() for _ in range(3)]


def no_call(n):
    del n
    Trainer().generates()
    Trainer().waits().close()


def see_nothing():
    """What Python code can see of a function that is watched: its type's identity, in 3.11."""
    import copy
    import inspect
    import pickle
    import types
    module = sys.modules.get("marker_module")
    for function in (step, raises, recurses, Trainer.method, Trainer.static, Trainer.of_class.__func__,
                     *([module.step, module.Base.inherited] if module else ())):
        assert isinstance(function, types.FunctionType) and inspect.isfunction(function)
        assert repr(type(function)) == "<class 'function'>" and dir(function) == dir(main)
        assert sys.version_info[:2] == (3, 11) or type(function) is types.FunctionType
        assert copy.deepcopy(function) is function and copy.copy(function) is function
        if function is not Trainer.of_class.__func__:
            assert pickle.loads(pickle.dumps(function)) is function
            assert pickle.loads(pickle._dumps(function)) is function
        assert str(inspect.signature(function)) and function.__get__(1).__self__ == 1
        assert type(function)(function.__code__, {}).__code__ is function.__code__
        function.attribute = 1
        assert function.__dict__.pop("attribute") == 1
    Trainer.method.__defaults__ = (7,)
    Trainer.method.__kwdefaults__ = {"y": 8}
    assert Trainer().method() == 15


def main():
    n = int(sys.argv[2])
    globals()[sys.argv[1]](n)
    ended = sum(CALLS)
    if sys.argv[3:] == ["see"]:
        see_nothing()
        ended += sys.argv[1] == "method"
    print(int(ended))


main()
