#!/usr/bin/env python3
"""Opens the pages of a corpus in Chromium, and keeps a picture of each.

    PY check_corpus_pages.py CORPUS OUT [--query CALL]

OUT gets NAME.png, NAME_dark.png and NAME_phone.png of each page. Fails if a page has not what it
should show, is wider than its window, or if an error is logged.

PY has graphnet_ir[corpus-serve] and selenium; Debian's chromium and chromium-driver are needed, too.
"""

import argparse
import pathlib
import re
import sys
import threading
import urllib.parse

from selenium.webdriver.support.ui import WebDriverWait

import browser
import graphnet_ir
from graphnet_ir.corpus.serving import serve

# Width, height, and whether the user wants dark pages.
MODES = {"": (1200, 560, False), "_dark": (1200, 560, True), "_phone": (390, 844, False)}


class Pages(browser.BrowserChecks):

    def open(self, address, name, text):
        """Opens a page in each mode, and checks that it has a text. Returns its HTML."""
        for mode, (width, height, is_dark) in MODES.items():
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1,
                "mobile": mode == "_phone"})
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})
            self.driver.get(address)
            WebDriverWait(self.driver, 20).until(
                lambda driver: re.search(text, self.js("document.body.innerText")), f"{name}: {text}")
            wide = self.js("document.documentElement.scrollWidth")
            self.check(f"{name}{mode} fits: {wide} of {width}", wide <= width)
            back = self.js("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", back)[:3])) / 3
            self.check(f"{name}{mode} has the background {back}", (light < 128) == is_dark)
            self.check_logged(f"{name}{mode}", apart_from="favicon.ico")
            self.driver.save_screenshot(str(self.out / f"{name}{mode}.png"))
        return self.driver.page_source


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--query", default="conv2d(groups>1)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    told, ready = [], threading.Event()
    corpus = graphnet_ir.Corpus(args.corpus)
    threading.Thread(target=serve, args=(corpus,), daemon=True, kwargs={
        "port": 0, "told": lambda address: (told.append(address), ready.set())}).start()
    assert ready.wait(60)
    found = list(corpus.find(args.query))
    checks = Pages(None, args.out)
    try:
        checks.open(told[0], "start", "Calls")
        html = checks.open(f"{told[0]}?q={urllib.parse.quote(args.query)}", "search", "matches")
        shown = re.findall(r"/graph/([0-9a-f]{64})", html)
        checks.check("search shows what the corpus finds",
                     shown == [hit.hash for hit in found[:len(shown)]] and shown)
        graph = f"{told[0]}graph/{found[0].hash}"
        checks.open(graph, "graph", "Occurrences")
        checks.open(f"{graph}/view", "view", r"\d+ nodes, \d+ arrow")
        html = checks.open(f"{told[0]}coverage", "coverage", "operator")
        cells = re.findall(r'<td class="n"><a href="/\?kind=([^"]+)">(\d+)</a>', html)
        for kind, count in cells[::max(len(cells) // 20, 1)]:
            text = urllib.parse.unquote_plus(kind)
            checks.check(f"{count} graphs have {text}", corpus.count(kind=text) == int(count))
        checks.check("coverage has cells", bool(cells))
    finally:
        checks.close()
    print(f"{checks.failures} failures" if checks.failures else
          f"all right; {5 * len(MODES)} pictures are in {args.out}")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
