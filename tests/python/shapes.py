#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way in which a Python frame can be on the stack: PYTHON_WALK=… shapes.py [-v] [-t] [SHAPE…]

At each place the stack that the agent reads is the interpreter's own, file by file, line by
line, name by name.  Prints "ok COUNT"; at the first difference both stacks, and exits with 1.
-v: how long each takes; -t: in a spool that soon is full, where no stack is right, too.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import walk

walk.tight += [word for word in sys.argv if word == "-t"]
walk.start()        # some shapes are those of an import

import shapes_async
import shapes_beside
import shapes_calls
import shapes_classes
import shapes_entries
import shapes_lines
import shapes_made


def main():
    tell = "-v" in sys.argv
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    for module in shapes_calls, shapes_async, shapes_classes, shapes_entries, shapes_lines, shapes_beside, shapes_made:
        for name, function in list(vars(module).items()):
            if not name.startswith("shape_") or (wanted and name[6:] not in wanted):
                continue
            walk.shape[0] = name[6:]
            begin = time.perf_counter()
            function()
            if tell:
                print("%-24s %.2f s" % (name[6:], time.perf_counter() - begin), flush=True)
    walk.done()


if __name__ == "__main__":
    main()
