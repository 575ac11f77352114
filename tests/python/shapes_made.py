# SPDX-License-Identifier: Apache-2.0
"""Code that is made while the program runs: odd names, and new code at old addresses."""
import collections
import dataclasses
import gc
import marshal
import os
import sys
import types

import walk
from walk import check, quick

FULL = os.environ.get("FULL") == "1"    # as in prof.py
NAMES = [
    "plain", "gr\u00fcn", "\u0444\u0443\u043d\u043a\u0446\u0438\u044f", "\u95a2\u6570",
    "\U00010428\U00010429", "a\u00e9\u95a2\U00010428",          # Latin-1, UCS-2, UCS-4, mixed
]
# Lengths around the 1023 bytes that are kept, of characters of one to four bytes.
LONG = [letter * n for letter, size in (("n", 1), ("\u00e9", 2), ("\u95a2", 3), ("\U00010428", 4))
        for n in (1021 // size, 1022 // size, 1023 // size, 1023 // size + 1, 1030 // size, 5000)]
FILES = [
    "<string>", "/a/b c.py", "C:\\x\\y.py", "a\tb\nc", "", "<stdin>", "%s%n", "\"quoted\"\\",
    "gr\u00fcn/\u00ff.py",
    "\u95a2/\u6570.py", "/\U0001f600/x.py", "/tmp/\udcff\udc80.py", "\ud800", "a\u0000b", "<ipython-input-1-0123456789ab>",
]


def shape_names():
    for name in NAMES + LONG:
        names = {"check": check}
        exec("def %s():\n  check()\n%s()" % (name, name), names)
    for file in FILES + ["/" + name for name in LONG]:
        try:
            code = compile("check()\n\n(lambda: check())()", file, "exec")
        except (ValueError, UnicodeError):      # compile() refuses some; replace() does not
            code = compile("check()", "<x>", "exec").replace(co_filename=file)
        exec(code, {"check": check})
    for name in FILES + [""]:
        function = types.FunctionType((lambda: check()).__code__.replace(co_name=name), globals())
        function()


def shape_exec():
    names = {"check": check}
    exec("check()\n\n\ncheck()\n[check(i) for i in range(2)]", names)
    eval("check(\n1)", names)
    exec("exec('exec(\"check()\", globals())', globals())", names)
    exec("class A:\n check()\n def f(self): return check()\nA().f()", names)
    exec("import walk\nwalk.check()", {})
    exec(compile("""
def f(n):
    if n:
        return eval("f(n - 1)", {"f": f, "n": n})
    check()
f(5)
""", "<made>", "exec"), names)


def shape_generated_classes():
    """The standard library makes code of this kind."""
    for i in range(3):
        point = collections.namedtuple("Point", "x y z")
        point(check(1), 2, 3)._replace(x=check(4))

        @dataclasses.dataclass(order=True)
        class Row:
            a: int = check(i)
            b: list = dataclasses.field(default_factory=lambda: check([]))

            def __post_init__(self):
                check()
        Row(1) < Row(2)


def shape_code_of_one_name():
    """As when modules are run one after the other: same name, same first line; where the call
    is, and in which file, differs, and the code and its tables lie where the last ones did."""
    sources = ["\n" * (i % 23 + 1) + "quick()\n" for i in range(23)]
    data = [marshal.dumps(compile(source, "/folder/%s.py" % chr(97 + i), "exec"))
            for i, source in enumerate(sources)]
    names = {"quick": quick}
    for i in range(40000 if FULL else 6000):
        exec(marshal.loads(data[i * 5 % 23]), names)


def made_and_dropped(source, file, names):
    exec(compile(source, file, "exec"), names)
    names.pop("f")()


def shape_code_of_one_name_compiled():
    """The same by the compiler, with functions, loops and lambdas inside."""
    names = {"quick": quick}
    for i in range(10000 if FULL else 600):
        gap = "\n" * (i * 3 % 7)
        made_and_dropped("def f():\n%s    for i in range(2):\n%s        quick(i)\n    (lambda:%s quick())()\n"
                         % (gap, "\n" * (i % 5), ""), "/folder/file%d.py" % (i % 11), names)
        if i % 100 == 0:
            gc.collect()


def shape_code_that_is_replaced():
    """One function whose code is another each time."""
    def f():
        return quick()
    first = f.__code__
    for i in range(2000):
        f.__code__ = first.replace(co_firstlineno=first.co_firstlineno + i % 50)
        f()
        if sys.version_info >= (3, 11) and i % 10 == 0:
            f.__code__ = first.replace(co_qualname="q%d" % i)
            f()


def recurse(n, last):
    return recurse(n - 1, last) if n else last()


def shape_many_stacks():
    """Stacks of many depths, with new code at the inner end: ids and what is kept of the
    last stack go apart again and again."""
    code = (lambda: quick()).__code__
    for i in range(600):
        recurse(i * 37 % 60, types.FunctionType(code.replace(co_firstlineno=i + 1), globals()))


def shape_code_at_old_addresses():
    """A hundred thousand functions, each with its own name, first line and file, and each where
    an older one was.  All of them are more than the index of code has room for."""
    code = (lambda: check_free()).__code__
    for i in range(100000):
        function = types.FunctionType(code.replace(co_name="f%d" % i, co_firstlineno=1 + i * 7 % 5000,
                                                   co_filename="<made %d>" % (i % 500)), globals())
        if FULL or i % 5 == 0:
            function()


def check_free():
    walk.compare(walk.take_free)
