#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make wheel`: the same bytes each time, installed as pip does, used, and gone again."""
import atexit
import base64
import csv
import functools
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import prof

ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
MOST = 2 << 20
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = sys.stdin.read()
assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None
assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text.replace('"library"', '"bookshelf"'))
"""


def commit():
    """A commit that is made meanwhile does not change what is tested."""
    with open(os.path.join(prof.BUILD, "commit")) as file:
        return "COMMIT=" + file.read().strip()


def make(dist, **env):
    got = subprocess.run(["make", "-s", "--no-print-directory", "wheel", f"DIST={dist}", commit()], cwd=ROOT,
                         env={**os.environ, "MAKEFLAGS": "", "BUILD": prof.BUILD, **env},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert got.returncode == 0, got.stdout
    (wheel,) = glob.glob(os.path.join(dist, "*.whl"))
    return wheel


@functools.cache
def kept():
    """A folder with a wheel that is made once, for whoever looks at it."""
    folder = prof.folder()
    atexit.register(folder.__exit__, None, None, None)
    work = folder.__enter__()
    make(work)
    return work


def the_wheel():
    (path,) = glob.glob(os.path.join(kept(), "*.whl"))
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def listing(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names if not name.endswith(".pyc"))


def test_each_time_the_same():
    with prof.folder() as work:
        first = the_wheel()
        mask = os.umask(0o077)
        try:
            second = make(os.path.join(work, "b"), TZ="Asia/Tokyo", LANG="C")
        finally:
            os.umask(mask)
        assert content(first) == content(second)
        assert len(content(first)) <= MOST, f"{len(content(first))} bytes"
        debug = [content(path) for path in sorted(glob.glob(os.path.join(kept(), "*-debug.tar.xz")) +
                                                        glob.glob(os.path.join(work, "*", "*-debug.tar.xz")))]
        assert len(debug) == 2 and debug[0] == debug[1]


def test_elsewhere_the_same():
    """Another folder, other jobs, another mask and language: the same agent and launcher."""
    with prof.folder() as work:
        there = os.path.join(work, "a longer name")
        shutil.copytree(ROOT, there, symlinks=True,
                        ignore=shutil.ignore_patterns(".git", "build", "build-*", "dist", "log"))
        made = subprocess.run(["make", "-s", "-j9", "BUILD=build", commit()], cwd=there, umask=0o077, text=True,
                              env={**os.environ, "MAKEFLAGS": "", "TZ": "Asia/Tokyo", "LANG": "C"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert made.returncode == 0, made.stdout
        for name in ("proflaunch", "libproflaunch.so"):
            assert content(os.path.join(there, "build", name)) == content(os.path.join(prof.BUILD, name)), name


def test_its_record_is_of_what_is_in_it():
    with zipfile.ZipFile(the_wheel()) as wheel:
        names = set(wheel.namelist())
        (record,) = [name for name in names if name.endswith("/RECORD")]
        rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
        assert {row[0] for row in rows} == names
        for name, digest, size in rows:
            if name == record:
                continue
            told = hashlib.sha256(wheel.read(name)).digest()
            assert digest == "sha256=" + base64.urlsafe_b64encode(told).rstrip(b"=").decode(), name
            assert int(size) == len(wheel.read(name)), name
        assert not [name for name in names if name.endswith(".py")]
        (bill,) = [name for name in names if name.endswith(".cyclonedx.json")]
        parts = {part["name"] for part in json.loads(wheel.read(bill))["components"]}
        assert {"libdeflate", "libiberty", "zlib"} <= parts
        assert ("zydis" in parts) == any("libZydis" in name for name in names)


def tool(module, *words, **given):
    """A module of the tests' environment, or of the python that runs them."""
    python = VENV if os.path.exists(VENV) else sys.executable
    if prof.plain([python, "-c", f"import {module}"]).returncode:
        raise prof.Skip(f"{module} is not installed")
    got = prof.plain([python, *words], **given)
    assert got.returncode == 0, got.stdout + got.stderr
    return got.stdout


def test_its_bill_is_as_the_schema_has_it():
    with zipfile.ZipFile(the_wheel()) as wheel:
        (bill,) = [name for name in wheel.namelist() if name.endswith(".cyclonedx.json")]
        tool("cyclonedx", "-c", VALIDATE, input=wheel.read(bill).decode())


def test_auditwheel_believes_its_name():
    said = " ".join(tool("auditwheel", "-m", "auditwheel", "show", the_wheel()).split())
    floor = re.search(r'platform tag: "manylinux_2_(\d+)_x86_64"', said)
    assert floor and int(floor[1]) <= 28, said


def test_it_installs_runs_and_goes():
    with prof.folder() as work:
        venv, logdir = os.path.join(work, "venv"), os.path.join(work, "log")
        wheel = the_wheel()
        python, ours = os.path.join(venv, "bin", "python"), os.path.join(venv, "bin", "proflaunch")
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        before = listing(venv)
        subprocess.run([*pip, "install", "-q", "--no-index", wheel], check=True)
        said = prof.plain([ours, "--version"])
        assert said.returncode == 0 and said.stdout.startswith("proflaunch "), said.stdout + said.stderr
        parts = dict(line.split(None, 1) for line in prof.plain([ours, "--version", "--verbose"]).stdout.splitlines())
        assert parts["agent"].startswith(venv) and parts["zlib"].endswith(", linked in"), parts
        if glob.glob(os.path.join(venv, "lib", "libZydis*")):
            assert parts["Zydis"].startswith(venv), parts
        got = prof.plain([ours, "doctor", "--", python, "-c", "pass"])
        assert venv in got.stdout and "libproflaunch.so" in got.stdout, got.stdout + got.stderr
        got = prof.plain([ours, "--marker", "none", "--malloc", "all", "--logdir", logdir, "--",
                          python, "-c", "print(len(bytearray(5 << 20)))"])
        assert got.returncode == 0 and got.stdout == "5242880\n", got.stderr
        assert len(glob.glob(os.path.join(logdir, "*.pt.trace.json"))) == 1, got.stderr
        for page in ("man/man1/proflaunch.1", "bash-completion/completions/proflaunch",
                     "zsh/site-functions/_proflaunch", "fish/vendor_completions.d/proflaunch.fish"):
            assert os.path.getsize(os.path.join(venv, "share", page)), page
        subprocess.run([*pip, "uninstall", "-q", "-y", "proflaunch"], check=True)
        assert listing(venv) == before


def test_a_newer_c_library_is_refused():
    """A binary of this machine that asks for more than the name promises."""
    with prof.folder() as work:
        newer = [path for path in ("/bin/ls", "/bin/bash", sys.executable, "/usr/bin/gdb")
                 if os.path.exists(path) and "GLIBC_2.3" in prof.plain(["objdump", "-T", path]).stdout]
        if not newer:
            raise prof.Skip("nothing here asks for a newer C library")
        os.makedirs(os.path.join(work, "root", "bin"))
        os.symlink(os.path.realpath(newer[0]), os.path.join(work, "root", "bin", "proflaunch"))
        got = prof.plain([sys.executable, os.path.join(ROOT, "packaging", "wheel.py"),
                          os.path.join(work, "root"), os.path.join(work, "dist")])
        assert got.returncode and "needs glibc 2.3" in got.stderr, got.stdout + got.stderr
        assert not os.path.exists(os.path.join(work, "dist"))


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
