#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`recover` finishes what is dead, and leaves alone what lives, is foreign or is false."""
import contextlib
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
HEADER = 64 * 1024      # SPOOL_HEADER
OFD_SETLK = 37


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def start_time(pid):
    return int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19])


HOST, BOOT = read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id")


FIELDS = ("magic version header_size cap used ready reserved kept host boot_id job pid ppid "
          "start_time pid_ns config").split()


def layout():
    """Where the fields of struct spool_header lie, and how large they are."""
    rows = "".join(f'printf("{f} %zu %zu\\n", offsetof(struct spool_header, {f}), '
                   f"sizeof(((struct spool_header *)0)->{f}));" for f in FIELDS)
    code = ('#include "agent/core/spool.h"\n#include <stdio.h>\n'
            'int main(void) { printf("number %u 0\\n", SPOOL_VERSION);' + rows + "}")
    with tempfile.TemporaryDirectory() as scratch:
        exe = os.path.join(scratch, "layout")
        subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-I.", "-o", exe, "-xc", "-"],
                       input=code, text=True, check=True)
        lines = subprocess.run([exe], capture_output=True, text=True, check=True).stdout
    return {f: (int(at), int(size)) for f, at, size in map(str.split, lines.splitlines())}


LAYOUT = layout()


def header(pid, start, host=HOST, boot=BOOT, job="", used=HEADER):
    head = bytearray(HEADER)
    values = {"magic": b"PROFSPL1", "version": LAYOUT["number"][0], "header_size": HEADER,
              "cap": 1 << 20, "used": used, "ready": HEADER, "reserved": HEADER, "kept": 1,
              "host": host.encode(), "boot_id": boot.encode(), "job": job.encode(), "pid": pid,
              "ppid": 1, "start_time": start, "pid_ns": os.stat("/proc/self/ns/pid").st_ino}
    for field, value in values.items():
        at, size = LAYOUT[field]
        if isinstance(value, int):
            value = value.to_bytes(size, "little")
        head[at:at + len(value)] = value
    return bytes(head)


class Place:
    def __init__(self, root):
        self.logdir = os.path.join(root, "log")
        self.spools = os.path.join(self.logdir, ".proflaunch")
        os.makedirs(self.spools)

    def put(self, name, data):
        path = os.path.normpath(os.path.join(self.spools, name))
        with open(path, "wb") as file:
            file.write(data)
        return path

    def recover(self, where=None, **env):
        return subprocess.run([LAUNCHER, "recover", where or self.logdir], text=True,
                              capture_output=True, check=False, timeout=300,
                              env={**os.environ, **env})


@contextlib.contextmanager
def locked(path, byte=None):
    """As its process holds a spool, or a launcher or finisher its byte of the page."""
    with open(path, "r+b") as file:
        start, length = (0, 0) if byte is None else (byte, 1)
        fcntl.fcntl(file, OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, start, length, 0))
        yield file


def gone():
    """Pid and start time of a process that has ended."""
    child = subprocess.Popen(["sleep", "60"])
    who = child.pid, start_time(child.pid)
    child.kill()
    child.wait()
    return who


def expect(run, status, *texts):
    assert run.returncode == status, (run.returncode, run.stdout, run.stderr)
    for text in texts:
        assert text in run.stderr, (text, run.stderr)


def test_nothing_to_do(place):
    expect(place.recover(), 0, "nothing to recover")
    assert not os.path.exists(place.spools)


def test_no_directory(place):
    expect(place.recover(os.path.join(place.logdir, "none")), 1, "No such file or directory")
    path = place.put("a", b"")
    expect(place.recover(path), 1, "neither a log directory nor a trace file")


def test_a_dead_process_without_records_leaves_nothing(place):
    pid, start = gone()
    place.put(f"{HOST}_{pid}.{start}.spool", header(pid, start))
    expect(place.recover(), 0)
    assert not os.path.exists(place.spools)


def test_a_live_process_keeps_its_spool(place):
    pid = os.getpid()
    path = place.put("a.spool", header(pid, start_time(pid)))
    with locked(path) as file:
        with mmap.mmap(file.fileno(), 4096):
            expect(place.recover(), 0, f"process {pid} is still running")
        assert os.path.exists(path)
        # The lock is there, but not in its memory: a child of an image that exec replaced.
        expect(place.recover(), 0)
    assert not os.path.exists(path)


def test_an_inherited_lock_does_not_save_a_dead_owner(place):
    pid, start = gone()
    path = place.put("a.spool", header(pid, start))
    with locked(path):
        expect(place.recover(), 0)
    assert not os.path.exists(path)


def test_one_of_another_namespace_lives_by_its_lock(place):
    pid, start = gone()
    head = bytearray(header(pid, start))
    head[LAYOUT["pid_ns"][0]] ^= 1
    path = place.put("a.spool", bytes(head))
    with locked(path):
        expect(place.recover(), 0, "its process is still running")
    assert os.path.exists(path)
    expect(place.recover(), 0)
    assert not os.path.exists(path)


def test_what_a_process_is_making_stays(place):
    os.makedirs(os.path.join(place.spools, "vm_1.2"))
    path = place.put("vm_1.2/3.4.5.new", b"")
    with locked(path):
        expect(place.recover(), 0)
        assert os.path.exists(path)
    expect(place.recover(), 0)
    assert not os.path.exists(path)


def test_spools_of_other_log_directories_stay(place):
    """Several share a place; which is whose says the option, not a text that ends so."""
    (pid, start), shared = gone(), place.logdir + "-spools"
    at = LAYOUT["config"][0]
    for stays, lines in ((True, f"logdir = /elsewhere\nmetadata.logdir = {place.logdir}\n"),
                         (False, f"metadata.logdir = x\nlogdir = {place.logdir}\n")):
        head = bytearray(header(pid, start))
        head[at:at + len(lines)] = lines.encode()
        os.makedirs(os.path.join(shared, "vm_1.2"), exist_ok=True)
        path = os.path.join(shared, "vm_1.2", f"{HOST}_{pid}.{start}.spool")
        with open(path, "wb") as file:
            file.write(head)
        expect(place.recover(PROF_SPOOL=shared), 0)
        assert os.path.exists(path) == stays, lines


def test_a_trace_that_cannot_be_read_fails(place):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.join(place.logdir, "x.pt.trace.json"))
        expect(place.recover(), 1, "x.pt.trace.json: No such device or address")


def test_two_recovers_do_not_meet(place):
    pid, start = gone()
    path = place.put("a.spool", header(pid, start))
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        expect(place.recover(), 0)
        assert os.path.exists(path)


def test_a_folder_that_was_copied_is_finished(place):
    """On a disk of this machine nobody else can be at work."""
    pid, start = gone()
    path = place.put("a.spool", header(pid, start, host="elsewhere", boot="other-boot"))
    expect(place.recover(), 0)
    assert not os.path.exists(path)


def test_this_host_before_its_reboot_is_dead(place):
    path = place.put("a.spool", header(os.getpid(), start_time(os.getpid()), boot="old"))
    expect(place.recover(), 0)
    assert not os.path.exists(path)


def job(place):
    """A job's folder with a page, and a spool of a dead process."""
    pid, start = gone()
    name = f"{HOST}_{pid}.{start}"
    folder = os.path.join(place.spools, name)
    os.mkdir(folder)
    page = place.put(os.path.join(name, "page"), b"PROFJOB7".ljust(400000, b"\0"))
    spool = place.put(os.path.join(name, f"{pid}.{start}.1f.spool"),
                      header(pid, start, job=name))
    return folder, page, spool


def test_a_running_launcher_finishes_its_own(place):
    for byte, who in ((0, "the proflaunch that is running it"),
                      (1, "the proflaunch that finishes it")):
        _, page, spool = job(place)
        with locked(page, byte):
            expect(place.recover(), 0, f"{page}: left to {who}")
            assert os.path.exists(spool) and os.path.exists(page)
        expect(place.recover(), 0)
        assert not os.path.exists(place.spools)
        os.makedirs(place.spools)


def test_a_job_s_folder_may_be_named(place):
    folder, _, _ = job(place)
    expect(place.recover(folder), 0)
    assert not os.path.exists(folder)


def test_what_others_keep_there_stays(place):
    """A log directory is not ours alone: only spools are."""
    mine = [place.put(os.path.join("..", name), b"mine")
            for name in ("rows", "a.new", "page")]
    expect(place.recover(), 0)
    assert all(map(os.path.exists, mine))


def test_what_is_no_spool_is_left_alone(place):
    victim = os.path.join(place.logdir, "victim")
    with open(victim, "wb") as file:
        file.write(header(*gone()))
    os.symlink(victim, os.path.join(place.spools, "link.spool"))
    os.mkfifo(os.path.join(place.spools, "fifo.spool"))
    os.mkdir(os.path.join(place.spools, "dir.spool"))
    place.put("garbage.spool", b"garbage " * 1000)
    other = bytearray(header(*gone()))
    other[LAYOUT["version"][0]] += 7
    place.put("version.spool", bytes(other))
    before = sorted(os.listdir(place.spools))
    expect(place.recover(), 1, "link.spool", "no regular file", "garbage.spool", "version.spool")
    assert sorted(os.listdir(place.spools)) == before
    assert os.path.exists(victim)


def test_cut_files_are_taken_for_what_they_are(place):
    pid, start = gone()
    place.put(f"{pid}.{start}.1.spool", b"")                     # died before its first byte
    place.put(f"{pid}.{start}.2.spool", b"\0" * HEADER)          # ... before its header
    place.put(f"{os.getpid()}.{start_time(os.getpid())}.3.spool", b"\0" * 100)
    place.put("lies.spool", header(pid, start, used=1 << 40))    # claims more than there is
    alive = place.put(f"{os.getpid()}.{start_time(os.getpid())}.4.spool", b"\0" * 5000)
    short = place.put("short.spool", header(pid, start)[:1000])
    with locked(alive) as file, mmap.mmap(file.fileno(), 4096):
        expect(place.recover(), 1, "short.spool")
    assert sorted(os.listdir(place.spools)) == sorted(map(os.path.basename, [alive, short]))


def test_the_spool_directory_itself_may_be_named(place):
    place.put("a.spool", header(*gone()))
    expect(place.recover(place.spools), 0)
    assert not os.path.exists(place.spools)


def test_of_another_user(place):
    if os.getuid():
        return
    path = place.put("a.spool", header(*gone()))
    os.chown(path, 65534, 65534)
    expect(place.recover(), 1, "no regular file of yours")
    assert os.path.exists(path)


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as root:
                test(Place(root))
            print("ok", name)
            sys.stdout.flush()


main()
