#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line tables that CPython's compilers made, and the line that CPython gives each instruction.

line_tables.py PYTHON... | clang-format > line_tables.h     tables of each of these interpreters

The lines are PyCode_Addr2Line's; those of dis (to 3.9) or co_lines() (since 3.10) must be equal.
"""
import ctypes
import dis
import subprocess
import sys
import types

SHAPES = '''\
import contextlib


def twice(function):
    return lambda x: function(
        function(x)
    )


@twice
@twice
def choose(x, *more):
    """Every statement that makes the lines jump."""
    total = 0
    for i in range(x):
        if i % 2:
            total += i
        elif i % 3:
            continue
        else:
            total -= i
    try:
        with contextlib.suppress(KeyError) as a, open(
            "x"
        ) as b:
            total = max(
                x,
                total,
                *more
            )
    except (ValueError,
            TypeError) as error:
        raise RuntimeError from error
    finally:
        total = [
            y
            for y in range(total)
            if y
        ]
    return total


class Model:
    rate = 0.1

    async def far(self, x):
        async with x as y:
            yield {k: v for k,
                   v in y}
'''
# A line more than 127 lines down, one as far up again, and 400 lines in one function.
GAP = "\n" * 60 + "def gap(f, x):\n    y = f(\n        x," + "\n" * 200 + "        f(x)\n    )\n" + \
      "\n" * 130 + "    return f(\n\n        y)" + "\n" * 80 + "\n"
# A line whose code is longer than 255 bytes, and one behind it.
WIDE = "def wide(x):\n    y = (" + "x, " * 140 + ")\n    return y\n"
HEAD = '''\
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_tables - line tables of CPython's own compilers, by line_tables.py.
 *
 * Threads  any.  Memory  static.  Errors  none.  Units  bytes, lines.
 */
#ifndef TESTS_LINE_TABLES_H
#define TESTS_LINE_TABLES_H

#include "agent/core/codes.h"

struct line_table {
	const char *what; /* whose, and the function */
	enum code_lines lines;
	uint32_t first_line;
	const char *table; /* two digits for each byte */
	const char *want; /* "bytes:line " for runs of instructions; line 0 = none */
};

static const struct line_table line_tables[] = {'''
TAIL = '''\
};

#endif'''


def codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def lines(code):
    """The line of each two bytes of code, 0 = none."""
    function = ctypes.pythonapi.PyCode_Addr2Line
    function.argtypes = [ctypes.py_object, ctypes.c_int]
    return [max(function(code, at), 0) for at in range(0, len(code.co_code), 2)]


def lines_again(code):
    if sys.version_info >= (3, 10):
        return [line or 0 for begin, end, line in code.co_lines() for _ in range(begin, end, 2)]
    starts = dict(dis.findlinestarts(code))
    out = []
    for at in range(0, len(code.co_code), 2):
        out.append(starts.get(at, out[-1] if out else code.co_firstlineno))
    return out


def runs(found):
    last, out = None, []
    for line in found:
        if last is None or line != last[1]:
            last = [0, line]
            out.append(last)
        last[0] += 2
    return "".join("%d:%d " % (size, line) for size, line in out)


def wrapped(text):
    return "\n\t  ".join('"%s"' % text[at:at + 76] for at in range(0, len(text), 76)) or '""'


def print_tables():
    version = sys.version_info
    form = "LNOTAB" if version < (3, 10) else "LINETABLE" if version < (3, 11) else "LOCATIONS"
    for text in (SHAPES, GAP, WIDE):
        for code in codes(compile(text, "shapes.py", "exec")):
            found = lines(code)
            assert found == lines_again(code), code
            if text is not SHAPES and code.co_name == "<module>":
                continue
            table = code.co_lnotab if version < (3, 10) else code.co_linetable
            print('\t{ "%d.%d %s",' % (*version[:2], code.co_name))
            print("\t  CODE_%s," % form)
            print("\t  %d," % code.co_firstlineno)
            print("\t  %s," % wrapped(table.hex()))
            print("\t  %s }," % wrapped(runs(found)))


def main():
    if sys.argv[1:] == ["--tables"]:
        print_tables()
        return
    print(HEAD)
    for python in sys.argv[1:]:
        print(subprocess.run([python, __file__, "--tables"], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout, end="")
    print(TAIL)


if __name__ == "__main__":
    main()
