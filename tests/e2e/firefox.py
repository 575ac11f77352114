# SPDX-License-Identifier: Apache-2.0
"""A headless Firefox, driven by its own Marionette protocol over TCP: no library is needed.

The same calls as browser.Browser's.
"""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import browser

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")
LIMIT_S = browser.LIMIT_S
# Nothing is fetched, asked or shown beside the page.
PREFERENCES = {
    "marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False, "app.update.disabledForTesting": True, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "browser.aboutwelcome.enabled": False, "browser.startup.page": 0,
    "extensions.update.enabled": False, "services.settings.server": "data:,", "browser.safebrowsing.update.enabled": False,
}
# What the page's own script complains of; Firefox's chrome has complaints of its own.
CONSOLE = """
const rows = Services.console.getMessageArray().map(m => m.QueryInterface ? m : null).filter(m => m instanceof Ci.nsIScriptError);
Services.console.reset();
return rows.filter(m => m.sourceName.startsWith('file:')).map(m => m.errorMessage);
"""


class Firefox(browser.Browser):
    def __init__(self, size=(1300, 900)):
        self.folder = tempfile.mkdtemp(prefix="proflaunch-firefox-")
        with open(os.path.join(self.folder, "user.js"), "w", encoding="utf-8") as file:
            file.writelines(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items())
        self.driver = subprocess.Popen([PROGRAM, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", self.folder],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder},
                                       start_new_session=True)
        try:
            self.meet(size)
        except BaseException:
            self.stop()
            raise

    def meet(self, size):
        self.link, self.number = socket.create_connection(("127.0.0.1", self.find_port()), 2 * LIMIT_S), 0
        self.read()                                     # it says who it is
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": LIMIT_S * 1000}}})
        self.resize(*size)

    def find_port(self):
        path, until = os.path.join(self.folder, "MarionetteActivePort"), time.monotonic() + LIMIT_S
        while time.monotonic() < until and self.driver.poll() is None:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read().strip()
                if text:
                    return int(text)
            time.sleep(0.05)
        raise AssertionError("Firefox did not start")

    def __exit__(self, *_):
        self.link.close()
        self.stop()

    def stop(self):
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- messages: "<length>:<JSON>" ----

    def read(self):
        head = b""
        while not head.endswith(b":"):
            head += self.take(1)
        return json.loads(self.take(int(head[:-1])))

    def take(self, n):
        text = b""
        while len(text) < n:
            more = self.link.recv(n - len(text))
            assert more, "Firefox has gone"
            text += more
        return text

    def call(self, name, **words):
        self.number += 1
        text = json.dumps([0, self.number, name, words]).encode()
        self.link.sendall(b"%d:%s" % (len(text), text))
        _, number, error, value = self.read()
        assert number == self.number and not error, (name, error)
        return value

    # ---- what a test asks ----

    def ask(self, script, *words):
        return self.call("WebDriver:ExecuteScript", script=script, args=list(words), sandbox=None, newSandbox=False)["value"]

    def open(self, path, address=""):
        self.call("WebDriver:Navigate", url="about:blank")
        self.call("WebDriver:Navigate", url=f"file://{os.path.abspath(path)}{address}")
        self.wait("return document.documentElement.dataset.ready")

    def press(self, text):
        keys = [browser.KEYS[text]] if text in browser.KEYS else list(text)
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def chrome(self, script, *words):
        """A script of the browser's own, not of the page's."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            return self.ask(script, *words)
        finally:
            self.call("Marionette:SetContext", value="content")

    def resize(self, width, height=900):
        """The window, until the page has that much of it."""
        self.call("WebDriver:SetWindowRect", width=width, height=height)
        inner = self.ask("return [innerWidth, innerHeight]")
        self.call("WebDriver:SetWindowRect", width=2 * width - inner[0], height=2 * height - inner[1])

    def scheme(self, name):
        self.chrome("Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0]);", int(name == "light"))

    def medium(self, name):
        self.chrome("gBrowser.selectedBrowser.browsingContext.top.mediumOverride = arguments[0];", name)

    def console(self):
        return self.chrome(CONSOLE)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))
