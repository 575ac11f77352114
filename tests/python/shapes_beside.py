# SPDX-License-Identifier: Apache-2.0
"""What goes on beside the walk: threads, fork, signals, debuggers, other interpreters; and
what must be as it was after it."""
import _thread
import gc
import os
import queue
import signal
import sys
import threading
import time

import walk
from walk import check, quick


def nested(n):
    return nested(n - 1) if n else [quick() for _ in range(2)]


def alive(count):
    for i in range(count):
        nested(i % 9)
        list(generated(i % 4))
        sorted([3, 1, 2], key=lambda x: quick(x))


def generated(n):
    yield quick()
    if n:
        yield from generated(n - 1)


def shape_threads():
    """Four at once, switched as often as can be; none is disturbed by the others."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=alive, args=(40,), name="t%d" % i) for i in range(4)]
    for thread in threads:
        thread.start()
    alive(20)
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)


def shape_short_threads():
    """States of threads are used again: nothing of the last one's stack is left."""
    for i in range(60):
        thread = threading.Thread(target=nested, args=(i % 7,))
        thread.start()
        thread.join()
    for i in range(20):
        done = threading.Lock()
        done.acquire()
        _thread.start_new_thread(lambda: (check(), done.release()), ())
        done.acquire()


def shape_handed_over():
    """A generator that goes on in another thread, as executors and servers do."""
    def moving():
        for _ in range(4):
            yield check()
    g = moving()
    next(g)
    thread = threading.Thread(target=lambda: [check(), next(g), check(), next(g)])
    thread.start()
    thread.join()
    list(g)
    results = queue.Queue()
    thread = threading.Thread(target=lambda: results.put(check(1)))
    thread.start()
    check(results.get())
    thread.join()
    threading.Timer(0, check).run()


def shape_bare_threads():
    """Threads of C: nothing, but for what they call back."""
    for loaded in walk.held, walk.free:
        if loaded is walk.free and (loaded.walk_bare(None) or loaded.walk_bare(walk.CALLBACK(lambda: check()))):
            walk.fail("a thread without Python has a stack")
    if walk.held.walk_bare(None):
        walk.fail("a thread without Python has a stack")


def in_child(function):
    """The child's exit status is 0 if all was well there."""
    pid = os.fork()
    if not pid:
        if walk.free.walk_child():
            walk.fail("no spool in the child")
        function()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        walk.fail("in a child")


def shape_fork():
    def child():
        check()
        alive(3)
        in_child(check)
        threads = [threading.Thread(target=alive, args=(3,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def and_parent():
        nested(5)
        in_child(child)
        nested(5)
    and_parent()
    thread = threading.Thread(target=and_parent)
    thread.start()
    and_parent()
    thread.join()
    os.register_at_fork(before=lambda: check(), after_in_parent=lambda: check())
    in_child(check)


def shape_audit():
    """In a child: a hook of this kind stays."""
    def audited(event, args):
        if event == "walked":
            check()

    def child():
        sys.addaudithook(audited)
        sys.audit("walked", 1)
    in_child(child)


def work():
    """What is traced."""
    for i in range(2):
        nested(i)
    list(generated(2))
    for begun in False, True:               # thrown into before its first instruction, and later
        g = generated(1)
        try:
            next(g) if begun else None
            g.throw(
                KeyError)
        except KeyError:
            quick()
    return [i
            for i in
            range(2)]


def shape_trace():
    """A debugger's function is called at each line, and asks for stacks itself."""
    def traced(frame, event, arg):
        if frame.f_code.co_filename.endswith("shapes_beside.py"):
            quick()
            return traced
        return None
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(None)


def shape_trace_instructions():
    def traced(frame, event, arg):
        frame.f_trace_opcodes = True
        quick()
        return traced
    sys.settrace(traced)
    try:
        [i for i in generated(1)]
    finally:
        sys.settrace(None)


def shape_profile():
    sys.setprofile(lambda frame, event, arg: quick())
    try:
        work()
    finally:
        sys.setprofile(None)
    import cProfile
    profile = cProfile.Profile()
    profile.runcall(work)
    threading.setprofile(lambda frame, event, arg: quick())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.setprofile(None)


def shape_monitoring():
    """3.12 and later: code is changed in place while events are asked for."""
    monitoring = getattr(sys, "monitoring", None)
    if not monitoring:
        return
    tool, events = 4, monitoring.events
    monitoring.use_tool_id(tool, "walk")
    kinds = [getattr(events, name) for name in (
        "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "CALL", "LINE", "INSTRUCTION", "JUMP", "BRANCH", "RAISE",
        "PY_THROW", "PY_UNWIND", "EXCEPTION_HANDLED", "STOP_ITERATION") if hasattr(events, name)]
    busy = []

    def seen(*args):
        if not busy and args[0].co_filename.endswith("shapes_beside.py"):
            busy.append(1)
            quick()
            busy.pop()
    for kind in kinds:
        monitoring.register_callback(tool, kind, seen)
    for kind in kinds:
        monitoring.set_events(tool, kind)
        work()
    monitoring.set_events(tool, sum(kinds))
    work()
    monitoring.set_events(tool, 0)
    work()
    monitoring.free_tool_id(tool)


def shape_signals():
    """A handler runs between two instructions, wherever that is."""
    def handler(number, frame):
        quick()
        hits.append(1)
        if more:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
    hits, more = [], True
    before = signal.signal(signal.SIGALRM, handler)
    os.kill(os.getpid(), signal.SIGALRM)
    until = time.monotonic() + 20
    while len(hits) < 300 and time.monotonic() < until:
        work()
    more = False                        # one that is pending would set the timer anew
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(0.001)
    signal.signal(signal.SIGALRM, before)
    if len(hits) < 5:
        walk.fail("signals: %d" % len(hits))


# In the other interpreter: its stack there, or the outer one's.
INNER = """
import sys
sys.path[:0] = [%r]
import walk
walk.shape[0] = "a subinterpreter"
def inner():
    buffer = walk.room()
    for take in walk.take_free, walk.take_held:
        size, want = take(buffer, walk.ROOM), walk.own(sys._getframe())
        got, flags = walk.read(buffer, size)
        if walk.OTHER_OWNER:
            want = %r if got else []
        if got != want:
            walk.differ(want, got, flags, "in a subinterpreter")
inner()
[inner() for i in range(2)]
"""


def make_interpreter():
    """None: this version has none, or no ctypes in it."""
    try:
        if sys.version_info >= (3, 13):
            import _interpreters as module
            return module, module.create("legacy")
        import _xxsubinterpreters as module
        return module, module.create(isolated=False) if sys.version_info >= (3, 9) else module.create()
    except ImportError:
        return None, None


def shape_subinterpreters():
    module, other = make_interpreter()
    if not module:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    check()
    # Its stack while the other one runs is the line's.
    error = module.run_string(other, INNER % (here, walk.own(sys._getframe())))
    if error:
        walk.fail("in a subinterpreter: %s" % (error,))
    module.destroy(other)
    check()


def shape_errno():
    for value in 0, 4711:
        for loaded in walk.held, walk.free:
            for _ in range(200):            # some are compared with the interpreter's
                if loaded.walk_errno(value) != value:
                    walk.fail("errno is another")


def shape_pending_exception():
    try:
        walk.held.walk_pending()
    except KeyError as e:
        if e.args != ("it is kept",):
            walk.fail("another exception: %r" % e)
    else:
        walk.fail("the exception is gone")
    check()


def walk_often(take, count):
    for _ in range(count):
        take()


def counted():
    """What would grow if a walk kept something, or gave back what it did not have."""
    frame = sys._getframe(1)
    watched = [walk_often, walk_often.__code__, counted.__code__, frame.f_code, frame.f_code.co_name,
               frame.f_code.co_filename, None, walk]
    return [sys.getrefcount(x) for x in watched] + [len(gc.get_objects()), sys.getallocatedblocks()]


def shape_nothing_stays():
    gc.collect()
    for take in walk.free.walk_id, walk.held.walk_id:
        for _ in range(3):                  # what Python itself keeps, it has by then
            before = counted()
            walk_often(take, 1000)
            after = counted()
        differ = [b - a for a, b in zip(before, after)]
        if any(abs(x) > 3 for x in differ):
            walk.fail("1000 walks left %s" % differ)
        next(walk.counter)


def shape_same_ids():
    """Equal stacks have equal ids, and are found without being stored again."""
    def taken():
        return {take() for take in (walk.free.walk_id, walk.held.walk_id) for _ in range(200)}
    ids = taken()
    if len(ids) != 1 or (0 in ids and not walk.tight):
        walk.fail("ids differ: %s" % ids)
    walk.free.walk_for(20, bool(walk.tight))
