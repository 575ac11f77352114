#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""roots.py [--package] [--torch] [--dist DIR] [--write] [SUITE...] - tries DIR's wheel in fresh roots of other systems.

A root is made by mmdebstrap once and kept as build/roots/SUITE.tar; a try unpacks it, runs packaging/try/try.sh
in it (bubblewrap, own process ids) and throws it away.  Needs root, mmdebstrap and bubblewrap.

  --package  DIR's Debian package, too
  --torch    the system's PyTorch is put into the root and two of its steps are recorded, where it has one
  --dist     where *.whl and *.deb are (dist)
  --write    the table goes to docs/measured/roots.md

PROF_UBUNTU_MIRROR is an Ubuntu archive; without it the one that lies beside apt's own Debian archive.
"""
import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
ROOTS = os.path.join(SOURCE, "build", "roots")
PAGE = os.path.join(SOURCE, "docs", "measured", "roots.md")
# Suite: its name, and whether it has python3-torch.
SYSTEMS = {
    "buster": ("Debian 10", False),
    "bullseye": ("Debian 11", True),
    "bookworm": ("Debian 12", True),
    "trixie": ("Debian 13", True),
    "focal": ("Ubuntu 20.04", False),
    "jammy": ("Ubuntu 22.04", False),
    "noble": ("Ubuntu 24.04", False),
}
# Who signs Ubuntu's archives: a package of theirs, known by its digest.
KEYS = "pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb"
KEYS_SHA256 = "0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f"
STEPS = ("install", "version", "doctor", "trace", "remove")


def run(*argv):
    """Of a command that takes longer than a quarter of an hour the status is 124."""
    return subprocess.run(("timeout", "-k", "5", "900") + argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def must(*argv):
    got = run(*argv)
    if got.returncode:
        sys.exit("roots: %s: %s" % (argv[0], got.stdout.strip()))
    return got.stdout


def ubuntu_mirror():
    if os.environ.get("PROF_UBUNTU_MIRROR"):
        return os.environ["PROF_UBUNTU_MIRROR"].rstrip("/")
    for site in must("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split():
        if site.rstrip("/").endswith("/debian"):
            return site.rstrip("/")[:-len("debian")] + "ubuntu"
    return sys.exit("roots: say where an Ubuntu archive is: PROF_UBUNTU_MIRROR=...")


def ubuntu_keys(mirror):
    """The keyring's path, unpacked once."""
    folder = os.path.join(ROOTS, "keys")
    path = os.path.join(folder, "usr/share/keyrings/ubuntu-archive-keyring.gpg")
    if not os.path.exists(path):
        with urllib.request.urlopen("%s/%s" % (mirror, KEYS), timeout=60) as answer:
            deb = answer.read()
        if hashlib.sha256(deb).hexdigest() != KEYS_SHA256:
            sys.exit("roots: ubuntu-keyring is not the package that it should be")
        with tempfile.NamedTemporaryFile(suffix=".deb") as file:
            file.write(deb)
            file.flush()
            must("dpkg-deb", "-x", file.name, folder)
    return path


def keep(suite, what, said):
    with open(os.path.join(ROOTS, "%s.%s.log" % (suite, what)), "w") as log:
        log.write(said)


def root_of(suite, torch):
    """The tar file of that system, made if it is not there; None and why it cannot be had."""
    tar = os.path.join(ROOTS, suite + ("-torch" if torch else "") + ".tar")
    if os.path.exists(tar):
        return tar, ""
    argv = ["mmdebstrap", "-q", "--variant=minbase", "--skip=cleanup/apt", "--aptopt=Acquire::Check-Valid-Until \"false\"",
            "--include=apt,python3-venv,ca-certificates" + (",python3-torch" if torch else "")]
    where = []
    if SYSTEMS[suite][0].startswith("Ubuntu"):
        mirror = ubuntu_mirror()
        where = ["deb [signed-by=%s] %s %s%s main universe" % (ubuntu_keys(mirror), mirror, suite, pocket)
                 for pocket in ("", "-updates", "-security")]
    new = tar[:-len(".tar")] + ".new.tar"
    got = run(*argv, suite, new, *where)
    if got.returncode:
        keep(suite, "root", got.stdout)
        if os.path.exists(new):
            os.unlink(new)
        return None, "mmdebstrap made no root"
    os.rename(new, tar)
    return tar, ""


def newer_pip():
    """For a pip that does not know the wheel's tag: the last one for Python 3.8."""
    folder = os.path.join(ROOTS, "pip")
    if not glob.glob(os.path.join(folder, "*.whl")):
        must(sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary", ":all:", "--python-version", "3.8",
             "-d", folder, "pip")
    return folder


def try_in(tar, how, file):
    """What try.sh found, {"wheel.install": "yes", ...}, and everything that was said."""
    with tempfile.TemporaryDirectory(dir=ROOTS) as work:
        folder = {name: os.path.join(work, name) for name in ("root", "work", "from")}
        for path in folder.values():
            os.mkdir(path)
        shutil.copy(file, folder["from"])
        shutil.copytree(newer_pip(), os.path.join(folder["from"], "pip"))
        must("tar", "-C", folder["root"], "-xf", tar, "--exclude=./dev/*")
        got = run("bwrap", "--bind", folder["root"], "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
                  "--bind", folder["work"], "/tried", "--ro-bind", folder["from"], "/from", "--ro-bind", os.path.join(HERE, "try"), "/try",
                  "--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf", "--unshare-pid", "--die-with-parent", "--cap-add", "ALL",
                  "--clearenv", "sh", "/try/try.sh", how)
        said, rows = got.stdout, {}
        for name in ("said", "rows"):
            if os.path.exists(os.path.join(folder["work"], name)):
                with open(os.path.join(folder["work"], name), errors="replace") as text:
                    said += text.read()
        for line in said.splitlines()[::-1]:
            key, _, value = line.partition(" ")
            if key in ("python", "glibc", "torch") or key.startswith(how + "."):
                rows.setdefault(key, value)
        return rows, said


def in_words(rows, how):
    if not any(key.startswith(how + ".") for key in rows):
        return "–"
    told = {step: rows["%s.%s" % (how, step)] for step in STEPS if "%s.%s" % (how, step) in rows}
    wrong = ["%s: %s" % (step, " ".join(what.split())) for step, what in told.items() if what != "yes"]
    more = " (pip %s)" % rows[how + ".pip"] if how + ".pip" in rows else ""
    return ("; ".join(wrong) or ("yes" if len(told) == len(STEPS) else "ended early")) + more


def torch_in_words(rows, how):
    key = how + ".torch"
    if rows.get(key, "yes") != "yes" or key not in rows:
        return rows.get(key, "–")
    return "2 steps" + "".join("; %s: %s" % (side, rows["%s.%s" % (how, side)]) for side in ("bare", "with")
                               if rows["%s.%s" % (how, side)] != "status 0, hung 0")


def table(found):
    yield "| system | Python | C library | wheel | package | torch | it with the wheel | it with the package |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for suite, rows in found.items():
        if "python" not in rows:
            yield "| %s | – | – | not tried: %s | – | – | – | – |" % (SYSTEMS[suite][0], rows["why"])
            continue
        cells = [rows["python"], rows["glibc"], in_words(rows, "wheel"), in_words(rows, "package"), rows["torch"].replace("-", "–"),
                 torch_in_words(rows, "wheel"), torch_in_words(rows, "package")]
        yield "| %s | %s |" % (SYSTEMS[suite][0], " | ".join(cell.replace("|", "/") for cell in cells))


HEAD = """# On other systems

`python3 packaging/roots.py %s` on %s; a virtual machine with 2 cores, x86-64, beside other work. Each try is in a fresh root of that
system, with its own Python. Tried: %s.

*yes*: it installs (the wheel by pip in a virtual environment, without an index; the package by `apt-get install ./…deb`), `proflaunch
doctor` says that all is well, a program of two steps (`packaging/try/steps.py`, `--malloc all --with-stack --marker symbol:getloadavg`) leaves a
trace with both and with lines of Python, and after `pip uninstall` or `apt-get purge --autoremove` no file is left. The
last two columns: two steps of training with the system's own PyTorch.

"""


def write(lines, args, tried):
    """What follows the table is written by hand, and stays."""
    rest = ""
    if os.path.exists(PAGE):
        with open(PAGE) as page:
            rest = page.read().partition("\n## ")
        rest = "".join(rest[1:])
    with open(PAGE, "w") as page:
        page.write(HEAD % (" ".join(["--torch"] * args.torch + ["--package"] * args.package + args.suites), time.strftime("%Y-%m-%d"),
                           ", ".join(map(os.path.basename, tried))))
        page.write("\n".join(lines) + "\n" + rest)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for option in ("--torch", "--package", "--write"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--dist", default=os.path.join(SOURCE, "dist"))
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    args = parser.parse_args()
    if args.write and args.suites:
        sys.exit("roots: --write writes the whole table: without SUITE")
    ways = [(how, sorted(glob.glob(os.path.join(args.dist, name)))) for how, name in
            (("wheel", "*.whl"), ("package", "proflaunch_*.deb")) if how == "wheel" or args.package]
    for how, files in ways:
        if len(files) != 1:
            sys.exit("roots: %d files are a %s in %s" % (len(files), how, args.dist))
    os.makedirs(ROOTS, exist_ok=True)
    found = {}
    for suite in args.suites or SYSTEMS:
        tar, why = root_of(suite, args.torch and SYSTEMS[suite][1])
        found[suite] = {"why": why}
        for how, files in ways if tar else ():
            rows, said = try_in(tar, how, files[0])
            found[suite].update(rows)
            keep(suite, how, said)
        print("\n".join(list(table({suite: found[suite]}))[2:]), flush=True)
    lines = list(table(found))
    if args.write:
        write(lines, args, [files[0] for _, files in ways])


main()
