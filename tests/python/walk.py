# SPDX-License-Identifier: Apache-2.0
"""The calling thread's stack as the agent reads it, next to the interpreter's own.

$PYTHON_WALK is build/prog/python_walk.so.  check() compares the whole stack from its caller
on: files, lines and names.  The first difference ends the process, with both stacks.
For Python 3.8 and later, without packages.
"""
import atexit     # torch imports it, too: without it only a thread with the lock is read
import ctypes
import dis
import functools
import itertools
import os
import sys
import threading

MOST = 512        # STACKS_MOST: frames that are kept
TEXT = 1023       # CODES_TEXT: bytes of a name
ROOM = 4 << 20
CUT = 1           # STACK_CUT
CAP = 1 << 30     # bytes of the spool
TIGHT = 2 << 20
OTHER_OWNER = sys.version_info < (3, 12)   # a subinterpreter's thread state is not the one that is found

library = os.environ["PYTHON_WALK"]
held, free = ctypes.PyDLL(library), ctypes.CDLL(library)      # with the interpreter's lock, and without
for loaded in held, free:
    loaded.walk_start.argtypes = [ctypes.c_uint64]
    loaded.walk_why.restype = ctypes.c_char_p
    loaded.walk_count.restype = ctypes.c_uint64
    loaded.walk_id.restype = ctypes.c_uint32
    loaded.walk_pending.restype = ctypes.c_uint32
    loaded.walk_bare.restype = ctypes.c_uint32
    loaded.walk_for.restype = ctypes.c_uint64
    loaded.walk_prove.restype = ctypes.c_bool
take_held, take_free = held.walk_stack, free.walk_stack
for take in take_held, take_free:
    take.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
CALLBACK = ctypes.CFUNCTYPE(None)

# To 3.11 throw() passes generators that delegate without the interpreter's loop, though their frames are on
# the stack; and who traces is called from a part of the loop that no symbol names.
APART = ("generators", "profile") if sys.version_info < (3, 12) else ()

counter = itertools.count()
shape = ["start"]               # what is tried now
failed = []
turn = itertools.count(1)
spare = []
tight = []                      # not empty: the spool may have no room


def start():
    threading.excepthook, sys.unraisablehook = thread_fails, ignored
    got = held.walk_start(TIGHT if tight else CAP)
    if got != 1:
        fail("no stacks: %s, %s" % (got, why()))


def why():
    text = held.walk_why()
    return text and text.decode()


def fail(what):
    """Exits at once, whichever thread this is; with $WALK_ON the process goes on after the first
    failure of a shape."""
    sys.stdout.flush()
    text = "Python %s, %s: %s\n" % (sys.version.split()[0], shape[0], what)
    if shape[0] not in failed:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    failed.append(shape[0])
    if "WALK_ON" not in os.environ:
        os._exit(1)


def thread_fails(args):
    fail("%s: %s" % (args.exc_type.__name__, args.exc_value))


def ignored(args):
    if args.exc_type is not SystemExit:
        fail("%s: %s, in %r" % (args.exc_type.__name__, args.exc_value, args.object))


def room():
    """A buffer that nobody uses, whoever interrupts whom; give it back to spare."""
    try:
        return spare.pop()
    except IndexError:
        return ctypes.create_string_buffer(ROOM)


@functools.lru_cache(4096)
def clip(text):
    """As the spool has it: UTF-8, cut between two characters; a lone surrogate is a '?'."""
    whole = text.encode("utf-8", "replace")
    return whole[:TEXT].decode("utf-8", "ignore") if len(whole) > TEXT else whole.decode()


def line_of(frame):
    """To 3.9 a frame that is traced says the line of its last line event, which can be before
    the instruction's."""
    if sys.version_info >= (3, 10) or frame.f_trace is None:
        return frame.f_lineno or 0
    line = frame.f_code.co_firstlineno
    for begin, next_line in dis.findlinestarts(frame.f_code):
        if begin > frame.f_lasti:
            break
        line = next_line
    return line


def own(frame):
    """The interpreter's answer, innermost first: 513 frames at most."""
    stack = []
    while frame is not None and len(stack) <= MOST:
        code = frame.f_code
        stack.append((clip(code.co_filename), line_of(frame), clip(code.co_name)))
        frame = frame.f_back
    return stack


def read(buffer, size):
    """What the library wrote: the frames, and the stack's flags."""
    return read_all(buffer, size)[:2]


def read_all(buffer, size):
    """And of each frame, whether C called it; and how often C called the interpreter's loop."""
    if size < 0:
        fail("no room for the text")
    if not size:
        return [], 0, [], 0
    data = ctypes.string_at(buffer, size)
    at = data.index(b"\n") + 1
    depth, flags, loops = map(int, data[:at].split())
    stack, entries = [], []
    for _ in range(depth):
        end = data.index(b"\n", at) + 1
        line, entry, file, name = map(int, data[at:end].split())
        at = end + file + name
        stack.append((data[end:end + file].decode(), line, data[end + file:at].decode()))
        entries.append(entry)
    return stack, flags, entries, loops


def show(stack):
    """The frames, with the first and the last ones alone of a deep stack."""
    rows = ["    %r, %d, %r" % (file[-300:], line, name[-300:]) for file, line, name in stack]
    return "\n".join(rows[:24] + ["    ..."] + rows[-4:] if len(rows) > 28 else rows)


def differ(want, got, flags, says):
    first = next((i for i, pair in enumerate(zip(want, got)) if pair[0] != pair[1]), min(len(want), len(got)))
    fail("%s; frame %d of %d and %d, flags %d%s\n  the interpreter:\n%s\n  the agent:\n%s" % (
        says, first, len(want), len(got), flags, ", " + why() if why() else "", show(want), show(got)))


def settle(buffer, size, want, says):
    got, flags, entries, loops = read_all(buffer, size)
    spare.append(buffer)
    if tight and not got:
        return
    if got != want[:MOST] or flags != (CUT if len(want) > MOST else 0):
        differ(want, got, flags, says)
    if sum(entries) != loops and not flags & CUT and shape[0] not in APART:
        differ(want, got, flags, "%s; C called %r, the loop %d times" % (says, entries, loops))
    next(counter)


def compare(take):
    """One walk.  The interpreter's answer is taken in the same line: it is this frame's."""
    buffer = room()
    size, want = take(buffer, ROOM), own(sys._getframe())
    settle(buffer, size, want, "with the lock" if take is take_held else "without the lock")


def check(value=None):
    """Both ways, and the agent's own comparison."""
    compare(take_free)
    compare(take_held)
    if not held.walk_prove():
        fail("the agent's own check: %s" % why())
    return value


def quick(value=None):
    """One of these: where many are wanted."""
    if next(turn) % 3:
        compare(take_free)
    elif not held.walk_prove():
        fail("the agent's own check: %s" % why())
    return value


def done():
    """The last line; and none of the agent's own checks has failed."""
    counts = [held.walk_count(what) for what in range(4)]
    if why():
        fail("no stacks any more: " + why())
    print("python %s: counted %s" % (sys.version.split()[0], counts))
    if failed:
        sys.exit("failed: %s" % {name: failed.count(name) for name in failed})
    print("ok %d" % next(counter), flush=True)
