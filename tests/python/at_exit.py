#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks while the interpreter ends: in a daemon thread that stays in C, in atexit's functions,
in __del__ at the very end, and when there is no Python any more.  Exit status 9 is right."""
import atexit
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import walk

walk.start()


def operators(depth):
    """As a thread that is in the middle of a long operator, without the lock."""
    return operators(depth - 1) if depth else walk.free.walk_for(3000, True)


class Late:
    def __init__(self):
        self.take, self.buffer, self.read = walk.take_free, walk.room(), walk.read
        self.write = os.write
        self.size, self.me = walk.ROOM, self.__del__.__func__.__code__

    def __del__(self):
        got, _ = self.read(self.buffer, self.take(self.buffer, self.size))
        if got and got[0][::2] != (self.me.co_filename, self.me.co_name):
            self.write(2, b"another stack at the end\n")


for n in range(int(sys.argv[1])):
    threading.Thread(target=operators, args=(n * 20,), daemon=True).start()
atexit.register(walk.check)
late = Late()
sys.late = late
walk.held.walk_at_exit()
time.sleep(0.02)
