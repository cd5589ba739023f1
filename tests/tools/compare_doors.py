#!/usr/bin/env python3
"""Compares the normal forms of models that came in by several doors.

    tests/tools/compare_doors.py FOLDER [--graphnet bazel-bin/graphnet/cli/graphnet] [--markdown]

FOLDER holds, of each model, NAME.trace.pt, NAME.script.pt and NAME.pt2, as far as there are
such, beside a NAME.KIND.json with its example inputs: {"inputs": [{"shape": [1, 3, 224, 224],
"dtype": "torch.float32"}]}. The folder of GraphNet is made of the .pt2 by `graphnet convert`, or
of another door where there is none. Prints a line a model: for each door "=" when its hash is
that of the .pt2, else how many nodes differ and the first of them.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

DTYPES = {"torch.float32": "f32", "torch.int64": "i64", "torch.float64": "f64", "torch.bool": "bool"}
DOORS = ["trace", "script", "folder"]


def described(path):
    """What --input is given for the example inputs of a model."""
    inputs = json.loads(path.read_text())["inputs"]
    return [f"{DTYPES[i['dtype']]}[{','.join(map(str, i['shape']))}]" for i in inputs]


class Tool:
    def __init__(self, program):
        self.program = program

    def run(self, *args):
        return subprocess.run([self.program, *map(str, args)], capture_output=True, text=True, check=False)

    def fixed(self, path, count):
        """What the inputs behind the first `count` are by default: scripts have them all."""
        text = self.run("show", path, "--format", "text").stdout
        header = text[text.index("graph @forward("):]
        words = []
        for line in header[:header.index(") {")].splitlines()[1 + count:]:
            name = line.split("%")[1].split()[0].rstrip(",")
            if "Optional[" in line:
                words.append(f"{name}=None")
            elif " as bool" in line and "data = [" in line:
                words.append(f"{name}=bool={str('data = [True]' in line).lower()}")
        return words

    def hash(self, path, inputs, out=None):
        made = self.run("hash", "--normal-form", "--json", path, *[w for i in inputs for w in ("--input", i)],
                        *(["-o", out] if out else []))
        document = json.loads(made.stdout)
        if "samples" not in document:
            return None, None, document["error"]["message"]
        sample = document["samples"][0]
        return sample.get("hash"), sample.get("num_nodes"), sample.get("error", {}).get("message")

    def diff(self, a, b):
        return json.loads(self.run("diff", "--json", a, b).stdout)


def first_difference(diff):
    """Why two graphs differ, in a line."""
    if "error" in diff:
        return diff["error"]["message"]
    count = diff["removed"] + diff["added"] + diff["changed"]
    first = diff["differences"][0]
    node = first.get("a") or first["b"]
    name = node.get("target", node["op"])
    what = first["what"][0] if first["kind"] == "changed" and first["what"] else first["kind"]
    return f"{count} of {diff['same'] + count}: {name}: {what}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    tool = Tool(args.graphnet)
    names = sorted({p.name.split(".")[0] for p in args.folder.glob("*.json")})
    equal = {door: 0 for door in DOORS}
    total = {door: 0 for door in DOORS}
    if args.markdown:
        print("| model | nodes | trace | script | folder |\n|---|---:|---|---|---|")
    started = time.time()
    with tempfile.TemporaryDirectory() as made:
        for name in names:
            if args.only not in name:
                continue
            reference = args.folder / f"{name}.pt2"
            inputs = described(next(args.folder.glob(f"{name}.*.json")))
            paths = {"trace": args.folder / f"{name}.trace.pt", "script": args.folder / f"{name}.script.pt",
                     "folder": pathlib.Path(made) / name}
            tool.run("convert", reference, "-o", paths["folder"])
            digest, nodes, error = tool.hash(reference, inputs)
            cells = []
            for door in DOORS:
                if not paths[door].exists():
                    cells.append("-")
                    continue
                total[door] += 1
                described_again = list(inputs)
                if door == "script":
                    described_again += tool.fixed(paths[door], len(inputs))
                if door == "folder":
                    described_again = []
                other, _, wrong = tool.hash(paths[door], described_again)
                if other is not None and other == digest:
                    equal[door] += 1
                    cells.append("=")
                elif wrong or error:
                    cells.append((wrong or error)[:160])
                else:
                    normal = [pathlib.Path(made) / "a.gn", pathlib.Path(made) / "b.gn"]
                    tool.hash(reference, inputs, normal[0])
                    tool.hash(paths[door], described_again, normal[1])
                    cells.append(first_difference(tool.diff(*normal)))
            if args.markdown:
                print(f"| {name} | {nodes} | " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
            else:
                print(name, nodes, *(f"\n    {d}: {c}" for d, c in zip(DOORS, cells)))
            sys.stdout.flush()
    print("\nEqual to the .pt2: " + ", ".join(f"{door} {equal[door]} of {total[door]}" for door in DOORS)
          + f" ({time.time() - started:.0f} s)")


if __name__ == "__main__":
    main()
