#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py INCLUDE_DIR VERSION - what one CUPTI's headers say, as a C header.

Names only: offsets, widths and values are computed by the C compiler from the real
structs and enums, so that nothing here can agree with our own tables by mistake.
"""
import re
import sys

# Kinds whose struct is not called after them.
STRUCT = {
    "KERNEL": "Kernel", "CONCURRENT_KERNEL": "Kernel", "DRIVER": "API", "RUNTIME": "API",
    "INTERNAL_LAUNCH_API": "API", "MEMCPY2": "MemcpyPtoP", "MEMORY2": "Memory",
    "PC_SAMPLING": "PCSampling", "PC_SAMPLING_RECORD_INFO": "PCSamplingRecordInfo",
    "OPENACC_DATA": "OpenAccData", "OPENACC_LAUNCH": "OpenAccLaunch",
    "OPENACC_OTHER": "OpenAccOther", "OPENMP": "OpenMp", "NVLINK": "NvLink",
}
# Kinds that libcupti 13 answers with INVALID_KIND although the header has them.
GONE = {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44}


def read(folder, name):
    try:
        with open(f"{folder}/{name}", encoding="latin-1") as f:
            text = f.read()
    except FileNotFoundError:
        return ""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", " ", text)


def balanced(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("unbalanced")


def structs(text):
    """{name: body} of the activity records."""
    out = {}
    for m in re.finditer(r"typedef\s+struct[^{;]*\{", text):
        end = balanced(text, m.end() - 1)
        name = re.match(r"\s*(\w+)\s*;", text[end + 1:])
        if name:
            out[name.group(1)] = text[m.end():end]
    return out


def fields(body):
    """(name, type) of a struct's members: n number, p text, b bytes; no pads."""
    body = re.sub(r"^\s*#.*$", "", body, flags=re.M)
    at = 0
    while True:
        semicolon, brace = body.find(";", at), body.find("{", at)
        if semicolon < 0:
            return
        if 0 <= brace < semicolon:
            end = balanced(body, brace)
            semicolon = body.find(";", end)
            declaration, kind = body[end + 1:semicolon], "b"
        else:
            declaration, kind = body[at:semicolon], None
        at = semicolon + 1
        m = re.search(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)$", declaration.strip())
        name, array = m.group(1), m.group(2)
        if re.match(r"(pad|reserved)", name):
            continue
        if kind is None:
            is_text = re.search(r"\bchar\s*\*", declaration)
            is_whole = re.search(r"CUuuid|ObjectKindId|Attr\b", declaration)
            kind = "p" if is_text else "b" if array or is_whole else "n"
        yield name, kind


def newest(all_structs, kind):
    base = STRUCT.get(kind) or "".join(w.capitalize() for w in kind.split("_"))
    found = []
    for name in all_structs:
        m = re.fullmatch(r"CUpti_Activity" + base + r"(\d*)", name)
        if m:
            found.append((int(m.group(1) or 1), name))
    if kind == "MEMORY":
        found = [f for f in found if f[0] == 1]
    return max(found)[1] if found else None


def enums(text):
    for m in re.finditer(r"\benum\b[^{;]*\{", text):
        body = text[m.end():balanced(text, m.end() - 1)]
        for name in re.findall(r"(?:^|,)\s*(CUPTI_\w+)", body):
            yield name


def kind_numbers(text):
    """(name, number); one without a number follows the one before it."""
    at = text.index("CUPTI_ACTIVITY_KIND_INVALID")
    body = text[at:text.index("}", at)]
    number = -1
    for name, value in re.findall(r"CUPTI_ACTIVITY_KIND_(\w+)\s*(?:=\s*(\w+))?", body):
        number = int(value, 0) if value else number + 1
        if name not in ("COUNT", "FORCE_INT"):
            yield name, number


def main(folder, version):
    activity = read(folder, "cupti_activity.h") + read(folder, "cupti_activity_deprecated.h")
    found = structs(activity)
    kinds = kind_numbers(activity)
    print("/* made by headers.py from the headers of CUPTI", version, "*/")
    rows = []
    for kind, number in kinds:
        struct = newest(found, kind)
        if number == 0 or not struct:
            continue
        if int(version.split(".")[0]) >= 13 and number in GONE:
            continue
        print(f"typedef {struct} rec_{kind};")
        print(f"#define HAS_{kind} 1")
        for name, type_ in fields(found[struct]):
            print(f"#define HAS_{kind}_{name} 1")
            rows.append(f"X({number}, {kind}, {name}, '{type_}')")
    print("#define FAKE_FIELDS(X) \\\n\t" + " \\\n\t".join(rows))
    names = []
    for header in ("cupti_result.h", "cupti_activity.h", "cupti_common.h",
                   "cupti_callbacks.h", "cupti_runtime_cbid.h", "cupti_driver_cbid.h"):
        names += [n for n in enums(read(folder, header)) if n not in names[-2000:]]
    seen = dict.fromkeys(names)
    print("#define FAKE_CONSTANTS(X) \\\n\t" + " \\\n\t".join(f"X({n})" for n in seen))
    for domain in ("runtime", "driver"):
        prefix = f"CUPTI_{domain.upper()}_TRACE_CBID_"
        calls = [n for n in seen if n.startswith(prefix) and
                 not n.endswith(("_INVALID", "_SIZE", "_FORCE_INT"))]
        print(f"#define FAKE_{domain.upper()}_CALLS(X) \\\n\t" +
              " \\\n\t".join(f"X({n}, {n[len(prefix):]})" for n in calls))


main(*sys.argv[1:])
