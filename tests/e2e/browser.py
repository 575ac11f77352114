# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its own chromedriver over HTTP: no library is needed.

    with browser.Browser() as page:
        page.open("/tmp/out.html")
        page.ask("return document.title")
"""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1")
LIMIT_S = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"     # the key of the standard
KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Down": "\ue015", "Up": "\ue013", "Left": "\ue012", "Right": "\ue014"}


class Browser:
    def __init__(self, size=(1300, 900)):
        self.folder = tempfile.mkdtemp(prefix="proflaunch-browser-")
        self.driver = subprocess.Popen(["/usr/bin/chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        self.base = f"http://127.0.0.1:{self.find_port()}"
        options = {"args": [*FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.folder}"]}
        session = self.send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": LIMIT_S * 1000}}}})
        self.base += "/session/" + session["sessionId"]

    def find_port(self):
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise AssertionError("chromedriver did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("DELETE", "", None)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * LIMIT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()[:2000]}") from error

    def ask(self, script, *words):
        return self.send("POST", "/execute/sync", {"script": script, "args": list(words)})

    def command(self, name, **params):
        """A command of Chromium's own protocol."""
        return self.send("POST", "/goog/cdp/execute", {"cmd": name, "params": params})

    def open(self, path, address=""):
        """Opens a page anew, and waits until it has drawn itself."""
        self.send("POST", "/url", {"url": "about:blank"})
        self.send("POST", "/url", {"url": f"file://{os.path.abspath(path)}{address}"})
        self.wait("return document.documentElement.dataset.ready")

    def wait(self, script):
        until = time.monotonic() + LIMIT_S
        while not self.ask(script):
            assert time.monotonic() < until, (script, self.console(), self.ask("return document.body.innerText")[:2000])
            time.sleep(0.02)

    def press(self, text):
        """Keys to whatever has the focus."""
        keys = [KEYS[text]] if text in KEYS else list(text)
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def resize(self, width, height=900):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def medium(self, name):
        """"print": the page as on paper; "": as on a screen."""
        self.command("Emulation.setEmulatedMedia", media=name)

    def console(self):
        """What the page complained of since the last time."""
        return [f"{row['level']}: {row['message']}" for row in self.send("POST", "/se/log", {"type": "browser"})]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("GET", "/screenshot", None)))
