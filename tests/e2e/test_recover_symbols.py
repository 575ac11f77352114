#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`recover` gives call stacks of finished files names and lines, and changes nothing else."""
import copy
import gzip
import json
import os
import re
import shutil
import stat
import subprocess
import sys

import prof
import test_symbolize as symbolize

MEMBER = 256 * 1024     # OUTPUT_BLOCK


class Sample:
    """A trace file with stacks of a program of ours, unresolved."""

    def __init__(self, place, name="t_1.1.pt.trace.json", program=None, **heap):
        self.path = os.path.join(place, name)
        self.program = program or symbolize.compiled(place, "-O2")
        self.offsets = symbolize.calls(self.program)[:40]
        base = os.path.basename(self.program)
        frames = ["known (a.c:3)"] + [f"?? ({base}+{at:#x})" for at in self.offsets] + \
            ["?? (libgone.so+0x10)", "?? (0x7f00)"]
        count = len(self.offsets)
        self.heap = {
            "mode": "all", "steps": [3, 4], "symbols": False,
            "modules": [{"path": self.program,
                         "build_id": symbolize.build_id(self.program)},
                        {"path": place + "/libgone \"é].so", "build_id": "00ff"}],
            "frames": frames,
            "raw": [[i + 1, 0, at] for i, at in enumerate(self.offsets)] + [[count + 1, 1, 16]],
            "stacks": [[i, 0, i + 1, count + 2] for i in range(1, count + 1)] + [[], [0]],
            "sites": [{"stack": 0, "op": "a\\]\"[{", "allocs": 3}], **heap}
        self.tail = "".join(f'{{"ph": "X", "name": "e{i}", "ts": {i}.5}},\n' for i in range(9000))

    def text(self):
        heap = ",\n".join(f'"{key}" :  {json.dumps(value, ensure_ascii=False)}'
                          for key, value in self.heap.items())
        return ('{\n"schemaVersion": 1, "deviceProperties": [{"a": "}]"}],\n'
                f'"proflaunch": {{"version": "1", "heap": {{ {heap} }},\n"cost": {{}}}},\n'
                f'"traceEvents": [\n{self.tail}{{"a": "heap"}}],\n"traceName": "x"}}\n')

    def write(self):
        data = self.text().encode()
        if self.path.endswith(".gz"):
            data = b"".join(gzip.compress(data[at:at + MEMBER], 1)
                            for at in range(0, len(data), MEMBER))
        with open(self.path, "wb") as file:
            file.write(data)
        os.chmod(self.path, 0o640)
        return self

    def wanted(self, gone=True):
        """The heap object as it should be, by addr2line's word for symbols."""
        want = copy.deepcopy(self.heap)
        frames, lists = [], []
        answers = dict(zip(self.offsets, symbolize.ask(self.program, self.offsets)))
        raw = {frame: (module, at) for frame, module, at in want["raw"]}
        want["raw"] = []
        for i, text in enumerate(want["frames"]):
            module, at = raw.get(i, (None, None))
            lists.append([])
            for new in answers[at] if module == 0 else [text]:
                if new not in frames or module == 1:
                    frames.append(new)
                    lists[-1].append(len(frames) - 1)
                else:
                    lists[-1].append(frames.index(new))
            if module == 1:
                want["raw"].append([lists[-1][0], 1, at])
        want["frames"] = frames
        want["stacks"] = [sum((lists[i] for i in stack), []) for stack in want["stacks"]]
        if not gone:
            want["symbols"], want["modules"] = True, []
        return want


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read().decode()


def recover(*names, status=0):
    got = subprocess.run([prof.LAUNCHER, "recover", *names], capture_output=True, text=True,
                         check=False, timeout=300)
    assert got.returncode == status, (got.returncode, got.stdout, got.stderr)
    return got


def around(text):
    """What stands before and behind the values that may change."""
    return text[:text.index('"symbols"')], text[text.index('"sites"'):]


def check(sample, said="1 trace file have names now", gone=True, **given):
    before = read(sample.path)
    want = sample.wanted(gone)
    got = recover(*given.get("names", [sample.path]))
    after = read(sample.path)
    assert around(before) == around(after)
    heap = json.loads(after)["proflaunch"]["heap"]
    assert heap == want, (heap, want)
    assert stat.S_IMODE(os.stat(sample.path).st_mode) == 0o640
    assert not [n for n in os.listdir(os.path.dirname(sample.path)) if n.endswith(".part")]
    return got


def test_a_file_by_name():
    with prof.folder() as place:
        sample = Sample(place).write()
        got = check(sample)
        assert "names now" in got.stderr, got.stderr
        assert not got.stdout, got.stdout
        # What is left cannot be known: nothing is written again.
        inode = os.stat(sample.path).st_ino
        assert "nothing to recover" in recover(sample.path).stderr
        assert os.stat(sample.path).st_ino == inode


def test_all_of_them_known():
    with prof.folder() as place:
        sample = Sample(place)
        sample.heap["raw"].pop()
        check(sample.write(), gone=False)
        assert json.loads(read(sample.path))["proflaunch"]["heap"]["symbols"] is True


def test_compressed():
    with prof.folder() as place:
        sample = Sample(place, "t_1.1.pt.trace.json.gz").write()
        with open(sample.path, "rb") as file:
            before = file.read()
        check(sample)
        with open(sample.path, "rb") as file:
            after = file.read()
        last = before.rindex(b"\x1f\x8b\x08")
        assert after.endswith(before[last:])    # members behind the head as they were


def cut(name):
    """A long name loses its end, but not its place in the source."""
    place = name[name.rindex("("):] if "(" in name else ""
    return name if len(name) < 200 else f"{name[:195 - len(place)]}... {place}"


def test_allocations_name_their_site():
    """Each as the table would: by the first frames that ask for memory."""
    with prof.folder() as place:
        for end in ("pt.trace.json", "pt.trace.json.gz"):
            sample = Sample(place, f"t_1.1.{end}")
            stacks = len(sample.heap["stacks"])
            lines = sample.tail.splitlines(True)
            # Everywhere, also where a member of the compressed file ends.
            for at in range(0, len(lines), 3):
                number = at % (stacks + 2) if at % 4 else "null"
                lines[at] = (f'{{"ph":"i","cat":"heap","s":"t","name":"malloc {at} B","args":'
                             f'{{"bytes":{at},"stack":{number},"site":"?? (old+0x1)",'
                             f'"op":"a\\"b"}}}},\n')
            lines[1] = '{"ph":"i","cat":"heap","name":"' + "x" * 9000 + '"},\n'
            sample.tail = "".join(lines)
            before = sample.text()
            sample.write()
            recover(sample.path)
            after = read(sample.path)
            heap = json.loads(after)["proflaunch"]["heap"]
            texts = [[heap["frames"][i] for i in stack] for stack in heap["stacks"]]
            changed = 0
            for old, new in zip(before.splitlines()[-9003:], after.splitlines()[-9003:]):
                found = re.search(r'"stack":(\d+),"site"', old)
                if found and int(found[1]) < stacks and texts[int(found[1])]:
                    names = [cut(name) for name in texts[int(found[1])]]
                    first = next((i for i, name in enumerate(names) if not re.match(
                        r"(void )?std::|operator new|malloc|\?\?", name)), 0)
                    site = " < ".join(names[first:first + 3])
                    old = old.replace('"?? (old+0x1)"', json.dumps(site, ensure_ascii=False))
                    changed += 1
                assert old == new, (old, new)
            assert changed > 2000, changed


def test_a_large_head():
    with prof.folder() as place:
        for name in ("t_1.1.pt.trace.json", "t_2.1.pt.trace.json.gz"):
            sample = Sample(place, name, pad=["x" * 100] * 40000).write()
            sample.heap["pad"] = sample.heap.pop("pad")
            check(sample.write())


def test_a_directory_and_its_children():
    with prof.folder() as place:
        os.mkdir(os.path.join(place, "children"))
        one = Sample(place, "a_1.1.pt.trace.json").write()
        two = Sample(place, "children/b_2.1.pt.trace.json.gz", program=one.program).write()
        got = check(one, names=[place])
        assert "2 trace files have names now" in got.stderr, got.stderr
        assert json.loads(read(two.path))["proflaunch"]["heap"] == two.wanted()


def test_files_that_are_left_alone():
    with prof.folder() as place:
        program = symbolize.compiled(place, "-O2")

        def left(name, text):
            path = os.path.join(place, name)
            data = text.encode()
            if name.endswith(".gz") and text:
                data = gzip.compress(data)
            with open(path, "wb") as file:
                file.write(data)
            before = os.stat(path)
            recover(path)
            after = os.stat(path)
            assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), name
            with open(path, "rb") as file:
                assert file.read() == data

        sample = Sample(place, program=program)
        whole = sample.text()
        for end in ("pt.trace.json", "pt.trace.json.gz"):
            left(f"a_1.1.{end}", "")
            left(f"b_1.1.{end}", "no json at all")
            left(f"c_1.1.{end}", whole[:whole.index('"stacks"')])
            left(f"d_1.1.{end}", whole.replace('"proflaunch"', '"other"'))
            left(f"e_1.1.{end}", whole.replace('"symbols" :  false', '"symbols" :  true'))
            left(f"f_1.1.{end}", whole.replace('"stacks" :  [[1', '"stacks" :  [[10000'))
            left(f"g_1.1.{end}", whole.replace('"raw" :  [[1, 0', '"raw" :  [[1, "x"'))
            left(f"h_1.1.{end}", whole.replace('"raw"', '"wra"'))
            left(f"i_1.1.{end}", "[" * 100000)
            left(f"j_1.1.{end}", whole.replace('"frames" :  [', '"frames" :  [[[[[['))
        # A program that was built anew.
        sample.heap["modules"][0]["build_id"] = "11" * 20
        left("k_1.1.pt.trace.json", sample.text())
        recover(program, status=1)


def test_links_and_files_of_others():
    with prof.folder() as place:
        sample = Sample(place).write()
        other = os.path.join(place, "log")
        os.mkdir(other)
        os.symlink(sample.path, os.path.join(other, "l_1.1.pt.trace.json"))
        before = read(sample.path)
        recover(other)
        assert read(sample.path) == before
        if os.getuid() == 0:
            os.unlink(os.path.join(other, "l_1.1.pt.trace.json"))
            shutil.copy(sample.path, other)
            path = os.path.join(other, os.path.basename(sample.path))
            os.chown(path, 65534, 65534)
            recover(other)
            assert read(path) == before


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
