#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py ROOT DIST - makes a wheel of what `make install DESTDIR=ROOT PREFIX=` has put into ROOT.

DIST gets proflaunch-V-py3-none-manylinux_2_28_x86_64.whl, stripped, and proflaunch-V-debug.tar.xz,
what was stripped, by build id (unpack it in /usr/lib/debug).  The same files give the same bytes: times
and order are fixed.  A binary that asks for a newer C library than the name says is an error.
"""
import base64
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
FLOOR = (2, 28)
TAG = "py3-none-manylinux_%d_%d_x86_64" % FLOOR
EPOCH = (1980, 1, 1, 0, 0, 0)
# What is linked in, or lies beside: Debian's package of it, its licence, where it comes from.
PARTS = [
    ("libdeflate", "libdeflate-dev", "MIT", "https://github.com/ebiggers/libdeflate"),
    ("libiberty", "libiberty-dev", "GPL-2.0-or-later WITH GCC-exception-2.0", "https://gcc.gnu.org"),
    ("zlib", "zlib1g-dev", "Zlib", "https://zlib.net"),
    ("zydis", "libzydis4.0", "MIT", "https://github.com/zyantific/zydis"),
]
BESIDE = {"zydis": "libZydis.so"}  # in the wheel as a file, if the machine that builds has it


def read(path, mode="rb"):
    with open(path, mode) as file:
        return file.read()


def text(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_elf(path):
    return read(path)[:4] == b"\x7fELF"


def check_floor(path):
    asked = {tuple(map(int, m.split("."))) for m in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", text("objdump", "-T", path))}
    above = sorted(v for v in asked if v[:2] > FLOOR)
    if above:
        sys.exit("wheel: %s needs glibc %s, and the name promises %d.%d"
                 % (path, ".".join(map(str, above[-1])), *FLOOR))


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", text("readelf", "-n", path)).group(1)


def strip(path, work):
    """The file's bytes without what debuggers read, and (name, bytes) of that; None: it had none."""
    debug, bare = os.path.join(work, "debug"), os.path.join(work, "bare")
    shutil.copy(path, bare)
    has = ".debug_info" in text("readelf", "-SW", path)
    if has:
        subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", "--strip-unneeded", bare], check=True)
    name = build_id(path) if has else ""
    return read(bare), (".build-id/%s/%s.debug" % (name[:2], name[2:]), read(debug)) if has else None


def version_of(package):
    got = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, text=True)
    return got.stdout.strip() if got.returncode == 0 else ""


def components(names):
    """What is in the wheel that is not ours; a part whose package is not installed is not in it."""
    for part, package, licence, url in PARTS:
        version = version_of(package)
        if version and (part not in BESIDE or any(BESIDE[part] in name for name in names)):
            yield part, package, version, licence, url


def sbom(version, parts):
    """CycloneDX 1.5, without time and serial number: they would differ each time."""
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "proflaunch", "name": "proflaunch", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [{"type": "library", "bom-ref": part, "name": part, "version": number,
                        "licenses": [{"expression": licence} if " " in licence else {"license": {"id": licence}}],
                        "purl": "pkg:deb/debian/%s@%s?arch=amd64" % (package, number.replace(":", "%3A")),
                        "externalReferences": [{"type": "website", "url": url}]}
                       for part, package, number, licence, url in parts],
        "dependencies": [{"ref": "proflaunch", "dependsOn": [row[0] for row in parts]}],
    }


def metadata(version, licences):
    head = ["Metadata-Version: 2.4", "Name: proflaunch", "Version: " + version,
            "Summary: torch.profiler for any unmodified command: operators, stacks, memory, CUDA",
            "License-Expression: Apache-2.0 AND MIT AND GPL-2.0-or-later WITH GCC-exception-2.0 AND Zlib",
            *("License-File: " + name for name in licences),
            "Classifier: Operating System :: POSIX :: Linux", "Classifier: Environment :: GPU :: NVIDIA CUDA",
            "Description-Content-Type: text/markdown"]
    return ("\n".join(head) + "\n\n").encode() + read(os.path.join(SOURCE, "README.md"))


def payload(root, version, work):
    """{name in the wheel: (bytes, executable)} of what was installed, and the debug files."""
    files, debug = {}, []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            where = os.path.relpath(path, root)
            content = read(path)
            if is_elf(path):
                check_floor(path)
                content, rest = strip(path, work)
                debug += [rest] if rest else []
            place = "scripts/" + name if where.startswith("bin/") else "data/" + where
            files["proflaunch-%s.data/%s" % (version, place)] = (content, where.startswith("bin/"))
    return files, debug


def dist_info(version, names):
    parts = list(components(names))
    info = "proflaunch-%s.dist-info/" % version
    licences = {"LICENSE": read(os.path.join(SOURCE, "LICENSE"))}
    for _, package, *_ in parts:
        licences["third-party/%s.copyright" % package] = read("/usr/share/doc/%s/copyright" % package)
    files = {info + "licenses/" + name: (content, False) for name, content in licences.items()}
    files[info + "METADATA"] = (metadata(version, licences), False)
    files[info + "WHEEL"] = (("Wheel-Version: 1.0\nGenerator: proflaunch\nRoot-Is-Purelib: false\nTag: %s\n" % TAG).encode(), False)
    files[info + "sboms/proflaunch.cyclonedx.json"] = (json.dumps(sbom(version, parts), indent=1).encode() + b"\n", False)
    return info + "RECORD", files


def record(name, files):
    rows = []
    for path, (content, _) in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d\n" % (path, digest, len(content)))
    return "".join(rows + [name + ",,\n"]).encode()


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (content, executable) in files:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            wheel.writestr(entry, content)


def write_debug(path, files):
    with lzma.open(path, "wb") as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, dist = sys.argv[1:]
    version = read(os.path.join(SOURCE, "VERSION"), "r").strip()
    with tempfile.TemporaryDirectory() as work:
        files, debug = payload(root, version, work)
    name, more = dist_info(version, files)
    rows = sorted(files.items()) + sorted(more.items())
    rows.append((name, (record(name, rows), False)))
    os.makedirs(dist, exist_ok=True)
    wheel = os.path.join(dist, "proflaunch-%s-%s.whl" % (version, TAG))
    write_wheel(wheel, rows)
    write_debug(os.path.join(dist, "proflaunch-%s-debug.tar.xz" % version), debug)
    print(wheel)


if __name__ == "__main__":
    main()
