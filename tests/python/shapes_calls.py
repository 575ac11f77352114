# SPDX-License-Identifier: Apache-2.0
"""Functions, generators, exceptions, depth."""
import contextlib
import functools
import itertools
import operator
import sys
import threading

from walk import check, quick

NEW_SYNTAX = {
    (3, 9): """
def new_syntax():
    @(lambda function:
      check(function))
    def decorated():
        check()
    decorated()
""",
    (3, 10): """
def new_syntax():
    match [1, {"a": check(2)}]:
        case [int(x), {"a": y}] if check(True):
            check(
                y)
    with (contextlib.nullcontext(check()) as a,
          contextlib.nullcontext(
              check()) as b):
        check()
""",
    (3, 11): """
def new_syntax():
    try:
        try:
            raise ExceptionGroup("g", [ValueError(check()), KeyError(1)])
        except* ValueError:
            check()
        finally:
            check()
    except* KeyError as e:
        check()
""",
    (3, 12): """
def new_syntax():
    def generic[T: int](x: T) -> T:
        return check(x)
    type Alias = check(int)
    class Generic[T]:
        x: T = check()
        def method(self): return check()
    generic(1); Alias.__value__; Generic().method()
    check(f"{check('a')} {
        check('b')}")
""",
    (3, 14): """
def new_syntax():
    def annotated(x: check(int)): ...
    annotated.__annotations__
    t"{check(1)}"
    try: raise KeyError
    except ValueError, KeyError: check()
""",
}


def shape_loops():
    for _ in range(3):
        check()
    n = 0
    while n < check(3):
        n += 1
        if n == 2:
            continue
        check()
    else:
        check()
    for _ in (check(i) for i in range(3)):
        check()


def shape_lambdas():
    (lambda: check())()
    (lambda f=lambda x: check(x): f(1))()
    (lambda *a, **k: (lambda: check(a))())(1, 2, b=3)
    [f() for f in [lambda i=i: check(i) for i in range(3)]]


def shape_comprehensions():
    [check(i) for i in range(3)]
    [[check(i * j) for i in range(2)] for j in range(2) if check(True)]
    {check(i): check(j) for i, j in zip(range(2), "ab")}
    {check(i) for i in range(2)}
    list(check(i) for i in (check(j) for j in [check(k) for k in range(2)]))
    any(check(False) for _ in range(2))
    sum([x for y in [[check(1)], [check(2)]] for x in y])


def numbers(count):
    try:
        for i in range(count):
            got = yield check(i)
            check(got)
    except KeyError:
        check()
        yield "after"
        check()
    finally:
        check()


def delegating(depth, count):
    if depth:
        return (yield from delegating(depth - 1, count))
    yield from numbers(count)
    return check(7)


def shape_generators():
    list(numbers(3))
    g = numbers(5)
    next(g)
    g.send("x")
    g.throw(KeyError)
    g.close()
    g = numbers(3)
    next(g)
    del g                                   # closed by the last reference
    for depth in 0, 1, 5:
        list(delegating(depth, 3))
        g = delegating(depth, 3)
        next(g)
        g.throw(KeyError("x"))
        g.close()
        g = delegating(depth, 3)
        next(g)
        with contextlib.suppress(ZeroDivisionError):
            g.throw(ZeroDivisionError)
    for _ in range(40):                     # often enough for an interpreter that specializes
        for x in numbers(2):
            quick(x)
    list(itertools.chain(numbers(2), map(check, numbers(2)), zip(numbers(1), numbers(2))))
    first, *rest = numbers(4)
    print(*numbers(2), file=Sink())


class Sink:
    def write(self, text):
        check(text)


def wrapping(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        check()
        return function(*args, **kwargs)
    return wrapper


@wrapping
@functools.lru_cache(None)
@wrapping
def wrapped(n):
    return check(wrapped(n - 1) if n else n)


@functools.singledispatch
def dispatched(x):
    return check(x)


@dispatched.register(int)
def dispatched_int(x):
    return check(x)


def shape_wrappers():
    wrapped(4)
    functools.partial(wrapped, 2)()
    functools.partial(functools.partial(check), 1)()
    dispatched(1)
    dispatched("a")
    operator.methodcaller("__call__", 3)(check)
    f = check
    for _ in range(5):
        f = functools.partial(lambda g, x: g(x), f)
    f(1)


@contextlib.contextmanager
def managed():
    check()
    try:
        yield check(1)
    finally:
        check()


def shape_contexts():
    with managed() as m, managed():
        check(m)
    with contextlib.suppress(KeyError):
        with managed():
            raise KeyError(check())
    with contextlib.ExitStack() as stack:
        stack.enter_context(managed())
        stack.callback(check, 1)
        stack.push(lambda *why: check())
        check()
    with contextlib.closing(numbers(3)) as g:
        next(g)

    @managed()
    def decorated():
        check()
    decorated()


def leaves(how):
    try:
        check()
        if how == "return":
            return check(how)
        if how == "raise":
            raise ValueError(check())
    except ValueError as e:
        check(e)
        raise KeyError from e
    else:
        check()
    finally:
        check()


def shape_exceptions():
    leaves("return")
    leaves("end")
    try:
        leaves("raise")
    except KeyError as e:
        check(e.__traceback__)
        try:
            raise
        except KeyError:
            check()
    for _ in range(3):
        try:
            continue
        finally:
            check()
    try:
        assert check(False), check("said")
    except AssertionError:
        check()


def shape_new_syntax():
    for version, source in NEW_SYNTAX.items():
        if sys.version_info >= version:
            names = {"check": check, "contextlib": contextlib}
            exec(source, names)
            names["new_syntax"]()


def down(n):
    return down(n - 1) if n else quick()


def down_through_c(n):
    return max([n], key=lambda k: down_through_c(n - 1)) if n else quick()


def down_and_up(n, then):
    if n:
        quick() if n % then == 0 else None
        down_and_up(n - 1, then)
        quick() if n % then == 1 else None


def run_deep(function):
    """In a thread with a stack that is large enough."""
    limit, size = sys.getrecursionlimit(), threading.stack_size(256 << 20)
    sys.setrecursionlimit(7000)
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
    threading.stack_size(size)
    sys.setrecursionlimit(limit)


def shape_recursion():
    def depths():
        here = 0
        frame = sys._getframe()
        while frame:
            here, frame = here + 1, frame.f_back
        for depth in 50, 510, 511, 512, 513, 514, 1024, 5000, 512, 513, 100:
            down(depth - here - 2)          # and quick() is the innermost
        down_through_c(150)
        down_and_up(1200, 100)
    run_deep(depths)
    down_through_c(20)


def to_the_end(n):
    try:
        return to_the_end(n + 1)
    except RecursionError:
        return n


def shape_recursion_to_the_limit():
    def deep_enough():
        assert to_the_end(0) > 500
        quick()
    run_deep(deep_enough)
