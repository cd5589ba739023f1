#!/usr/bin/env python3
"""Runs a notebook of examples/notebook and opens all that it shows in headless Chromium.

    PY tests/tools/check_notebook.py [--notebook graphnet] [--out FOLDER]

Each output is a page of its own: a table has rows, a page inside of it draws, folded ones when they
are unfolded, nothing is loaded and no error is logged. Writes a screenshot of each to FOLDER.

PY has the wheel, nbclient, ipykernel, pandas, tqdm and selenium; Debian's chromium and
chromium-driver are needed, too.
"""
import argparse
import pathlib
import sys
import tempfile

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import notebook_test  # noqa: E402

# How many pixels of the largest drawing are not of the colour of its first one, and how many of
# those lie in its first column, where a drawing would be cut off.
CANVAS = """(() => {
  const size = (c) => c.width * c.height;
  const canvas = [...document.querySelectorAll('canvas')].sort((a, b) => size(b) - size(a))[0];
  const {width, height} = canvas;
  const data = new Uint32Array(
      canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
  let drawn = 0, cut = 0;
  data.forEach((pixel, i) => {
    if (pixel !== data[0]) { drawn += 1; cut += i % width === 0 ? 1 : 0; }
  });
  return [drawn, cut];
})()"""
SHAPES = """[...document.querySelectorAll('svg *')].filter((e) => {
  const box = e.getBoundingClientRect(); return box.width > 0 && box.height > 0; }).length"""


def check_frames(checks, name):
    """That each page inside of the page draws. Returns how many there are."""
    frames = checks.driver.find_elements(By.TAG_NAME, "iframe")
    for i, frame in enumerate(frames):
        checks.driver.execute_script("arguments[0].scrollIntoView()", frame)
        checks.driver.switch_to.frame(frame)
        WebDriverWait(checks.driver, 20).until(
            lambda driver: driver.find_elements(By.CSS_SELECTOR, "canvas, svg"))
        if checks.js("document.querySelector('canvas') !== null"):
            drawn, cut = checks.js(CANVAS)
            checks.check(f"{name}: frame {i} draws: {drawn}", drawn > 500)
            checks.check(f"{name}: frame {i} is whole: {cut}", cut == 0)
        else:
            checks.check(f"{name}: frame {i} draws", checks.js(SHAPES) > 20)
        checks.driver.switch_to.default_content()
    return len(frames)


def check_output(checks, name, html):
    path = checks.out / f"{name}.html"
    path.write_text(f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
                    f"<body>{html}</body></html>", encoding="utf-8")
    checks.driver.get_log("browser"), checks.driver.get_log("performance")
    checks.driver.get(path.as_uri())
    rows = checks.js("document.querySelectorAll('table tr').length")
    for details in checks.driver.find_elements(By.TAG_NAME, "details"):
        details.find_element(By.TAG_NAME, "summary").click()
    frames = check_frames(checks, name)
    checks.check(f"{name}: shows something",
                 rows > 1 or frames or checks.js("document.body.innerText.length") > 10)
    checks.driver.save_screenshot(str(checks.out / f"{name}.png"))
    checks.check_quiet(name)
    return rows, frames


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notebook", default="graphnet", help="its name without .ipynb")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    out = (options.out or pathlib.Path(tempfile.mkdtemp())).resolve()
    out.mkdir(parents=True, exist_ok=True)
    outputs = notebook_test.html_outputs(notebook_test.executed(options.notebook))
    checks = browser.BrowserChecks(None, out, "--window-size=1240,1600")
    rows = frames = 0
    try:
        for i, html in enumerate(outputs):
            more_rows, more_frames = check_output(checks, f"output_{i:02d}", html)
            rows, frames = rows + more_rows, frames + more_frames
    finally:
        checks.close()
    print(f"{len(outputs)} outputs, {rows} rows, {frames} pages inside")
    print(f"{checks.failures} failures" if checks.failures else f"all right; pictures in {out}")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
