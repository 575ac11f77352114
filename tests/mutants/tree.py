# SPDX-License-Identifier: Apache-2.0
"""Trees: copies of the repository in which faults are planted, and how they are made whole.

`base` is the repository without a fault, built; each job has a copy of it. A job's tree is
put back by comparing every file of it, build outputs, too, with base: size and time of
change. So nothing that was built from a fault stays, even after a run that was killed.
"""
import os
import shutil
import subprocess

# Neither sources nor built from them alone: large, and the same for all.
SHARED = ("venv", "cupti")
SKIPPED_IN_BUILD = ("mutants", "coverage", "fidelity")


def is_build(name):
    return name == "build" or name.startswith("build-")


def stamp(path):
    status = os.lstat(path)
    return status.st_size, status.st_mtime_ns, status.st_mode


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        subprocess.run(["chmod", "-R", "u+rwx", path], check=False)
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def mirror(source, target):
    """Makes target what source is; True where anything had to be done."""
    os.makedirs(target, exist_ok=True)
    want = {entry.name: entry for entry in os.scandir(source)}
    changed = False
    for entry in list(os.scandir(target)):
        like = want.get(entry.name)
        if like is None or like.is_dir(follow_symlinks=False) != entry.is_dir(follow_symlinks=False):
            remove(entry.path)
            changed = True
    for name, entry in want.items():
        to = os.path.join(target, name)
        if entry.is_dir(follow_symlinks=False):
            changed |= mirror(entry.path, to)
        elif entry.is_symlink():
            if not os.path.islink(to) or os.readlink(to) != os.readlink(entry.path):
                if os.path.lexists(to):
                    remove(to)
                os.symlink(os.readlink(entry.path), to)
        elif entry.is_file() and (not os.path.lexists(to) or stamp(to) != stamp(entry.path)):
            if os.path.lexists(to):
                os.unlink(to)           # a new file: a program may have the old one mapped
            shutil.copy2(entry.path, to)
            changed = True
    return changed


def same_bytes(one, other):
    try:
        with open(one, "rb") as a, open(other, "rb") as b:
            return a.read() == b.read()
    except OSError:
        return False


def refresh(source, target, top=True):
    """The sources of the repository into base. What differs gets the time of now: make must
    see a change even where an older file came back."""
    os.makedirs(target, exist_ok=True)
    left_out = (".git", "__pycache__", "log")
    want = {e.name: e for e in os.scandir(source)
            if e.name not in left_out and not (top and is_build(e.name))}
    for entry in list(os.scandir(target)):
        if entry.name not in want and not (top and is_build(entry.name)) and \
                entry.name != "__pycache__":
            remove(entry.path)
    for name, entry in want.items():
        to = os.path.join(target, name)
        if entry.is_dir(follow_symlinks=False):
            refresh(entry.path, to, False)
        elif entry.is_symlink():
            if not os.path.islink(to) or os.readlink(to) != os.readlink(entry.path):
                if os.path.lexists(to):
                    remove(to)
                os.symlink(os.readlink(entry.path), to)
        elif entry.is_file() and not (same_bytes(entry.path, to) and
                                      os.access(to, os.X_OK) == os.access(entry.path, os.X_OK)):
            known = os.path.lexists(to)
            if known:
                os.unlink(to)
            shutil.copy2(entry.path, to)
            if known:
                os.utime(to)


def seed_build(source, target):
    """What is built already is taken over, once; what is large and never changes is a link."""
    if os.path.isdir(target):
        return
    os.makedirs(target)
    for entry in os.scandir(source) if os.path.isdir(source) else ():
        to = os.path.join(target, entry.name)
        if entry.name in SKIPPED_IN_BUILD:
            continue
        if entry.name in SHARED or entry.name.startswith("suite-") or entry.is_symlink():
            os.symlink(os.path.realpath(entry.path), to)
        elif entry.is_dir():
            shutil.copytree(entry.path, to, symlinks=True)
        elif entry.is_file() and entry.name != ".setup.lock":
            shutil.copy2(entry.path, to)


class Tree:
    """A folder with sources and build outputs; make and tests run in it."""

    def __init__(self, path, make):
        self.path, self.command = path, make

    def environment(self, build):
        env = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SAN")}
        env.update(BUILD=build, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
        return env

    def make(self, targets, san="", jobs=1):
        """(built, what make said)"""
        build = f"build-{san}" if san else "build"
        words = self.command + [f"-j{jobs}", "-s", f"BUILD={build}"]
        words += [f"SAN={san}"] if san else []
        done = subprocess.run(["nice"] + words + targets, cwd=self.path, text=True, errors="replace",
                              env=self.environment(build), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode == 0, done.stdout

    def read(self, file):
        with open(os.path.join(self.path, file), encoding="utf-8") as opened:
            return opened.read()

    def plant(self, file, content):
        path = os.path.join(self.path, file)
        mode = os.stat(path).st_mode
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as opened:
            opened.write(content)
        os.chmod(path, mode)
