#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many functions of Python's are looked for by their names, each under a number of its own: which
calls are told, and in what order."""
import ctypes
import importlib
import os
import sys
import tempfile
import threading

import walk

LIBRARY = walk.held
LIBRARY.seek_test_want.argtypes = [ctypes.c_char_p, ctypes.c_uint]
LIBRARY.seek_test_want.restype = ctypes.c_bool
LIBRARY.seek_test_said.restype = LIBRARY.seek_test_missing.restype = ctypes.c_char_p
LIBRARY.seek_test_missing.argtypes = [ctypes.c_uint]

MOST = 48
MODULES = {
    "many_late.py": """
class Base:
    def call(self, inside=None):
        return inside and inside()
class Derived(Base):
    pass
class Own(Base):
    def call(self, inside=None):
        return super().call(inside)
def step(n=0):
    return n and step(n - 1)
def twice():
    pass
twice_again = twice
def generates():
    yield
def fails():
    raise KeyError(1)
def go_deep(n, then):
    return go_deep(n - 1, then) if n else then()
""",
    "many_lazy.py": """
import sys, types
class Lazy(types.ModuleType):
    pass
sys.modules[__name__].__class__ = Lazy
class Thing:
    def call(self):
        pass
thing = Thing()
def step():
    pass
""",
    "many_old.py": "def step():\n    pass\n",
    "many_new/__init__.py": "",
    "many_new/inner.py": "def step():\n    pass\n",
    "many_again.py": "",
    "many_other.py": "",
    "many_third.py": "",
    "many_fourth.py": "",
    "many_fifth.py": "",
    "many_sixth.py": "",
}
WANTED = (
    (0, "no_such.f|many_late.step"), (1, "many_new.inner.step|many_old.step"), (2, "train_step"),
    (3, "many_late.Base.call"), (4, "many_late.Derived.call"), (5, "many_late.Own.call"),
    (6, "many_late.twice|many_late.twice_again"), (7, "seek.train_step"), (8, "never.was|many_late.nope"),
    (9, "many_late.generates|never.generates"), (10, "many_late.fails"), (11, "many_late.go_deep"),
    (12, "many_late.go_deep"), (13, "__main__.defined_above"), (14, "never.was"), (15, "never.was|many_late.fails"),
    (16, "never.was|train_step"), (17, "defined_last"), (18, "many_lazy.step"), (19, "many_lazy.thing.call"),
    (20, "eek.train_step"), (21, "python.seek.train_step"), (22, "ython.seek.train_step"),
)


def defined_above():
    pass


def said():
    return LIBRARY.seek_test_said().decode().split()


def want(what, got, wanted):
    if got != wanted:
        walk.fail("%s: %r, not %r" % (what, got, wanted))


def missing(which):
    text = LIBRARY.seek_test_missing(which)
    return text and text.decode()


def test_what_is_refused():
    """And leaves nothing behind."""
    for names, which in (b"", 0), (b"a|", 0), (b"|a", 0), (b"a||b", 0), (b"f", MOST), (b"x" * (MOST * 256), 0):
        want(names[:9], LIBRARY.seek_test_want(names, which), False)
    want("too many", LIBRARY.seek_test_want(b"|".join([b"f"] * (MOST + 1)), 0), False)
    for which, names in WANTED:
        want(names, LIBRARY.seek_test_want(names.encode(), which), True)
    left = MOST - sum(names.count("|") + 1 for _, names in WANTED)
    want("one too many", LIBRARY.seek_test_want(b"|".join([b"nowhere.f"] * (left + 1)), 47), False)
    want("just as many", LIBRARY.seek_test_want(b"|".join([b"nowhere.f"] * left), 47), True)


def test_the_script():
    defined_above()
    want("it is there already", said(), ["+13", "-13"])


def test_late():
    """In a function, by the statement and by importlib."""
    import many_late
    many_late.step(2)
    want("recursion", said(), ["+0", "+0", "+0", "-0", "-0", "-0"])
    old = importlib.import_module("many_old")
    old.step()
    want("one of two names", said(), ["+1", "-1"])
    from many_new import inner
    inner.step()
    old.step()
    want("both", said(), ["+1", "-1"] * 2)


def test_other_kinds():
    import many_lazy
    many_lazy.step()
    want("a module of another type", said(), ["+18", "-18"])
    many_lazy.thing.call()
    want("an object's class", said(), ["+19", "-19"])


def test_several_at_one_function():
    import many_late
    many_late.Base().call()
    want("inherited", said(), ["+4", "+3", "-3", "-4"])
    many_late.Own().call(defined_above)
    want("one in another", said(), ["+5", "+4", "+3", "+13", "-13", "-3", "-4", "-5"])
    many_late.twice()
    want("one number", said(), ["+6", "-6"])
    list(map(many_late.Derived.call, [many_late.Derived()] * 2))
    want("from C", said(), ["+4", "+3", "-3", "-4"] * 2)


def test_what_raises():
    import many_late
    try:
        many_late.fails()
    except KeyError as error:
        want("the error", error.args, (1,))
    want("it ends", said(), ["+15", "+10", "-10", "-15"])


def test_one_of_them_is_replaced():
    import many_late
    before = many_late.Base.call

    def call(self):
        pass
    many_late.Derived.call = call
    import many_again  # noqa: F401, here we look again
    before(None)
    want("the old one", said(), ["+3", "-3"])
    many_late.Derived().call()
    want("the new one", said(), ["+4", "-4"])
    del many_late.Derived.call
    import many_other  # noqa: F401
    call(None)
    before(None)
    want("as before", said(), ["+4", "+3", "-3", "-4"])
    many_late.twice = defined_above
    import many_third  # noqa: F401
    many_late.twice_again()
    many_late.twice()
    want("by one name alone", said(), ["+6", "-6", "+13", "+6", "-6", "-13"])
    many_late.twice = many_late.twice_again
    import many_fourth  # noqa: F401
    defined_above()
    many_late.twice()
    want("as before", said(), ["+13", "-13", "+6", "-6"])


def test_each_goes_deep_by_itself():
    import many_late
    many_late.go_deep(250, many_late.step)
    want("both numbers, the others as ever", said(), ["+12", "+11"] * 100 + ["+0", "-0"] + ["-11", "-12"] * 100)
    begun, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=many_late.go_deep, args=(150, lambda: (begun.set(), go.wait())))
    thread.start()
    begun.wait()
    want("a thread", said(), ["+12", "+11"] * 100)
    many_late.go_deep(1, many_late.step)
    want("left for now", said(), ["+0", "-0"])
    child = os.fork()
    if not child:
        LIBRARY.seek_test_fork_child()
        many_late.go_deep(0, many_late.step)
        os._exit(said() != ["+12", "+11", "+0", "-0", "-11", "-12"])
    want("the child", os.waitpid(child, 0)[1], 0)
    go.set()
    thread.join()
    said()
    many_late.go_deep(0, many_late.step)
    want("come again", said(), ["+12", "+11", "+0", "-0", "-11", "-12"])


def test_replaced_in_the_middle_of_deep_calls():
    import many_late
    before = many_late.go_deep

    def replace():
        many_late.go_deep = defined_above
        import many_fifth  # noqa: F401, here we look again
        defined_above()
    before(150, replace)
    want("it begins as it was", said(), ["+12", "+11"] * 100 + ["+13", "+12", "+11", "-11", "-12", "-13"]
         + ["-11", "-12"] * 100)
    before(0, int)
    want("it does not come again", said(), [])
    want("its type is as it was", type(before) is type(want), True)
    many_late.go_deep = before
    import many_sixth  # noqa: F401
    before(0, defined_above)
    want("it does by its name", said(), ["+12", "+11", "+13", "-13", "-11", "-12"])


def test_what_is_missing():
    want("called", [missing(which) for which in (*range(8), 10, 11, 12, 13, *range(15, 20), 21)], [None] * 18)
    want("the farthest", missing(8), "many_late.nope: the module has no such function (when it was last looked for)")
    want("said at once", missing(9), None)
    want("one name", missing(14), "no module never was imported, and the script has no such name "
         "(when it was last looked for)")
    for which, name in (20, "eek"), (22, "ython.seek"):
        want("the script's name is longer", missing(which), "no module %s was imported, and the script has no such name "
             "(when it was last looked for)" % name)
    want("not wanted", missing(40), None)


walk.start()
sys.setrecursionlimit(10000)
with tempfile.TemporaryDirectory() as folder:
    for name, text in MODULES.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    test_what_is_refused()
    LIBRARY.seek_test_start()
    for test in (test_the_script, test_late, test_other_kinds, test_several_at_one_function, test_what_raises,
                 test_one_of_them_is_replaced, test_each_goes_deep_by_itself, test_replaced_in_the_middle_of_deep_calls):
        walk.shape[0] = test.__name__
        test()
    exec("def train_step():\n    pass\n")
    train_step()  # noqa: F821
    want("the first call of all", said(), ["+21", "+16", "+7", "+2", "-2", "-7", "-16", "-21"])
    train_step()  # noqa: F821
    want("the second one", said(), ["+21", "+16", "+7", "+2", "-2", "-7", "-16", "-21"])
    exec("def defined_last():\n    pass\n")
    defined_last()  # noqa: F821
    want("one more, and no import between", said(), ["+17", "-17"])
    test_what_is_missing()
print("ok")
