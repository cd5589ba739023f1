"""A page in headless Chromium, and what is asked of it.

Needs Python's selenium and Debian's chromium and chromium-driver.
"""
import shutil
import tempfile

from selenium import webdriver


class BrowserChecks:
    """Checks of what `graphnet` writes into the folder `out`, counted where they fail."""

    def __init__(self, graphnet, out, *flags):
        self.graphnet, self.out, self.failures = graphnet, out, 0
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        self.profile = tempfile.mkdtemp()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     f"--user-data-dir={self.profile}", *flags):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        # What Chromium shows when it starts loads resources of its own, which no page asked for.
        self.driver.get("about:blank")

    def check(self, what, good):
        if not good:
            self.failures += 1
            print(f"  FAILED: {what}")

    def js(self, script, *args):
        return self.driver.execute_script("return " + script, *args)

    def check_quiet(self, name):
        """That the page ran nobody else's script, logged no error and loaded nothing."""
        self.check(f"{name}: no error: {self.js('document.title')}", self.js("document.title") != "broken")
        self.check_logged(name)
        asked = [e for e in self.driver.get_log("performance") if '"Network.requestWillBeSent"' in e["message"]]
        self.check(f"{name}: nothing loaded besides the page", len(asked) == 1)

    def check_logged(self, name, apart_from=None):
        """That the page logged no error, other than those that contain a text."""
        errors = [e["message"] for e in self.driver.get_log("browser")
                  if e["level"] == "SEVERE" and not (apart_from and apart_from in e["message"])]
        self.check(f"{name}: nothing logged: {errors}", not errors)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)
