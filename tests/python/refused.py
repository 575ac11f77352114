#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An interpreter that nobody has looked at: no stacks, and a reason.  For Python 2.7, too."""
import ctypes
import os

library = ctypes.PyDLL(os.environ["PYTHON_WALK"])
library.walk_why.restype = ctypes.c_char_p
library.walk_start.argtypes = [ctypes.c_uint64]
got = [library.walk_start(64 << 20) for _ in range(3)]
ids = [library.walk_id() for _ in range(3)]
print("started %s, ids %s: %s" % (got, ids, library.walk_why().decode()))
