# SPDX-License-Identifier: Apache-2.0
"""multi.py WAY - processes of Python's own making, and what the parent sees of them."""
import asyncio
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys


def square(n):
    return sum([n * n for _ in range(1000)]) // 1000


def by_pool(method):
    with multiprocessing.get_context(method).Pool(3) as pool:
        print(pool.map(square, range(20)))


def by_executor():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(list(pool.map(square, range(20))))


def by_subprocess():
    for close in (True, False):
        for i in range(10):
            done = subprocess.run(["sh", "-c", f"ls /proc/self/fd | wc -l; exit {i}"],
                                  close_fds=close, stdout=subprocess.PIPE, check=False)
            print(done.returncode, done.stdout)
    with open("kept", "wb") as kept:
        done = subprocess.run(["sh", "-c", f"echo into >&{kept.fileno()}"],
                              pass_fds=[kept.fileno()], check=False)
    print(done.returncode, kept.name)


async def by_asyncio():
    async def one(n):
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", f"echo {n}; exit {n}", stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return out, process.returncode
    print(await asyncio.gather(*[one(n) for n in range(10)]))


def by_fork():
    pids = []
    for n in range(20):
        pid = os.fork()
        if not pid:
            os._exit(square(n) % 200)
        pids.append(pid)
    print(sorted(os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]) for _ in pids))
    try:
        os.waitpid(-1, 0)
    except ChildProcessError as error:
        print(error)


if __name__ == "__main__":
    way = sys.argv[1]
    if way == "asyncio":
        asyncio.run(by_asyncio())
    elif way in ("fork", "spawn", "forkserver"):
        by_pool(way)
    else:
        {"threads": by_executor, "subprocess": by_subprocess, "plain": by_fork}[way]()
