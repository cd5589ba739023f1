#!/usr/bin/env python3
"""Opens what graphnet draws and serves in headless Chromium, uses it, and keeps pictures of it.

    check_pages.py pictures [SAMPLE…] [--out FOLDER]
    check_pages.py score [--out FOLDER]
    check_pages.py corpus CORPUS [--query CALL] [--out FOLDER]
    check_pages.py notebook [NAME] [--out FOLDER]

`pictures`: what `graphnet show` and `diff` draw of graphs of 10, 400, 5,000 and 10,000 nodes, with modules and
without, one whose names are attacks, and the samples given. Of each page: opens within 3 s, and within 1.5 s up
to 5,000 nodes; of more than 400 nodes, modules are folded at first; a frame is drawn within 100 ms, one with all
of it in view within 500 ms; search, also by a regular expression, finds and shows a node; a module folds,
unfolds and keeps its place; n and p lead through differences and values; graphs side by side move together. Of
each SVG in our own layout: Chromium reads it, and text stays within its box.

`score`: what `graphnet score --html` and `--svg` write of two made-up logs (make_score_log.py), one of names
that are attacks, and one of 100,000 samples: the table filters, sorts and shows more; a failure class leads to
its samples; a click changes the curve; no text lies over another.

`corpus`: the pages of a corpus, light, dark and as on a phone: each shows what it should, and fits its window.

`notebook`: a notebook of examples/notebook is run, and each output is a page of its own: a table has rows, and
a page inside of it draws, folded ones when they are unfolded.

No page may load anything or log an error. Needs Python's selenium and Debian's chromium and chromium-driver;
`corpus` also graphnet_ir[corpus-serve], `notebook` the wheel, nbclient, ipykernel, pandas and tqdm.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "evaluate"))
import make_score_log  # noqa: E402

MAX_OPEN_S = 3
MAX_READY_S = 1.5  # of up to 5,000 nodes


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


# --- Notebooks


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


# --- Pictures


MAX_DRAW_MS = 100
MAX_DRAW_ALL_MS = 500
ATTACKS = ["</script><script>document.title='broken'</script>", "<img src=x onerror=document.title='broken'>",
           "]]>&lt;", "' onload='document.title=\\'broken\\'", "@DATA@"]


def transformer(nodes, modules):
    """Text of a graph: layers of attention with additions around them."""
    lines = ["graphnet.module 1", "", "graph @forward(", "  %tokens : f32[1, 128, 256]@cpu,",
             "  %mask : f32[1, 1, 128, 128]@cpu"]
    body, x, made, layer = [], "tokens", 3, 0

    def add(name, call, shape, path):
        nonlocal made
        made += 1
        where = f" in {path}" if modules and path else ""
        body.append(f"  %{name} = {call} : f32[{shape}]@cpu{where}")
        return name

    weights = []
    while made < nodes:
        p, n = f"layers.{layer}", str(layer)
        steps = []

        def weight(name, shape):
            weights.append(f"  %w{n}_{name} \"L_self_modules_layers_modules_{n}_modules_{name}_parameters_weight_\""
                           f" : f32[{shape}]@cpu as torch.nn.parameter.Parameter")
            return f"%w{n}_{name}"

        wide = "1, 128, 256"
        heads = "1, 4, 128, 64"
        steps.append((f"norm{n}", lambda x=x: f"torch.nn.functional.layer_norm(%{x}, (256,), {weight('norm', '256')}, None, 1e-05)", wide, p + ".norm"))
        for part in "qkv":
            steps.append((f"{part}{n}", lambda part=part: f"torch.nn.functional.linear(%norm{n}, {weight(part, '256, 256')})", wide, f"{p}.attention.{part}"))
            steps.append((f"{part}v{n}", lambda part=part: f".view(%{part}{n}, 1, 128, 4, 64)", "1, 128, 4, 64", p + ".attention"))
            steps.append((f"{part}t{n}", lambda part=part: f".transpose(%{part}v{n}, 1, 2)", heads, p + ".attention"))
        steps += [
            (f"sdpa{n}", lambda: f"torch.nn.functional.scaled_dot_product_attention(%qt{n}, %kt{n}, %vt{n}, attn_mask = %mask)", heads, p + ".attention"),
            (f"back{n}", lambda: f".transpose(%sdpa{n}, 1, 2)", "1, 128, 4, 64", p + ".attention"),
            (f"flat{n}", lambda: f".reshape(%back{n}, 1, 128, 256)", wide, p + ".attention"),
            (f"add{n}", lambda x=x: f"operator.add(%{x}, %flat{n})", wide, p),
            (f"up{n}", lambda: f"torch.nn.functional.linear(%add{n}, {weight('up', '1024, 256')})", "1, 128, 1024", p + ".mlp.up"),
            (f"act{n}", lambda: f"torch.nn.functional.gelu(%up{n}, approximate = \"tanh\")", "1, 128, 1024", p + ".mlp"),
            (f"down{n}", lambda: f"torch.nn.functional.linear(%act{n}, {weight('down', '256, 1024')})", wide, p + ".mlp.down"),
            (f"out{n}", lambda: f"operator.add(%add{n}, %down{n})", wide, p),
        ]
        for name, call, shape, path in steps:
            if made >= nodes:
                break
            x = add(name, call(), shape, path)
        layer += 1
    if weights:
        lines[-1] += ","
    if not modules:  # or they would be named after the weights
        weights = [w.replace("L_self_modules", "_self_").replace("_parameters_", "_") for w in weights]
    lines.append(",\n".join(weights))
    return "\n".join(lines + [") {"] + body + [f"  return %{x}", "}", "end", ""])


def hostile():
    lines = ["graphnet.module 1", "", "graph @forward(%x) {"]
    last = "x"
    for i, attack in enumerate(ATTACKS):
        quoted = attack.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  %n{i} = torch.cat(%{last}, "{quoted}")')
        last = f"n{i}"
    return "\n".join(lines + [f"  return %{last}", "}", "end", ""])


class Pictures(BrowserChecks):
    def show(self, sample, name, *options):
        path = self.out / name
        start = time.monotonic()
        subprocess.run([self.graphnet, "show", sample, "-o", path, *options], check=True)
        return path, time.monotonic() - start

    def shoot(self, name):
        self.driver.save_screenshot(str(self.out / name))

    def point(self, item):
        """Where on the screen a box or frame is, from the middle of the canvas."""
        return self.js("""(() => {
          const p = window.picture, i = arguments[0] ? p.frames[arguments[1]] : p.boxes[arguments[1]];
          const c = document.getElementById('graph');
          return [Math.round((i.x + 20) * p.camera.scale + p.camera.x - c.clientWidth / 2),
                  Math.round((i.y + 9) * p.camera.scale + p.camera.y - c.clientHeight / 2)];
        })()""", *item)

    def click(self, item):
        x, y = self.point(item)
        canvas = self.driver.find_element(By.ID, "graph")
        ActionChains(self.driver).move_to_element_with_offset(canvas, x, y).click().perform()

    def page(self, sample, name):
        path, wrote = self.show(sample, name + ".html")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        start = time.monotonic()
        self.driver.get(path.as_uri())
        opened = time.monotonic() - start
        boxes = self.js("window.picture ? window.picture.boxes.length : -1")
        if boxes < 0:
            return self.check(f"{name}: the page does not run: {self.driver.get_log('browser')}", False)
        self.shoot(name + ".png")
        ready = self.js("window.picture.opened / 1000")
        self.check(f"{name}: ready in {MAX_READY_S} s: {ready:.2f}", ready < MAX_READY_S or boxes > 5000)
        unfolded = self.js("window.picture.frames.filter((f) => f.id > 0 && !f.folded).length")
        modules = self.js("window.picture.frames.length") - 1
        shown = self.js("window.picture.drawn()")
        if boxes <= 400:
            self.check(f"{name}: all of a small graph is unfolded", unfolded == modules)
        elif modules > 0:
            self.check(f"{name}: a large graph is folded at first: {shown} shown", shown <= 100 and unfolded < modules)
        first = self.js("Math.max(...[1, 2, 3].map(() => window.picture.timeDraw()))")
        # All of it, unfolded and in view: the most there is to draw.
        start = time.monotonic()
        self.driver.find_element(By.ID, "unfold").click() if self.js("!document.getElementById('unfold').hidden") else None
        unfolded = time.monotonic() - start
        self.driver.find_element(By.ID, "fit").click()
        whole = self.js("Math.max(...[1, 2, 3].map(() => window.picture.timeDraw()))")
        self.check(f"{name}: all boxes are drawn", self.js("window.picture.drawn()") == boxes)
        print(f"{name}: {boxes} boxes, {path.stat().st_size / 1e6:.2f} MB, written in {wrote:.2f} s, opened in "
              f"{opened:.2f} s, unfolded in {unfolded:.2f} s, frame {first:.0f} ms, of all {whole:.0f} ms")
        self.check(f"{name}: opens in {MAX_OPEN_S} s", opened < MAX_OPEN_S)
        self.check(f"{name}: frame in {MAX_DRAW_MS} ms", first < MAX_DRAW_MS)
        self.check(f"{name}: frame of all in {MAX_DRAW_ALL_MS} ms", whole < MAX_DRAW_ALL_MS)

        # By a regular expression, and by one that is wrong.
        field = self.driver.find_element(By.ID, "search")
        for pattern, found in (("/./", boxes), ("/^.*\\bno such name/", 0)):
            field.send_keys(pattern)
            self.check(f"{name}: {pattern} finds {found}", self.js("window.picture.hits().length") == found)
            field.clear()
        field.send_keys("/a(/")
        self.check(f"{name}: a wrong one is refused",
                   "nvalid regular expression" in self.driver.find_element(By.ID, "count").text)
        field.clear()
        field.send_keys(" ", Keys.BACKSPACE)

        # Search for the last node by its name: found, shown, in the middle.
        last = boxes - 2 if boxes > 2 else 0
        wanted = self.js("window.picture.boxes[arguments[0]].name || window.picture.boxes[arguments[0]].title", last)
        field.send_keys(wanted, Keys.ENTER)
        hits = self.js("window.picture.hits()")
        self.check(f"{name}: search finds {wanted}", last in hits)
        for _ in range(hits.index(last) if last in hits and hits.index(last) < 50 else 0):
            field.send_keys(Keys.ENTER)
        chosen = self.js("window.picture.selected()")
        self.check(f"{name}: search selects", chosen in hits)
        x, y = self.point((False, chosen))
        self.check(f"{name}: what is found is in view", abs(x) < 600 and abs(y) < 430)
        self.check(f"{name}: its line is shown",
                   wanted[:20].lstrip("…") in self.driver.find_element(By.ID, "detail").text)
        self.shoot(name + "_found.png")
        field.clear()
        field.send_keys(" ", Keys.BACKSPACE)

        # Fold the module of the last node that is in one by its header, and unfold it.
        frame = self.js("""(() => { const p = window.picture;
            const inside = p.boxes.filter((b) => b.frame > 0 && !p.frames[b.frame].body);
            if (inside.length === 0) return -1;
            p.goTo(inside[inside.length - 1].id);
            return inside[inside.length - 1].frame; })()""")
        if frame > 0:
            self.js("""(() => { const p = window.picture, f = p.frames[arguments[0]];
                p.camera.scale = 1; p.camera.x = 200 - f.x; p.camera.y = 200 - f.y; p.timeDraw(); })()""", frame)
            before = self.point((True, frame))
            height = self.js("window.picture.frames[arguments[0]].height", frame)
            self.click((True, frame))
            self.check(f"{name}: a module folds", self.js("window.picture.frames[arguments[0]].folded", frame))
            self.check(f"{name}: it shrinks", self.js("window.picture.frames[arguments[0]].height", frame) < height)
            self.check(f"{name}: the module stays", max(abs(a - b) for a, b in zip(before, self.point((True, frame)))) <= 2)
            self.click((True, frame))
            self.check(f"{name}: a module unfolds", not self.js("window.picture.frames[arguments[0]].folded", frame))
            self.check(f"{name}: as it was", abs(self.js("window.picture.frames[arguments[0]].height", frame) - height) < 1)
        # Zoom and drag.
        scale = self.js("window.picture.camera.scale")
        canvas = self.driver.find_element(By.ID, "graph")
        self.driver.execute_script("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -200, bubbles: true}))", canvas)
        self.check(f"{name}: the wheel zooms", self.js("window.picture.camera.scale") > scale)
        x = self.js("window.picture.camera.x")
        ActionChains(self.driver).move_to_element_with_offset(canvas, 0, 100).click_and_hold().move_by_offset(60, 0).release().perform()
        self.check(f"{name}: dragging moves", abs(self.js("window.picture.camera.x") - x - 60) < 2)
        # Click a node.
        target = self.js("""(() => { const p = window.picture; p.goTo(0); document.activeElement.blur(); return 0; })()""")
        self.click((False, target))
        self.check(f"{name}: a click selects", self.js("window.picture.selected()") == target)

        self.check_quiet(name)

    def differences(self):
        """A page of two graphs opens at what differs, says what, and leads to the next."""
        text = transformer(1000, True)
        (self.out / "before.txt").write_text(text)
        at = text.rindex("torch.nn.functional.gelu")
        text = text[:at] + "torch.nn.functional.relu" + text[at + 24:]
        (self.out / "after.txt").write_text(text.replace("1e-05", "0.01", 1))
        path = self.out / "differences.html"
        subprocess.run([self.graphnet, "diff", self.out / "before.txt", self.out / "after.txt", "--picture", path],
                       stdout=subprocess.DEVNULL)
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        chosen = self.js("window.picture.selected()")
        style = self.js("window.picture.data.styles[window.picture.boxes[arguments[0]].style][0]", max(chosen, 0))
        self.check(f"differences: opens at one: {chosen}, {style}", chosen >= 0 and style in ("removed", "added", "changed"))
        x, y = self.point((False, max(chosen, 0)))
        self.check("differences: it is in view", abs(x) < 600 and abs(y) < 430)
        said = self.driver.find_element(By.ID, "detail").text
        self.check(f"differences: what changed is said: {said}", "(eps): 1e-05 became 0.01" in said)
        body = self.driver.find_element(By.TAG_NAME, "body")
        for key, wanted in (("n", "gelu became"), ("n", "(eps)"), ("p", "gelu became"), ("p", "(eps)")):
            body.send_keys(key)
            said = self.driver.find_element(By.ID, "detail").text
            self.check(f"differences: {key} leads to {wanted}: {said}", wanted in said)
        self.check("differences: a folded module says that it has some",
                   self.js("window.picture.frames[0].different") == 2)
        self.shoot("differences.png")
        self.check_quiet("differences")

    def side_by_side(self):
        """Two graphs beside each other move, fold and select together, though one has more nodes."""
        text = transformer(400, True)
        (self.out / "left.txt").write_text(text.replace("  %norm5 =", "  %less = torch.abs(%mask)\n  %norm5 ="))
        more = "  %more = torch.neg(%tokens)\n  %norm0 = torch.nn.functional.layer_norm(%more,"
        (self.out / "right.txt").write_text(
            text.replace("  %norm0 = torch.nn.functional.layer_norm(%tokens,", more))
        path = self.out / "side_by_side.html"
        subprocess.run([self.graphnet, "diff", self.out / "left.txt", self.out / "right.txt", "--side-by-side",
                        "--picture", path], stdout=subprocess.DEVNULL)
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        WebDriverWait(self.driver, 20).until(lambda driver: self.js(
            "['left', 'right'].every((id) => document.getElementById(id).contentWindow.picture)"))
        side = "document.getElementById(arguments[0]).contentWindow"
        place = f"""((w, name) => {{
            w.picture.timeDraw();
            const b = w.picture.boxes.find((b) => b.name === name), c = w.picture.camera;
            return [c.scale, (b.x + b.width / 2) * c.scale + c.x, (b.y + b.height / 2) * c.scale + c.y]; }})(
            {side}, arguments[1])"""
        chosen = f"((p) => p.selected() < 0 ? '' : p.boxes[p.selected()].name || p.boxes[p.selected()].title)({side}.picture)"
        self.check("side by side: opens at the new node", self.js(chosen, "right") == "neg" or self.js(chosen, "right") == "more")
        detail = f"{side}.document.getElementById('detail').textContent"
        stop = f"{side}.document.getElementById('stop').textContent"
        self.check("side by side: the other graph has no such node", "no such node" in self.js(detail, "left"))

        for key, name in (("n", "left"), ("p", "right"), ("p", "left"), ("n", "right")):
            self.driver.switch_to.frame("right")
            self.driver.find_element(By.TAG_NAME, "body").send_keys(key)
            self.driver.switch_to.default_content()
            self.check(f"side by side: {key} leads to what only {name} has: {self.js(chosen, name)}",
                       self.js(chosen, name) in {"left": ("abs", "less"), "right": ("neg", "more")}[name])
            self.check(f"side by side: {key} counts both: {self.js(stop, name)}",
                       self.js(stop, name) == ("2 of 2" if name == "left" else "1 of 2"))

        def lead(name, script, *args):
            """Runs what a reader of one side does, after an event that makes it the leading one."""
            self.driver.execute_script(
                f"const w = {side}, p = w.picture; w.dispatchEvent(new w.KeyboardEvent('keydown', {{key: 'Shift'}}));"
                f"((args) => {{ {script} }})(arguments[1]); p.timeDraw();", name, args)

        for name, other in (("left", "right"), ("right", "left")):
            lead(name, "p.goTo(p.boxes.find((b) => b.name === 'add3').id);")
            self.check(f"side by side: {name} selects in {other}", self.js(chosen, other) == "add3")
            for script in ("p.camera.x += 50; p.camera.y -= 30;", "p.camera.scale *= 0.7;"):
                lead(name, script)
                here, there = self.js(place, name, "add3"), self.js(place, other, "add3")
                self.check(f"side by side: {name} moves {other}: {here}, {there}",
                           all(abs(a - b) < 1 for a, b in zip(here, there)))
            folded = f"{side}.picture.frames.filter((f) => f.folded).map((f) => f.label)"
            lead(name, "p.select(-1); p.toggle(p.frames.find((f) => f.label === 'layers.1.attention'));")
            self.check(f"side by side: {name} folds in {other}: {self.js(folded, other)}",
                       self.js(folded, other) == self.js(folded, name))
        self.shoot("side_by_side.png")
        self.check("side by side: no error", self.js("document.title") == "left.txt and right.txt")
        self.check_logged("side by side")

    def values(self):
        """A page with values of one's own shows them, colours by them, and leads from the largest on."""
        (self.out / "valued.txt").write_text(transformer(400, True))
        rows = ["node,ms,why"] + [f"q{i},{i + 1},{ATTACKS[1]}" for i in range(5)]
        (self.out / "values.csv").write_text("\n".join(rows))
        path, _ = self.show(self.out / "valued.txt", "values.html", "--data", self.out / "values.csv")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        body = self.driver.find_element(By.TAG_NAME, "body")
        for key, name, value in (("n", "q4", "5"), ("n", "q3", "4"), ("p", "q4", "5")):
            body.send_keys(key)
            said = self.driver.find_element(By.ID, "detail").text
            self.check(f"values: {key} leads to {name}: {said}",
                       said.startswith(name) and re.search(rf"^ms\n?\s*{value}$", said, re.M) and ATTACKS[1] in said)
        colors = self.js("""['q0', 'q4', 'k0'].map((n) => window.picture.colorOf(
            window.picture.boxes.find((b) => b.name === n), false))""")
        self.check(f"values: three colours: {colors}", len(set(colors)) == 3)
        self.shoot("values.png")
        self.js("""(() => { const c = document.getElementById('column'); c.value = -1;
                   c.dispatchEvent(new Event('change')); })()""")
        colors = self.js("['q0', 'q4'].map((n) => window.picture.colorOf(window.picture.boxes.find((b) => b.name === n), false))")
        self.check(f"values: kinds again: {colors}", len(set(colors)) == 1)
        self.check_quiet("values")

    def svg(self, sample, name, *options):
        path, wrote = self.show(sample, name + ".svg", *options)
        self.driver.get(path.as_uri())
        kind = self.js("document.documentElement.nodeName")
        self.check(f"{name}: Chromium reads the SVG", kind == "svg" and not self.js("document.querySelector('parsererror') !== null"))
        wide = self.js("""[...document.querySelectorAll('svg > g > g')].flatMap((g) => {
            const box = g.querySelector('rect').getBBox();
            return [...g.querySelectorAll('text:not(.v)')].filter((t) => {
                const b = t.getBBox();
                return b.x < box.x || b.x + b.width > box.x + box.width || b.y + b.height > box.y + box.height + 2;
            }).map((t) => t.textContent); })""")
        self.check(f"{name}: text within its box: {wide[:5]}", not wide)
        print(f"{name}.svg: {path.stat().st_size / 1e6:.2f} MB, written in {wrote:.2f} s")
        self.shoot(name + "_svg.png")


# --- Scores


NAME_ATTACK = "</script><script>document.title='broken'</script><img src=x onerror=document.title='broken'>@DATA@"
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


class ScorePage(BrowserChecks):
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

        sentences = self.js("[...document.querySelectorAll('#sentences p')].map((p) => p.textContent)")
        self.check(f"{name}: opens with a sentence for each log: {sentences}",
                   len(sentences) == len(logs) and all("the median speedup is" in text for text in sentences))
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


# --- Corpora


# Width, height, and whether the user wants dark pages.
MODES = {"": (1200, 560, False), "_dark": (1200, 560, True), "_phone": (390, 844, False)}


class CorpusPages(BrowserChecks):
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


def check_pictures(checks, args):
    inputs = {"hostile": hostile()}
    for nodes in (10, 400, 5000, 10000):
        inputs[f"modules_{nodes}"] = transformer(nodes, True)
        inputs[f"flat_{nodes}"] = transformer(nodes, False)
    for name, text in inputs.items():
        (checks.out / f"{name}.txt").write_text(text)
    checks.differences()
    checks.side_by_side()
    checks.values()
    for path in [*(checks.out / f"{name}.txt" for name in inputs), *args.samples]:
        name = pathlib.Path(path).stem
        checks.page(path, name)
        checks.svg(path, name)


def check_score(checks, args):
    out = checks.out
    for name, samples, seed in (("inductor", 400, 1), ("openvino", 300, 2), ("large", 100000, 3)):
        make_score_log.write_log(samples, out / f"{name}.log", seed, name)
    text = (out / "openvino.log").read_text()
    text = text.replace("model_", NAME_ATTACK + "model_").replace("RuntimeError: ", "RuntimeError: " + NAME_ATTACK)
    (out / "hostile.log").write_text(text)
    checks.page("two", out / "inductor.log", out / "openvino.log")
    for name, log in (("one", "inductor"), ("hostile", "hostile"), ("large", "large")):
        checks.page(name, out / f"{log}.log")


def check_corpus(checks, args):
    import graphnet_ir
    from graphnet_ir.corpus.serving import serve

    told, ready = [], threading.Event()
    corpus = graphnet_ir.Corpus(args.corpus)
    threading.Thread(target=serve, args=(corpus,), daemon=True, kwargs={
        "port": 0, "told": lambda address: (told.append(address), ready.set())}).start()
    assert ready.wait(60)
    found = list(corpus.find(args.query))
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


def check_notebook(checks, args):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    import notebook_test

    rows = frames = 0
    outputs = notebook_test.html_outputs(notebook_test.executed(args.notebook))
    for i, html in enumerate(outputs):
        more_rows, more_frames = check_output(checks, f"output_{i:02d}", html)
        rows, frames = rows + more_rows, frames + more_frames
    print(f"{len(outputs)} outputs, {rows} rows, {frames} pages inside")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    for name, run, kind, flags in (
            ("pictures", check_pictures, Pictures, ["--window-size=1280,860"]),
            ("score", check_score, ScorePage, ["--hide-scrollbars", "--window-size=1240,900"]),
            ("corpus", check_corpus, CorpusPages, []),
            ("notebook", check_notebook, BrowserChecks, ["--window-size=1240,1600"])):
        step = steps.add_parser(name)
        step.set_defaults(run=run, kind=kind, flags=flags)
        step.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
        step.add_argument("--out", type=pathlib.Path)
        if name == "pictures":
            step.add_argument("samples", nargs="*")
        elif name == "corpus":
            step.add_argument("corpus")
            step.add_argument("--query", default="conv2d(groups>1)")
        elif name == "notebook":
            step.add_argument("notebook", nargs="?", default="graphnet", help="its name without .ipynb")
    args = parser.parse_args()
    out = (args.out or pathlib.Path(tempfile.mkdtemp())).resolve()
    out.mkdir(parents=True, exist_ok=True)
    checks = args.kind(os.path.abspath(args.graphnet), out, *args.flags)
    try:
        args.run(checks, args)
    finally:
        checks.close()
    print(f"{checks.failures} failures; pictures in {out}")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
