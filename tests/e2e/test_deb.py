#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""`make deb`, `make install`, `make release`: the same bytes each time, what is promised in them, gone again."""
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import prof

ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
DEB = os.path.join(ROOT, "packaging", "deb.sh")
OURS = ["usr/bin/proflaunch", "usr/include/proflaunch.h", "usr/lib/proflaunch/libproflaunch.so",
        *(f"usr/share/man/man1/proflaunch{verb}.1.gz" for verb in
          ("", "-bottleneck", "-diff", "-doctor", "-export", "-gate", "-memory", "-ranks", "-recover", "-report")),
        "usr/share/man/man5/profile.conf.5.gz",
        "usr/share/bash-completion/completions/proflaunch", "usr/share/zsh/vendor-completions/_proflaunch",
        "usr/share/fish/vendor_completions.d/proflaunch.fish",
        "usr/share/doc/proflaunch/copyright", "usr/share/doc/proflaunch/changelog.gz"]
made = {}


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def run(words, **given):
    got = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **given)
    assert got.returncode == 0, f"{words}\n{got.stdout[-3000:]}"
    return got.stdout


def files(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def wheel():
    spec = importlib.util.spec_from_file_location("wheel", os.path.join(ROOT, "packaging", "wheel.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package():
    """The package out of the objects that are there: quick. Made once for all tests."""
    if not shutil.which("dh"):
        raise prof.Skip("debhelper is not installed")
    if not made:
        made["folder"] = prof.folder()
        work = made["folder"].__enter__()
        run([DEB, work, prof.BUILD], env={**os.environ, "TMPDIR": work, "COMMIT": "123456789abc"})
        made["paths"] = sorted(glob.glob(os.path.join(work, "*.deb")))
    return made["paths"]


def ours():
    (path,) = [path for path in package() if "dbgsym" not in path]
    return path


def installing(verb, **words):
    """Out of a folder without objects, none of which make has to look at."""
    with prof.folder() as built:
        for name in ("proflaunch", "libproflaunch.so"):
            os.symlink(os.path.join(prof.BUILD, name), os.path.join(built, name))
        return run(["make", "-s", "-o", "all", verb, "BUILD=" + built, *(f"{k}={v}" for k, v in words.items())],
                   cwd=ROOT, env={**os.environ, "MAKEFLAGS": ""})


# What debhelper compiles anew of each kind of source: C for both binaries, assembler, text. That all
# objects of another folder are those of this one is test_wheel.py's.
ANEW = ("base", "cuda", "page")


def test_twice_the_same():
    """Once more, in another folder, by nine jobs, in another mask, zone and language."""
    first = package()
    with prof.folder() as work:
        there, objects = os.path.join(work, "another-place"), os.path.join(work, "objects")
        shutil.copytree(ROOT, there, symlinks=True,
                        ignore=shutil.ignore_patterns(".git", "build", "build-*", "dist", "log"))
        for kind in ("so", "bin"):
            shutil.copytree(os.path.join(prof.BUILD, kind), os.path.join(objects, kind), ignore=shutil.ignore_patterns(*ANEW))
        assert len(files(objects)) < len(files(os.path.join(prof.BUILD, "so")) + files(os.path.join(prof.BUILD, "bin"))) - 100
        second = os.path.join(work, "b")
        run([os.path.join(there, "packaging", "deb.sh"), second, objects], umask=0o077, cwd=work,
            env={**os.environ, "TMPDIR": work, "COMMIT": "123456789abc", "TZ": "Asia/Tokyo", "LANG": "C", "DEB_BUILD_OPTIONS": "parallel=9"})
        assert len(first) == 2
        for path in first:
            assert content(path) == content(os.path.join(second, os.path.basename(path))), path


def test_lintian_finds_no_error():
    if not shutil.which("lintian"):
        raise prof.Skip("lintian is not installed")
    paths = package()
    run(["lintian", "--allow-root", "--fail-on", "error", *paths], env={**os.environ, "TMPDIR": os.path.dirname(paths[0])})


def test_it_holds_what_is_promised_and_runs():
    with prof.folder() as work:
        run(["dpkg-deb", "-x", ours(), work])
        there = files(work)
        assert not set(OURS) - set(there), set(OURS) - set(there)
        assert all(name in OURS or name.startswith("usr/share/doc/proflaunch/") for name in there), there
        launcher, log = os.path.join(work, "usr", "bin", "proflaunch"), os.path.join(work, "log")
        needed = prof.plain(["readelf", "-d", launcher]).stdout
        assert "libz.so" in needed and "libdeflate.so" in needed, needed
        agent = re.findall(r"NEEDED.*\[(.*)\]", prof.plain(["readelf", "-d", os.path.join(work, OURS[2])]).stdout)
        assert all(name.startswith(("libc.so", "ld-linux")) for name in agent), agent
        for name in (OURS[0], OURS[2]):
            wheel().check_floor(os.path.join(work, name))
        bare = prof.plain(["/bin/ls", work])
        got = prof.plain([launcher, "--malloc", "all", "--file", "one", "--logdir", log, "--", "/bin/ls", work])
        assert got.returncode == 0 and got.stdout.split() == sorted(bare.stdout.split() + ["log"]), got.stderr
        prof.strict([os.path.join(log, "one.pt.trace.json")])
        parts = dict(line.split(None, 1) for line in prof.plain([launcher, "-V", "--verbose"]).stdout.splitlines())
        assert parts["commit"] == "123456789abc" and parts["agent"].startswith(os.path.join(work, OURS[2])), parts
        assert "libz.so" in parts["zlib"] and "libdeflate.so" in parts["libdeflate"], parts
        shutil.copy(os.path.join(work, OURS[2]), os.path.join(work, "usr", "lib"))      # an older install's
        said = prof.plain([launcher, "doctor", "--", "true"]).stdout
        assert os.path.join(work, OURS[2]) in said, said


def test_its_head():
    said = run(["dpkg-deb", "-f", ours()])
    assert re.search(r"^Recommends: libdw1, libzydis4.0", said, re.M), said
    assert re.search(r"^Suggests: python3-torch$", said, re.M), said
    assert "libc6 (>= 2.28)" in said, said
    depends = re.search(r"^Depends: (.*)", said, re.M)[1]
    assert {word.split()[0] for word in depends.split(", ")} == {"libc6", "libdeflate0", "zlib1g"}, depends


def test_purge_leaves_nothing():
    with prof.folder() as work:
        os.makedirs(os.path.join(work, "var/lib/dpkg/updates"))
        os.makedirs(os.path.join(work, "var/lib/dpkg/info"))
        open(os.path.join(work, "var/lib/dpkg/status"), "w", encoding="utf-8").close()
        dpkg = ["env", "PATH=/usr/sbin:/sbin:" + os.environ["PATH"], "dpkg", "--root=" + work, "--log=/dev/null", "--force-depends", "--force-not-root"]
        run([*dpkg, "-i", ours()])
        assert os.path.exists(os.path.join(work, "usr/bin/proflaunch"))
        run([*dpkg, "--purge", "proflaunch"])
        assert os.listdir(work) == ["var"] and os.listdir(os.path.join(work, "var")) == ["lib"]
        assert not os.listdir(os.path.join(work, "var/lib/dpkg/info")) or \
            set(os.listdir(os.path.join(work, "var/lib/dpkg/info"))) == {"format"}


def test_uninstall_leaves_what_was_there():
    with prof.folder() as work:
        for words in ({"PREFIX": os.path.join(work, "a b", "c")}, {"DESTDIR": os.path.join(work, "d e"), "PREFIX": "/usr"},
                      {"PREFIX": os.path.join(work, "g "), "DESTDIR": "/", "BUNDLE": 1}, {"PREFIX": os.path.join(work, "f"), "LIBDIR": os.path.join(work, "f", "lib", "proflaunch"), "BUNDLE": 0}):
            into = words.get("DESTDIR", "/").rstrip("/")
            top = into or words["PREFIX"]
            theirs = {os.path.join(top, "bin", "other"), os.path.join(top, "lib", "empty")}
            installing("install", **words)
            installing("install", **words)
            got = prof.plain([os.path.join(into + words["PREFIX"], "bin", "proflaunch"), "--version"])
            assert got.returncode == 0 and text("VERSION").strip() in got.stdout, got.stderr
            installing("uninstall", **words)
            assert files(work) == [] and not (os.path.exists(top) and os.listdir(top)), (words, files(work))
            for path in theirs:
                os.makedirs(path)
            installing("install", **words)
            installing("uninstall", **words)
            left = {os.path.join(where, name) for where, names, _ in os.walk(top) for name in names}
            assert files(work) == [] and theirs <= left, (words, left)
            shutil.rmtree(top, ignore_errors=True)


def test_a_tree_that_differs_from_its_commit_is_not_released():
    with prof.folder() as work:
        os.makedirs(os.path.join(work, "packaging"))
        shutil.copy(os.path.join(ROOT, "packaging", "release.sh"), os.path.join(work, "packaging"))
        run(["git", "init", "-q", work])
        got = prof.plain([os.path.join(work, "packaging", "release.sh"), os.path.join(work, "dist")])
        assert got.returncode == 1 and got.stderr.startswith("release: what git status names (1) is"), got.stderr
        assert got.stderr.count("\n") == 1 and not os.path.exists(os.path.join(work, "dist"))


def test_an_install_that_fails_can_be_taken_away():
    with prof.folder() as work:
        prefix, broken = os.path.join(work, "p"), os.path.join(work, "build")
        os.makedirs(broken)
        for name in ("proflaunch", "libproflaunch.so"):
            with open(os.path.join(broken, name), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n[ $2 != proflaunch-memory.1 ]\n")
            os.chmod(os.path.join(broken, name), 0o755)
        script = os.path.join(ROOT, "packaging", "install.sh")
        got = prof.plain([script, "install"], env={**os.environ, "BUILD": broken, "PREFIX": prefix})
        assert got.returncode and os.path.exists(os.path.join(prefix, "bin", "proflaunch")), got.stderr
        run([script, "uninstall"], env={**os.environ, "PREFIX": prefix})
        assert not os.path.exists(prefix), files(work)
        for words in ({"PREFIX": "relative"}, {"PREFIX": prefix}):
            got = prof.plain([script, "uninstall"], env={**os.environ, **words})
            assert got.returncode and got.stderr.count("\n") == 1, got.stderr


def test_a_build_knows_its_commit():
    with prof.folder() as work:
        for name in ("Makefile", "VERSION", ".gitattributes", "packaging/commit"):
            os.makedirs(os.path.dirname(os.path.join(work, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(work, name))

        def git(*words):
            return run(["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a", *words]).strip()

        def told(folder=work):
            env = {k: v for k, v in os.environ.items() if k not in ("COMMIT", "MAKEFLAGS")}
            subprocess.run(["make", "-s", "build/commit", "BUILD=build"], cwd=folder, env=env, check=True, stderr=subprocess.DEVNULL)
            return content(os.path.join(folder, "build", "commit")).decode().strip()
        git("init", "-q")
        git("add", "-A", "--", "Makefile", "VERSION", ".gitattributes", "packaging")
        for words in ("one", "two"):
            git("commit", "-q", "--allow-empty", "-m", words)
            assert told() == git("rev-parse", "--short=12", "HEAD")
        other = os.path.join(work, "packed")
        os.makedirs(other)
        run(["sh", "-c", "git -C \"$1\" archive HEAD | tar -x -C \"$2\"", "sh", work, other])
        assert told(other) == git("rev-parse", "--short=12", "HEAD")
        with open(os.path.join(work, "VERSION"), "a", encoding="utf-8") as file:
            file.write("\n")
        assert told() == git("rev-parse", "--short=12", "HEAD") + "-dirty"
        shutil.rmtree(os.path.join(work, ".git"))
        shutil.copy(os.path.join(other, "packaging", "commit"), os.path.join(work, "packaging", "commit"))
        assert told() == told(other)


def test_one_version():
    version = text("VERSION").strip()
    assert text("debian", "changelog").startswith(f"proflaunch ({version}) ")
    assert re.search(r"^## (\S+)", text("CHANGELOG.md"), re.M)[1] == version


def test_other_peoples_work_is_told():
    page, copyright_of = text("THIRD-PARTY.md").lower(), text("debian", "copyright")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for part, _, licence, url in wheel().PARTS:
        assert [row for row in rows if row.startswith(f"| {part} ") and licence.lower() in row and url in row], part
    archives = re.findall(r"-l:lib(\w+)\.a", text("Makefile"))
    assert len(archives) >= 3
    for name in archives:
        assert [row for row in rows if re.match(rf"\| (lib)?{name}\b|\| {name}lib\b", row)], name
    for name in ("libdeflate", "libiberty", "zlib"):
        assert f"linked/{name}/" in copyright_of, name
    for name in re.findall(r"L/lib(\w+)\.so", text("packaging", "install.sh")):
        assert name == "proflaunch" or f"| {name.lower()} " in page, name


if __name__ == "__main__":
    try:
        prof.main(sys.modules[__name__])
    finally:
        if made:
            made["folder"].__exit__(None, None, None)
