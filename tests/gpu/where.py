# SPDX-License-Identifier: Apache-2.0
"""What this machine has: its driver and GPUs, and where CUDA's libraries lie."""
import ctypes
import glob
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time

from common import HERE, Site, last_json, output

ASK_TORCH = """
import json, os, torch
try:
    nccl = torch.cuda.nccl.version() if torch.cuda.is_available() else None
except Exception:
    nccl = None
c = torch.cuda.is_available()
print(json.dumps({"version": torch.__version__, "built for": torch.version.cuda, "cuda": c,
    "folder": os.path.dirname(torch.__file__), "nccl": nccl,
    "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if c else []}))
"""
NEEDED = """Nothing to test with: {}. One of these brings it:
    pip install torch                                      (a CUDA build; tests most)
    pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cupti-cu12
    apt-get install nvidia-cuda-toolkit libcupti-dev       (or NVIDIA's own toolkit)
and --python PYTHON names the python that has it; LD_LIBRARY_PATH a folder of libraries."""


def driver_version():
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value


def devices():
    """Names of the GPUs, by the driver itself: nvidia-smi may be missing."""
    cuda, count, names = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), []
    cuda.cuInit(0)
    cuda.cuDeviceGetCount(ctypes.byref(count))
    for number in range(count.value):
        device, text = ctypes.c_int(), ctypes.create_string_buffer(128)
        cuda.cuDeviceGet(ctypes.byref(device), number)
        cuda.cuDeviceGetName(text, 128, device)
        names.append(text.value.decode(errors="replace"))
    return names


def is_fake():
    return hasattr(ctypes.CDLL("libcuda.so.1"), "fake_set")


def packages():
    """Where the python in use keeps its packages: NVIDIA's wheels need no torch."""
    code = "import sys; print('\\n'.join(p for p in sys.path if p.endswith('-packages')))"
    return output([Site.python, "-c", code], fail=False).stdout.split()


def folders():
    """Folders where CUDA's libraries may lie: those asked for, the wheels', the toolkit's."""
    found = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if Site.fake:
        return [os.path.abspath(folder) for folder in found if os.path.isdir(folder)]
    if Site.torch.get("folder"):
        found.append(os.path.join(Site.torch["folder"], "lib"))
    for site in Site.packages:
        found += sorted(glob.glob(os.path.join(site, "nvidia", "*", "lib")), reverse=True)
    for cuda in ["/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True), "/opt/cuda"]:
        found += [f"{cuda}/lib64", f"{cuda}/extras/CUPTI/lib64", *glob.glob(f"{cuda}/targets/*/lib")]
    found += [*glob.glob("/usr/lib/*-linux-gnu"), "/usr/lib64"]
    once = dict.fromkeys(os.path.abspath(folder) for folder in found if folder and os.path.isdir(folder))
    return list(once)


def versions_of(name):
    """[(major, path)] of lib<name>, in order of the folders, each file once."""
    found, seen = [], set()
    for folder in folders():
        for path in sorted(glob.glob(os.path.join(folder, f"lib{name}.so.1[1-9]*")), key=len):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                found.append((int(re.search(r"\.so\.(\d+)", path)[1]), path))
    return found


def pair():
    """(cudart, CUPTI) of one major, which the driver can take: torch's own if it has any."""
    newest = driver_version() // 1000
    wanted = int((Site.torch.get("built for") or "0").split(".")[0])
    runtimes = sorted(versions_of("cudart"), key=lambda one: (one[0] > newest, one[0] != wanted))
    cuptis = versions_of("cupti")
    for major, runtime in runtimes:
        for other, cupti in cuptis:
            if major == other:
                return runtime, cupti
    return (runtimes[0][1] if runtimes else None), None


def lone(name):
    """A library or archive by its plain name, wherever it lies."""
    for folder in folders():
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def learn(python):
    """Fills in Site."""
    Site.fake = is_fake()
    Site.python = python or sys.executable
    Site.packages = packages()
    done = output([Site.python, "-c", ASK_TORCH], fail=False)
    Site.torch = last_json(done.stdout) if done.returncode == 0 else \
        {"cuda": False, "why": f"{Site.python} has no torch"}
    if not Site.torch.get("cuda"):
        Site.torch.setdefault("why", "torch sees no CUDA")
    Site.cudart, Site.cupti = pair()
    Site.cuptis = versions_of("cupti")
    Site.static = lone("libcudart_static.a")
    Site.nccl = lone("libnccl.so.2")
    missing = [what for what, path in (("libcudart", Site.cudart), ("libcupti", Site.cupti)) if not path]
    if missing:
        print(NEEDED.format(f"no {' and no '.join(missing)} found"), flush=True)


def first_line(*command):
    try:
        return (output(list(command), fail=False).stdout.strip().splitlines() or [""])[0]
    except (OSError, subprocess.SubprocessError):
        return "not found"


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def of_line(text, pattern):
    match = re.search(pattern, text)
    return match[1].strip() if match else None


def surroundings():
    """What may forbid or disturb recording."""
    params = read("/proc/driver/nvidia/params")
    return {"container": os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
            or bool(os.environ.get("KUBERNETES_SERVICE_HOST")),
            "user": "root" if os.geteuid() == 0 else "not root",
            "counters for root only": of_line(params, r"RmProfilingAdminOnly: (\d)"),
            "CUDA variables": {k: v for k, v in os.environ.items()
                               if k.startswith(("CUDA_", "NVIDIA_")) and "HOST" not in k}}


def version_of(library, function):
    """What a library says of itself; nothing of the GPU is touched."""
    number = ctypes.c_int(0)
    try:
        getattr(ctypes.CDLL(library), function)(ctypes.byref(number))
    except (OSError, AttributeError, TypeError):
        return None
    return number.value


def machine():
    """For the folder of results; nothing that names the machine or its owner."""
    query = "name,driver_version,compute_cap,memory.total,mig.mode.current,compute_mode,persistence_mode"
    smi = []
    if shutil.which("nvidia-smi"):
        smi = output(["nvidia-smi", f"--query-gpu={query}", "--format=csv"],
                     fail=False).stdout.strip().splitlines()
    found = {
        "date": time.strftime("%Y-%m-%d"), "devices": devices(), "fake": Site.fake,
        "driver": of_line(read("/proc/driver/nvidia/version"), r"Module[^\d]*([\d.]+)"),
        "driver for CUDA": driver_version(), "nvidia-smi": smi or "not found",
        "cudart": Site.cudart, "CUPTI": Site.cupti,
        "cudart's version": version_of(Site.cudart, "cudaRuntimeGetVersion"),
        "CUPTI's version": version_of(Site.cupti, "cuptiGetVersion"), "other CUPTIs": [path for _, path in Site.cuptis],
        "torch": Site.torch, "NCCL": Site.nccl, "python": platform.python_version(),
        "compiler": first_line(os.environ.get("CC", "cc"), "--version"),
        "nvcc": of_line(output(["nvcc", "--version"], fail=False).stdout, r"release (.*)")
                if shutil.which("nvcc") else "not found",
        "system": platform.platform(), "processors": os.cpu_count(),
        "processor": of_line(read("/proc/cpuinfo"), r"model name\s*: (.*)"),
        "proflaunch": read(os.path.join(HERE, "..", "..", "VERSION")).strip(),
        "commit": first_line("git", "rev-parse", "--short", "HEAD"), **surroundings()}
    return found, (socket.gethostname(), "<host>")
