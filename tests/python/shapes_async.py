# SPDX-License-Identifier: Apache-2.0
"""Coroutines, by hand and under asyncio."""
import asyncio
import contextlib

from walk import check


class Step:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        check()
        got = yield self.value
        return check(got)


async def deep(n):
    if n:
        return await deep(n - 1)
    check(await Step(1))
    return check(n)


def shape_coroutines():
    """Driven by hand: send, throw, close."""
    for depth in 0, 1, 6:
        c = deep(depth)
        c.send(None)
        with contextlib.suppress(StopIteration):
            c.send("x")
        c = deep(depth)
        c.send(None)
        with contextlib.suppress(KeyError):
            c.throw(KeyError)
        c = deep(depth)
        c.send(None)
        c.close()


class Entered:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return check(self)

    async def __aexit__(self, *why):
        check()
        await asyncio.sleep(0)
        return check(True)


async def counted(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            yield check(i)
    finally:
        await asyncio.sleep(0)
        check()


async def cancelled():
    try:
        check()
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        check()
        raise
    finally:
        check()


async def all_of_asyncio():
    async with Entered() as entered:
        check(entered)
        raise KeyError
    async for i in counted(3):
        check(i)
    [check(i) async for i in counted(2) if check(True)]
    {i: await asyncio.sleep(0, check(i)) for i in range(2)}
    task = asyncio.ensure_future(cancelled())
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await asyncio.gather(*[asyncio.ensure_future(deep_sleep(i)) for i in range(5)])
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(cancelled(), 0.001)
    g = counted(5)
    await g.__anext__()
    with contextlib.suppress(ZeroDivisionError):
        await g.athrow(ZeroDivisionError)
    g = counted(5)
    await g.asend(None)
    await g.aclose()
    loop = asyncio.get_event_loop()
    await loop.run_in_executor(None, check, 1)
    loop.call_soon(check)
    await asyncio.sleep(0)
    return check()


async def deep_sleep(n):
    for _ in range(n):
        await asyncio.sleep(0)
        check()
    return await deep_sleep(n - 1) if n else check()


def shape_asyncio():
    asyncio.run(all_of_asyncio())
