#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Programs that cannot be preloaded, started by programs that are: as without us."""
import os
import re
import shutil
import subprocess
import sys

import prof

SHOW = r"""
#include <stdio.h>
#include <string.h>
extern char **environ;
int main(int argc, char **argv)
{
	int rows = 0, ours = 0, other = 0;
	for (char **e = environ; e && *e; e++) {
		rows += **e == 'V';
		ours += strstr(*e, "libproflaunch") || !strncmp(*e, "PROF_", 5);
		other += strstr(*e, "libm.so.6") != NULL;
	}
	printf("%d arguments, last %s, %d rows, %d of ours, %d other\n", argc,
	       argc ? argv[argc - 1] : "-", rows, ours, other);
	return 6;
}
"""
ASIDE = r"(\d+) programs? ran without being profiled: (.*)"


CLEARED = "started without LD_PRELOAD in the environment (env -i and the like)"


def counts(run, cleared=None):
    """{"linked statically": 2} of the closing words; programs that were started without our
    environment apart, of which there are `cleared`."""
    found = re.findall(ASIDE, run.err)
    assert len(found) <= 1, run.err
    if not found:
        return {}
    parts = dict(reversed(part.split(" ", 1)) for part in re.split(r", (?=\d)", found[0][1]))
    parts = {why: int(n) for why, n in parts.items()}
    assert sum(parts.values()) == int(found[0][0]), run.err
    without = parts.pop(CLEARED, 0)
    assert cleared in (None, without), run.err
    return parts


class Shop:
    """A folder with targets; everything runs in it, bare and under us."""

    def __init__(self, path):
        self.path = path
        os.chmod(path, 0o755)
        with open(self.at("show.c"), "w") as file:
            file.write(SHOW)

    def at(self, name):
        return os.path.join(self.path, name)

    def build(self, name, *flags, compiler="gcc"):
        subprocess.run([compiler, "-o", self.at(name), self.at("show.c"), *flags], check=True,
                       capture_output=True)
        return self.at(name)

    def compare(self, command, **given):
        env = {"PATH": self.path + ":" + os.environ["PATH"], **given.pop("env", {})}
        bare = prof.plain(command, cwd=self.path, env={**os.environ, **env})
        log = self.at("log")
        run = prof.launch(command, log, env=env, check=False,
                          wrap=["env", "-C", self.path, *given.pop("wrap", [])], **given)
        assert run.status == bare.returncode, (command, run.status, bare, run.err)
        assert run.out == bare.stdout, (command, bare.stdout, run.out, run.err)
        lines = [line for line in run.err.splitlines() if not line.startswith("proflaunch: ")]
        assert lines == bare.stderr.splitlines(), (command, bare.stderr, run.err)
        run.bare = bare
        return run


def shop(test):
    def inside():
        with prof.folder() as path:
            test(Shop(path))
    inside.__name__ = test.__name__
    return inside


def test_what_python_asks_for_libraries_is_no_loss():
    """ctypes.util.find_library, of which torch makes use, runs ldconfig without our environment."""
    program = "import subprocess as s; [s.run([w, '-p'], env={}, stdout=s.DEVNULL, stderr=s.DEVNULL) for w in %r]"
    for words, cleared in ((["/sbin/ldconfig"], 0), (["/sbin/ldconfig", "/bin/ls"], 1)):
        with prof.folder() as log:
            run = prof.launch([sys.executable, "-c", program % (words,)], log, marker="none", malloc="all")
            assert counts(run, cleared) == {}, run.err


@shop
def test_ways_to_start(shop):
    """Shells, make, env, Python's and perl's ways: each start is counted once."""
    shop.build("show", "-static")
    with open(shop.at("Makefile"), "w") as file:
        file.write("all:\n\t-@./show a\n\t-@./show b; true\n")
    python = ("import os, subprocess\n"
              "subprocess.run(['./show'])\n"
              "subprocess.run(['./show'], close_fds=False)\n"
              "subprocess.run('./show', shell=True)\n"
              "subprocess.run(['show', 'x'], cwd='/')\n"
              "os.waitpid(os.posix_spawn('./show', ['show'], os.environ), 0)\n"
              "os.waitpid(os.posix_spawnp('show', ['show'], os.environ), 0)\n"
              "os.system('./show')\n"
              "print(os.popen('./show').read())\n"
              "os.execvpe('show', ['show', '1', '2'], os.environ)\n")
    perl = "system './show', 'x'; system './show; true'; print `show y`; exec './show'"
    rows = [
        (["bash", "-c", "./show; show a b; (exec ./show); ./show | cat; exec show"], 5),
        (["dash", "-c", "./show; show a b; $(./show > /dev/null); exec show"], 4),
        (["make", "-s"], 2),
        (["env", "show"], 1),
        (["env", "-i", "sh", "-c", "./show"], 0),
        (["nice", "timeout", "60", "setsid", "-w", "show"], 1),
        (["sh", "-c", "echo a b | xargs -n 1 ./show"], 2),
        (["find", "show", "-exec", "./show", "{}", ";"], 1),
        ([sys.executable, "-S", "-c", python], 9),
        (["perl", "-e", perl], 4),
    ]
    for command, times in rows:
        run = shop.compare(command)
        assert ", 0 of ours" in run.out, run.out
        want = {"linked statically": times} if times else {}
        assert counts(run, int(command[1] == "-i")) == want, (command, run.out, run.err)


@shop
def test_a_program_that_left_us_is_let_alone(shop):
    """Where nothing would load us there is nothing to take away, and nothing to count."""
    shop.build("show", "-static")
    run = prof.launch(["env", "-u", "LD_PRELOAD", "-u", "CUDA_INJECTION64_PATH", "./show"],
                      shop.at("log"), wrap=["env", "-C", shop.path], check=False)
    assert re.search(r"rows, [1-9]\d* of ours", run.out) and not counts(run, 1), (run.out, run.err)


@shop
def test_kinds_of_programs(shop):
    """What each one is, and what would have happened with us."""
    shop.build("static_pie", "-static-pie")
    shop.build("musl", compiler="musl-gcc")
    shop.build("asan", "-fsanitize=address")
    shop.build("tsan", "-fsanitize=thread")
    shop.build("asan_clang", "-fsanitize=address", compiler="clang")
    shop.build("tsan_clang", "-fsanitize=thread", compiler="clang")
    shop.build("asan_stripped", "-fsanitize=address", "-s", compiler="clang")
    shop.build("plain")
    for name, why in [("static_pie", "linked statically"), ("musl", "linked to musl")]:
        run = shop.compare(["sh", "-c", f"./{name}; ./{name}"])
        assert counts(run) == {why: 2}, run.err
    for name in "asan", "tsan", "asan_clang", "tsan_clang", "asan_stripped":
        run = shop.compare(["bash", "-c", f"./{name}; ./{name} x"])
        assert counts(run) == {"built with a sanitizer": 2}, (name, run.err)
    # Another processor: the C library says the same of it as bare.
    with open(shop.at("plain"), "rb") as file:
        image = bytearray(file.read())
    image[18] = 183
    with open(shop.at("other"), "wb") as file:
        file.write(image)
    os.chmod(shop.at("other"), 0o755)
    run = shop.compare(["bash", "-c", "./other 2> /dev/null; echo $?"])
    assert counts(run) == {}, run.err  # it did not run
    script = shop.at("script")
    with open(script, "w") as file:
        file.write(f"#!{shop.at('musl')} -x\n")
    os.chmod(script, 0o755)
    assert counts(shop.compare(["bash", "-c", "./script; ./script"])) == {"linked to musl": 2}
    log = prof.launch(["bash", "-c", "./plain; true"], shop.at("log"),
                      wrap=["env", "-C", shop.path])
    assert ", 0 of ours" not in log.out and not counts(log), (log.out, log.err)


@shop
def test_other_preloads_stay(shop):
    shop.build("show", "-static")
    libm = subprocess.run(["gcc", "-print-file-name=libm.so.6"], capture_output=True, text=True,
                          check=True).stdout.strip()
    run = shop.compare(["bash", "-c", "./show; ./show"], env={"LD_PRELOAD": libm})
    assert run.out.count(", 0 of ours, 1 other") == 2, run.out
    assert counts(run) == {"linked statically": 2}, run.err


@shop
def test_c_programs(shop):
    """The C library's whole family, its errors, large environments, small stacks."""
    show = shop.build("show", "-static")
    execs = prof.prog("execs")
    for way, times in [("family", 18), ("many", 3), ("threads", 200), ("handler", 1),
                       ("thread", 1)]:
        run = shop.compare([execs, way, show])
        assert way == "threads" or ", 0 of ours" in run.out, run.out
        assert counts(run) == {"linked statically": times}, (way, run.err)
    run = shop.compare([execs, "filter", show])
    assert run.status == 6 and not counts(run), run.err
    for place in "bare", "ours":
        os.mkdir(shop.at(place))
    bare = prof.plain([execs, "errors"], cwd=shop.at("bare"))
    ours = prof.launch([execs, "errors"], shop.at("log"), wrap=["env", "-C", shop.at("ours")])
    assert ours.out == bare.stdout and len(bare.stdout.splitlines()) > 40, (bare.stdout, ours.out)


def need_root():
    if os.geteuid():
        raise prof.Skip("only root can be somebody else")


@shop
def test_other_users(shop):
    """setuid programs of others, and users who cannot read our library."""
    need_root()
    shop.build("show")
    shop.build("raised")
    os.chown(shop.at("raised"), 65534, 65534)
    os.chmod(shop.at("raised"), 0o4755)
    run = shop.compare(["bash", "-c", "./raised; ./raised x"])
    assert counts(run) == {"setuid, setgid or with file capabilities": 2}, run.err
    shutil.copy(prof.AGENT, shop.at("libproflaunch.so"))
    shutil.copy(prof.LAUNCHER, shop.at("proflaunch"))
    os.chmod(shop.at("libproflaunch.so"), 0o600)
    command = ["setpriv", "--reuid", "65534", "--clear-groups", "./show"]
    bare = prof.plain(command, cwd=shop.path)
    words = ["./proflaunch", "--logdir", shop.at("log"), "--", *command]
    run = prof.Run(subprocess.run(words, cwd=shop.path, capture_output=True, text=True), "log")
    assert (run.out, run.status) == (bare.stdout, bare.returncode), (bare, run.out, run.err)
    assert "ld.so" not in run.err, run.err
    assert counts(run) == {"where libproflaunch.so could not be read": 1}, run.err


@shop
def test_other_roots(shop):
    need_root()
    root = shop.at("root")
    show = shop.build("show")
    for path in [show, *re.findall(r"/\S+", prof.plain(["ldd", show]).stdout)]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    run = shop.compare(["sh", "-c", f"chroot {root} {show}; chroot {root} {show} x"])
    assert ", 0 of ours" in run.out, run.out
    assert counts(run) == {"where libproflaunch.so could not be read": 2}, run.err


@shop
def test_inner_jobs(shop):
    shop.build("show", "-static")
    inner = f"{prof.LAUNCHER} -q --logdir inner -- sh -c './show; ./show'; ./show"
    run = prof.launch(["sh", "-c", inner], shop.at("log"), wrap=["env", "-C", shop.path],
                      check=False)
    assert counts(run) == {"linked statically": 1}, run.err
    assert "1 inner proflaunch job of its own" in run.err, run.err
    run = prof.launch(["sh", "-c", f"{inner}; {inner}"], shop.at("log"),
                      wrap=["env", "-C", shop.path], check=False)
    assert "2 inner proflaunch jobs of their own" in run.err, run.err


prof.main(sys.modules[__name__])
