#!/usr/bin/env python3
"""Opens what `graphnet score --html` and `--svg` write in headless Chromium and uses it.

    check_score_page.py GRAPHNET [--out FOLDER]

Two made-up logs (make_score_log.py), one of names that are attacks, and one of 100,000 samples:
opens in time; the table filters, sorts and shows more; a failure class leads to its samples; a
click changes the curve; nothing is loaded, no error is logged, no text lies over another.
Writes a screenshot of each to FOLDER.

Needs Python's selenium and Debian's chromium and chromium-driver.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from selenium.webdriver.common.by import By

import browser
import make_score_log

MAX_OPEN_S = 3
ATTACK = "</script><script>document.title='broken'</script><img src=x onerror=document.title='broken'>@DATA@"
# Of the texts of a drawing, pairs of which one lies over the other.
OVERLAPS = """(() => {
  const all = [...document.querySelectorAll('svg text')].map((t) => [t.textContent, t.getBoundingClientRect()]);
  const found = [];
  all.forEach(([a, x], i) => all.slice(i + 1).forEach(([b, y]) => {
    if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 3 && y.top < x.bottom - 3) found.push(a + ' / ' + b);
  }));
  const box = document.querySelector('svg').getBoundingClientRect();
  all.forEach(([a, x]) => { if (x.left < box.left - 1 || x.right > box.right + 1 || x.bottom > box.bottom + 1) found.push(a + ' outside'); });
  return found;
})()"""


class Checks(browser.BrowserChecks):
    def __init__(self, graphnet, out):
        super().__init__(graphnet, out, "--hide-scrollbars", "--window-size=1240,900")

    def shoot(self, name, height=900):
        self.driver.set_window_size(1240, height)
        self.driver.save_screenshot(str(self.out / name))

    def cells(self, column):
        return self.js("[...document.querySelectorAll('#rows tbody tr')].map((r) => r.children[arguments[0]].textContent)", column)

    def counted(self):
        return int(self.driver.find_element(By.ID, "count").text.split()[0])

    def click(self, selector, text):
        self.js("""(() => { const found = [...document.querySelectorAll(arguments[0])].find((e) => e.textContent.includes(arguments[1]));
                   found.click(); })()""", selector, text)

    def page(self, name, *logs):
        path = self.out / f"{name}.html"
        start = time.monotonic()
        subprocess.run([self.graphnet, "score", *logs, "--html", path, "--svg", self.out / f"{name}.svg"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wrote = time.monotonic() - start
        self.driver.get_log("browser"), self.driver.get_log("performance")
        start = time.monotonic()
        self.driver.get(path.as_uri())
        opened = time.monotonic() - start
        print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, written in {wrote:.2f} s, opened in {opened:.2f} s")
        self.check(f"{name}: opens in {MAX_OPEN_S} s", opened < MAX_OPEN_S)
        self.shoot(f"{name}.png", 1500)
        self.check(f"{name}: text over text: {self.js(OVERLAPS)[:5]}", not self.js(OVERLAPS))
        self.check(f"{name}: nothing wider than the page",
                   self.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))

        # The table.
        every = self.counted()
        outcome = self.js("[...document.querySelector('#outcome').options].map((o) => o.text)")
        for kind in outcome[1:]:
            self.js("""(() => { const o = document.getElementById('outcome'); o.value = arguments[0];
                       o.dispatchEvent(new Event('change')); })()""", kind)
            self.check(f"{name}: only {kind}", set(self.cells(1)) == {kind})
            every -= self.counted()
        self.check(f"{name}: each sample has one outcome", every == 0)
        self.js("""(() => { const o = document.getElementById('outcome'); o.selectedIndex = 0;
                   o.dispatchEvent(new Event('change')); })()""")
        field = self.driver.find_element(By.ID, "filter")
        field.send_keys("model_1 subgraph")
        self.check(f"{name}: the filter leaves what has both words",
                   all("model_1" in cell and "subgraph" in cell for cell in self.cells(0)))
        field.clear()
        field.send_keys(" \b")
        for turn in ("ascending", "descending"):
            self.click("#rows th button", "speedup")
            values = [float(cell) for cell in self.cells(3) if cell != "–"]
            self.check(f"{name}: {turn} speedups", len(values) < 2 or values == sorted(values, reverse=turn == "descending"))
            self.check(f"{name}: says so", self.js("document.querySelector('#rows th[aria-sort=' + arguments[0] + ']') !== null", turn))
        if self.js("!document.getElementById('more').hidden"):
            before = len(self.cells(0))
            self.driver.find_element(By.ID, "more").click()
            self.check(f"{name}: shows more", len(self.cells(0)) > before)
        # A class of failures leads to its samples.
        if self.js("document.querySelector('details') !== null"):
            self.js("document.querySelector('details').open = true")
            said = self.js("document.querySelector('summary').textContent")
            self.click("details button", "Show")
            self.check(f"{name}: {said} are the samples shown", f": {self.counted()} (" in said)
        # Another curve.
        if len(logs) > 1:
            self.js("document.querySelectorAll('#curves button')[1].click()")
            self.check(f"{name}: another curve", self.js("document.querySelector('#curve h2').textContent") == pathlib.Path(logs[1]).stem)

        self.check_quiet(name)

        self.driver.get((self.out / f"{name}.svg").as_uri())
        self.check(f"{name}: Chromium reads the SVG", self.js("document.documentElement.nodeName") == "svg")
        self.shoot(f"{name}_svg.png", 800)



def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    out = (options.out or pathlib.Path(tempfile.mkdtemp())).resolve()
    out.mkdir(parents=True, exist_ok=True)
    checks = Checks(os.path.abspath(options.graphnet), out)
    try:
        for name, samples, seed in (("inductor", 400, 1), ("openvino", 300, 2), ("large", 100000, 3)):
            make_score_log.write_log(samples, out / f"{name}.log", seed, name)
        text = (out / "openvino.log").read_text()
        (out / "hostile.log").write_text(text.replace("model_", ATTACK + "model_").replace("RuntimeError: ", "RuntimeError: " + ATTACK))
        checks.page("two", out / "inductor.log", out / "openvino.log")
        checks.page("one", out / "inductor.log")
        checks.page("hostile", out / "hostile.log")
        checks.page("large", out / "large.log")
    finally:
        checks.close()
    print(f"{checks.failures} failures" if checks.failures else f"all right; pictures in {out}")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
