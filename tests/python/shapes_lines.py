# SPDX-License-Identifier: Apache-2.0
"""Lines: those of the instruction, where a call or an expression has several."""
import ast
import sys

import walk
from walk import check

# A function's lines far apart, and up and down.
FAR = """
def far():
    check()%s
    check([
%s
        check(1),%s
        check(2)])
    check()
"""


class Chain:
    def then(self, *args):
        check()
        return self

    def __getattr__(self, name):
        check()
        return self

    def __getitem__(self, i):
        check()
        return self

    def __add__(self, other):
        return check(self)


def shape_calls_of_many_lines():
    check(
        check(1)
    )
    check(value=
          check(
              value=check(
                  1)))
    (Chain()
     .then(check(1),
           check(2))
     .then(
         check(3)
     ).word
     [check(1)]
     .then())
    print(
        check(1),
        *[check(2),
          check(3)],
        **{"sep": check(""),
           "end": check("")},
        file=sys.stderr if check(0) else
        None
    ) if check(False) else check(
        3)


def shape_expressions_of_many_lines():
    total = (check(1) +
             check(2) *
             check(
                 3)
             - check(4))
    (Chain() +
     Chain()
     + Chain()).then(
         total)
    text = f"""{check(1)}
    {check(2)} {
    check(3)}"""
    rows = [
        check(1),
        {"a": check(2),
         "b": [check(i)
               for i in (check(1),
                         check(2))
               if check(i)
               and check(i)]},
        lambda: check(
            3),
    ]
    rows[2]()
    if (check(1) and
            check(0) or
            check(1)):
        check(text)
    assert (check(1) <
            check(2) <
            check(3)), check(
                "said")
    x = y = check(
        1); check(x); check(
            y)
    return (check(1),
            check(2))


def defaults(a=check(1),
             b=check(
                 2),
             *, c: check(int) = check(3)):
    return check(a)


def given(*words):
    return check


@check
@given(check(1),
       check(2))
def decorated():
    check()


@check
class Decorated(
        check(object),
        metaclass=check(
            type)):
    check()

    @property
    @check
    def p(self):
        return check()


def shape_definitions():
    defaults()
    decorated()
    Decorated().p

    @check
    async def later():
        check()
    try:
        later().send(None)
    except StopIteration:
        check()


def shape_statements_of_many_lines():
    with walk_context(
            check(1)), \
            walk_context(
                check(2)):
        check()
    for _ in [check(1),
              check(2)]:
        check(
        )
    while check(
            False):
        pass
    try:
        raise KeyError(
            check(1))
    except (check(KeyError),
            ValueError):
        check()
    del {check(1):
         check(2)}[
             check(1)]
    global made_here
    made_here = \
        check(1)
    walk_context.x, walk_context.y = (check(1),
                                      check(2))


class walk_context:
    def __init__(self, *args):
        check()

    def __enter__(self):
        check()

    def __exit__(self, *why):
        check()


def run_source(source, name, change=None):
    tree = ast.parse(source, "<%s>" % name)
    if change:
        change(tree)
    names = {"check": check}
    exec(compile(tree, "<%s>" % name, "exec"), names)
    names[name]()


def shape_lines_far_apart():
    for gap in 0, 1, 2, 100, 126, 127, 128, 129, 253, 254, 255, 256, 257, 300, 1000, 33000, 70000:
        run_source(FAR % ("\n" * gap, "\n" * (gap // 2), "\n" * gap), "far")
    for first in 1 << 16, 1 << 24, (1 << 30) + 7:
        run_source(FAR % ("\n", "\n", ""), "far", lambda tree, n=first: ast.increment_lineno(tree, n))


def backwards(tree):
    """Later statements stand on earlier lines: macros and templates make such code."""
    body = tree.body[0].body
    for i, statement in enumerate(body):
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = 1 + (len(body) - i) * 397 % 1000


def shape_lines_backwards():
    run_source("def back():\n" + "    check()\n    x = check(1) + check(2)\n" * 20, "back", backwards)


def shape_long_functions():
    """Many instructions, with arguments that are extended."""
    for count in 300, 1200:
        body = "".join("    x%d = %d + x%d\n" % (i, i + 1000, i - 1) if i else "    x0 = 1\n" for i in range(count))
        run_source("def long():\n    check()\n" + body + "    check(x1 + x%d)\n    check()\n" % (count - 1), "long")
    run_source("def spread():\n    if check(1):\n" + "        check()\n" + "\n" * 400 +
               "    for i in range(2):\n        check()\n" + "\n" * 300 + "        check()\n", "spread")


def shape_tables_that_are_cut():
    """A line table of more than 16384 bytes: what lies behind has no line."""
    def last():
        buffer = walk.room()
        size = walk.take_free(buffer, walk.ROOM)
        got, _ = walk.read(buffer, size)
        if len(got) < 2 and not walk.tight:
            walk.fail("no stack; %s" % walk.why())
        return got[1:2], sys._getframe(1).f_lineno
    names = {"last": last, "seen": []}
    body = "    a = b = 1\n" + "    a = b\n\n    b = a + 1\n" * 9000
    exec(compile("def cut():\n    seen.append(last())\n" + body + "    seen.append(last())\n", "<cut>", "exec"), names)
    names["cut"]()
    (early, early_line), (late, late_line) = names["seen"]
    if early not in ([], [("<cut>", early_line, "cut")]) or (
            late not in ([], [("<cut>", 0, "cut")], [("<cut>", late_line, "cut")])):
        walk.fail("a long table: %r, %d, %r, %d" % (early, early_line, late, late_line))
    next(walk.counter)


def without_table(code):
    if sys.version_info >= (3, 10):
        return code.replace(co_linetable=b"")
    return code.replace(co_lnotab=b"")


def shape_without_lines():
    """Code without a table, and with a first line of 0."""
    names = {"check": check}
    exec(compile("def bare():\n\n    check()\n", "<bare>", "exec"), names)
    bare = names["bare"]
    for code in without_table(bare.__code__), bare.__code__.replace(co_firstlineno=0):
        bare.__code__ = code
        bare()
