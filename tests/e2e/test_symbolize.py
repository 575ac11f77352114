#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""`proflaunch symbolize` says what binutils' addr2line says, and survives damaged files."""
import os
import random
import re
import shutil
import socket
import subprocess
import sys

import prof

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "progs", "symbols.cc")


def build_id(path):
    notes = prof.plain(["readelf", "-n", path]).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    return found[1] if found else ""


def ask_raw(question, launcher=prof.LAUNCHER, env=None):
    """Answers: a list of texts for each frame."""
    got = subprocess.run([launcher, "symbolize"], input=question, capture_output=True,
                         timeout=300, env={**os.environ, **(env or {})})
    answers, texts = [], []
    for item in got.stdout.split(b"\0")[:-1]:
        if item:
            texts.append(item.decode("utf-8", "replace"))
        else:
            answers.append(texts)
            texts = []
    assert not texts, texts
    return answers


def ask(path, offsets, identity=None, **given):
    identity = build_id(path) if identity is None else identity
    answers = ask_raw(f"m{identity}:{path}\0".encode("utf-8", "surrogateescape") +
                      b"".join(b"f%x\0" % at for at in offsets), **given)
    assert len(answers) == len(offsets), (len(answers), len(offsets))
    return answers


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise prof.Skip(f"there is no {tool}")


def fed(words, text):
    return subprocess.run(words, input=text, capture_output=True, text=True, timeout=300,
                          check=True).stdout


def compiled(folder, *flags, name="symbols"):
    need("g++", "addr2line", "readelf", "objdump")
    path = os.path.join(folder, name)
    got = prof.plain(["g++", "-g", "-Wl,--build-id=sha1", *flags, "-o", path, SOURCE])
    assert got.returncode == 0, got.stderr
    return path


def calls(path):
    """Where calls lie, as stacks tell it: the return address - 1."""
    text = prof.plain(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", path]).stdout
    lines = [(int(m[1], 16), m[2]) for m in re.finditer(r"^ *([0-9a-f]+):\t(\w+)", text, re.M)]
    return [after[0] - 1 for at, after in zip(lines, lines[1:]) if at[1] == "call"]


def addr2line(path, offsets):
    """The same as ask(), told by binutils; None for what it does not know."""
    text = fed(["addr2line", "-a", "-i", "-f", "-C", "-e", path],
               "".join(f"{at:x}\n" for at in offsets))
    answers = []
    for block in re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]:
        lines = block.splitlines()
        chain = []
        for function, where in zip(lines[::2], lines[1::2]):
            where = re.sub(r" \(discriminator \d+\)$", "", where)
            chain.append((re.sub(r"( \[clone [^]]*\])+$", "", function),
                          os.path.basename(where)))
        answers.append(chain)
    return answers


def function(text):
    return re.sub(r"( \[clone [^]]*\])+$", "", text.rpartition(" (")[0])


def same_chain(got, want):
    """Names that the linker does not see have less about them in addr2line's answer, and
    where such a function was inlined it names the outermost one instead."""
    if len(got) != len(want):
        return False
    for i, (text, (name, where)) in enumerate(zip(got, want)):
        mine, place = text[:-1].rsplit(" (", 1)
        if place != where:
            return False
        mine = re.sub(r"( \[clone [^]]*\])+$", "", mine)
        if mine != name and not re.search(rf"(^|::){re.escape(name)}\(", mine) and \
                not (i == 0 and name == function(got[-1])):
            return False
    return True


def same_lines(path, least=50):
    """Every call of a program of ours: the whole chains."""
    offsets = calls(path)
    compared = 0
    for at, got, want in zip(offsets, ask(path, offsets), addr2line(path, offsets)):
        if any("?" in where for _, where in want):
            continue                    # what came with the compiler
        assert same_chain(got, want), (hex(at), got, want)
        compared += 1
    assert compared >= least, compared
    return compared


def test_lines_as_addr2line_says():
    for flags in (["-O0"], ["-O2"], ["-O2", "-no-pie"], ["-O1", "-gdwarf-4"],
                  ["-O2", "-ffunction-sections", "-Wl,--gc-sections"], ["-O2", "-gz"]):
        with prof.folder() as place:
            print(flags, same_lines(compiled(place, *flags)))


def test_without_the_index_that_some_compilers_leave_out():
    need("clang++")
    with prof.folder() as place:
        path = os.path.join(place, "symbols")
        got = prof.plain(["clang++", "-g", "-O1", "-o", path, SOURCE])
        if got.returncode:
            raise prof.Skip("clang++ has no C++ library")
        offsets = calls(path)
        lines = [texts for texts in ask(path, offsets) if "symbols.cc:" in texts[-1]]
        assert len(lines) > 20, len(lines)


def numbered(marker):
    with open(SOURCE, encoding="ascii") as source:
        lines = source.read().splitlines()
    return next(i for i, line in enumerate(lines, 1) if f"// {marker}" in line)


def test_inlined_calls_and_templates():
    with prof.folder() as place:
        path = compiled(place, "-O2")
        answers = ask(path, calls(path))
        chain = next(a for a in answers if a[0].startswith("grab"))
        assert chain == [f"grab (symbols.cc:{numbered('in grab')})",
                         f"hidden(int) (symbols.cc:{numbered('in hidden')})"], chain
        wanted = f"int* deep::Box<int>::fill<short>(short) (symbols.cc:{numbered('in fill')})"
        assert any(a[0] == wanted for a in answers), answers


def symbols(path, *options):
    """(address, size, name) of the functions that have a size."""
    text = prof.plain(["nm", "-S", "--defined-only", *options, path]).stdout
    rows = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [TtWwi] (\S+)", text, re.M)
    return [(int(at, 16), int(size, 16), name.split("@")[0]) for at, size, name in rows]


def only_names(path, *options, **given):
    """Each function's begin and last byte have one of the place's names, or what
    addr2line says, which knows inner ones where debug files are installed."""
    need("nm", "c++filt")
    rows = symbols(path, *options)
    random.Random(5).shuffle(rows)
    rows = rows[:1500]
    assert len(rows) > 5, len(rows)
    names = {}
    for (at, _, _), text in zip(rows, fed(["c++filt"], "\n".join(n for _, _, n in rows)).split("\n")):
        names.setdefault(at, set()).add(text)
    wrong = []
    for back in (False, True):
        asked = [at + size - 1 if back else at for at, size, _ in rows]
        told = addr2line(path, asked)
        for (at, _, _), answer, chain in zip(rows, ask(path, asked, **given), told):
            got = function(answer[-1])
            plain = {name.lstrip("_") for name in names[at]}
            if got.lstrip("_") not in plain and not (chain and got == chain[-1][0]):
                wrong.append((hex(at), got, names[at]))
    # A function inside of another one, written in assembly.
    assert len(wrong) <= len(rows) // 50, (len(wrong), wrong[:10])
    return rows


def test_names_of_the_systems_libraries():
    need("ldd")
    text = prof.plain(["ldd", shutil.which("addr2line")]).stdout
    libc = re.search(r"=> (\S*/libc\.so\.6)", text)
    only_names(os.path.realpath(libc[1]), "-D")


def test_a_stripped_program_has_no_local_names():
    need("strip")
    with prof.folder() as place:
        path = compiled(place, "-O1", "-shared", "-fPIC")
        hidden = next(row for row in symbols(path) if row[2] == "_ZL6hiddeni")
        shown = next(row for row in symbols(path) if row[2] == "_Z5shownv")
        assert prof.plain(["strip", path]).returncode == 0
        got = ask(path, [hidden[0] + 2, shown[0] + 2])
        assert got == [[f"?? (symbols+{hidden[0] + 2:#x})"],
                       [f"shown() (symbols+{shown[0] + 2:#x})"]], got


def crippled(place):
    """The launcher beside a libdw that is none."""
    need("gcc")
    for name in ("libdw.so.1", "libelf.so.1"):
        got = prof.plain(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o",
                          os.path.join(place, name)])
        assert got.returncode == 0, got.stderr
    shutil.copy(prof.LAUNCHER, place)
    return os.path.join(place, "proflaunch")


def test_names_without_libdw():
    with prof.folder() as place:
        path = compiled(place, "-O1")
        rows = only_names(path, launcher=crippled(place))
        at, _, name = next(row for row in rows if row[2] == "_ZL6hiddeni")
        got = ask(path, [at + 1], launcher=crippled(place))
        assert got == [[f"hidden(int) (symbols+{at + 1:#x})"]], got


def test_debug_files_apart():
    need("objcopy", "strip")
    with prof.folder() as place:
        path = compiled(place, "-O1")
        offsets = calls(path)
        want = ask(path, offsets)
        os.mkdir(os.path.join(place, ".debug"))
        apart = os.path.join(place, ".debug", "symbols.debug")
        for words in (["objcopy", "--only-keep-debug", path, apart], ["strip", path],
                      ["objcopy", f"--add-gnu-debuglink={apart}", path]):
            assert prof.plain(words).returncode == 0, words
        assert ask(path, offsets) == want
        # One that belongs to another build tells nothing.
        other = compiled(place, "-O2", name="other")
        shutil.copy(other, apart)
        assert all(":" not in texts[0].rpartition(" (")[2] for texts in ask(path, offsets))


def test_a_file_that_was_replaced():
    with prof.folder() as place:
        path = compiled(place, "-O1")
        offsets, identity = calls(path), build_id(path)
        assert ask(path, offsets)[0]
        assert ask(path, offsets, identity="0" * 40) == [[]] * len(offsets)
        assert ask(path, offsets, identity="") == [[]] * len(offsets)
        assert ask(path, offsets, identity=identity[:-2]) == [[]] * len(offsets)
        compiled(place, "-O2")
        assert ask(path, offsets, identity=identity) == [[]] * len(offsets)
        compiled(place, "-O1", "-Wl,--build-id=none")
        assert ask(path, offsets, identity=identity) == [[]] * len(offsets)
        assert ask(path, offsets, identity="")[0]
        os.unlink(path)
        assert ask(path, offsets, identity=identity) == [[]] * len(offsets)
        os.mkfifo(path)
        assert ask(path, offsets, identity=identity) == [[]] * len(offsets)


def test_nobody_is_asked_over_the_network():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    server.setblocking(False)
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    need("strip")
    with prof.folder() as place:
        path = compiled(place, "-O1")
        offsets = calls(path)
        assert prof.plain(["strip", path]).returncode == 0
        ask(path, offsets, env={"DEBUGINFOD_URLS": url, "HOME": place})
    try:
        server.accept()
    except BlockingIOError:
        return
    assert False, "somebody came"


def damaged(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice([1, 5, 50, 500])):
        at = chance.randrange(len(data))
        data[at:at + chance.choice([1, 4, 8])] = chance.randbytes(1) * chance.choice([1, 4, 8])
    return bytes(data[:chance.randrange(len(data))] if chance.random() < 0.2 else data)


def test_damaged_files():
    """Any answer, but one for each frame."""
    with prof.folder() as place:
        path = compiled(place, "-O1")
        offsets, identity = calls(path), build_id(path)
        with open(path, "rb") as file:
            whole = file.read()
        for seed in range(60):
            bad = os.path.join(place, f"bad{seed}")
            with open(bad, "wb") as file:
                file.write(damaged(whole, random.Random(seed)))
            ask(bad, offsets, identity=identity)


def test_damaged_questions():
    chance = random.Random(3)
    words = [b"m:/bin/true\0", b"f12\0", b"m", b"\0", b"fzz\0", b":\0", b"f\0", b"mabc:\0",
             b"m:" + b"/" * 5000 + b"\0", b"f" + b"f" * 40 + b"\0", b"\xff\n"]
    for _ in range(100):
        ask_raw(b"".join(chance.choices(words, k=chance.randrange(12))))
    assert ask_raw(b"m:/no/such\0f1\0f2\0m:/other\0f3") == [[], [], []]
    assert ask_raw(b"") == []


def test_many_at_once():
    path = os.path.realpath(sys.executable)
    offsets = range(0x1000, 0x1000 + 60000)
    ask(path, offsets)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
