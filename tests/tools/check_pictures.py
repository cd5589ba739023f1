#!/usr/bin/env python3
"""Opens what `graphnet show` draws in headless Chromium and uses it.

    check_pictures.py GRAPHNET [--out FOLDER] [SAMPLE...]

Graphs of 10, 1,000 and 10,000 nodes, with modules and without, one whose names are attacks,
and the samples given. Of each page: opens within 3 s; a frame is drawn within 100 ms, one
with all of it in view within 500 ms; search finds and shows a node; a module folds, unfolds and keeps its
place; nothing is loaded, no error is logged. Of each SVG in our own layout: Chromium reads
it, and text stays within its box. Writes a screenshot of each to FOLDER.

Needs Python's selenium and Debian's chromium and chromium-driver.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser

MAX_OPEN_S = 3
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


class Checks(browser.BrowserChecks):
    def __init__(self, graphnet, out):
        super().__init__(graphnet, out, "--window-size=1280,860")

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

        # Search for the last node by its name: found, shown, in the middle.
        last = boxes - 2 if boxes > 2 else 0
        wanted = self.js("window.picture.boxes[arguments[0]].name || window.picture.boxes[arguments[0]].title", last)
        field = self.driver.find_element(By.ID, "search")
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
        """A page of two graphs opens at what differs."""
        text = transformer(1000, True)
        (self.out / "before.txt").write_text(text)
        at = text.rindex("torch.nn.functional.gelu")
        (self.out / "after.txt").write_text(text[:at] + "torch.nn.functional.relu" + text[at + 24:])
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
        self.check_quiet("differences")

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



def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("samples", nargs="*")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    out = (options.out or pathlib.Path(tempfile.mkdtemp())).resolve()
    out.mkdir(parents=True, exist_ok=True)
    checks = Checks(os.path.abspath(options.graphnet), out)
    try:
        inputs = {"hostile": hostile()}
        for nodes in (10, 1000, 10000):
            inputs[f"modules_{nodes}"] = transformer(nodes, True)
            inputs[f"flat_{nodes}"] = transformer(nodes, False)
        for name, text in inputs.items():
            (out / f"{name}.txt").write_text(text)
        checks.differences()
        for path in [*(out / f"{name}.txt" for name in inputs), *options.samples]:
            name = pathlib.Path(path).stem
            checks.page(path, name)
            checks.svg(path, name)
    finally:
        checks.close()
    print(f"{checks.failures} failures" if checks.failures else f"all right; pictures in {out}")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
