# SPDX-License-Identifier: Apache-2.0
"""Keeps small objects, and writes which line made how many of how many bytes: argv[1]."""
import json
import os
import sys
import time

COUNT = 3000
kept, expected = [], {}


def here():
    """The caller's line, as a call stack shows it."""
    frame = sys._getframe(1)
    return "%s(%d): %s" % (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def note(line, objects):
    """An object's size has the collector's header; a list's items are a block of their own."""
    expected[line] = [len(objects), sum(map(sys.getsizeof, objects))]
    kept.append(objects)


def strings():
    made, i = [None] * COUNT, 0
    while i < COUNT:
        made[i] = bytes(200); line = here()
        i += 1
    note(line, made)


class Slots:
    __slots__ = ("a", "b")


def instances():
    made = [None] * COUNT
    for i in range(COUNT):
        made[i] = Slots(); line = here()
    note(line, made)


def pairs():
    """A tuple of 21 is in no list of free ones."""
    made = [None] * COUNT
    for i in range(COUNT):
        made[i] = tuple(made[:21]); line = here()
    note(line, made)


def grown(n):
    """Blocks that move, and end larger than what lies in pools."""
    made = [bytearray() for _ in range(100)]
    for block in made:
        for _ in range(n):
            block.extend(b"12345678")
    kept.append(made)


def dropped():
    for _ in range(COUNT):
        bytes(300)


def main():
    # The first call makes what is made once; then the interpreter is asked.
    here()
    until = time.time() + .3
    while time.time() < until:
        kept.append(bytearray(2000))
    for work in (strings, instances, pairs, dropped):
        work()
    grown(10)
    grown(100)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(expected, file)
    os._exit(0)     # the interpreter's end would free all of it


if __name__ == "__main__":
    main()
