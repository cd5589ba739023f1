#!/usr/bin/env python3
"""Runs TorchScript archives of every format version by torch.jit and by graphnet.

    compare_format_versions.py [--graphnet PATH] [--keep FOLDER]

A saved module is written anew for each version from 2 to 10: its record `version`, and
code that calls what has changed since that version as the PyTorch of its time wrote it.
torch.jit.load, which puts an upgrader in place of each such call, says what is right.
All that it takes of one version is run as one archive; outputs must agree bit for bit. The
exit status is 0 if all do.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import torch

import in_pytorch

warnings.filterwarnings("ignore")

VERSIONS = range(2, 11)
FACTORY = "dtype={dtype}, layout=None, device=torch.device(\"cpu\"), pin_memory=False"

# What forward returns of x and y, a line a statement; before which version this form is
# the one to read (11: in all of them).
PROGRAMS = {
    "div.Tensor": (11, ["return torch.div(x, y)"]),
    "div.Scalar": (11, ["return torch.div(x, 2)"]),
    "div.Scalar of a float": (11, ["return torch.div(x, 2.5)"]),
    "div.Tensor_mode": (11, ["return torch.div(x, y, rounding_mode=\"floor\")"]),
    "div.Scalar_mode": (11, ["return torch.div(x, 3, rounding_mode=\"trunc\")"]),
    "div_.Tensor": (11, ["z = torch.add(x, 0)", "return torch.div_(z, torch.add(y, 0))"]),
    "div_.Scalar": (11, ["z = torch.add(x, 0)", "return torch.div_(z, 3)"]),
    "div.out": (11, ["z = torch.add(x, 0)", "return torch.div(x, y, out=z)"]),
    "full of a float": (11, [f"return torch.full([2, 3], 1.5, {FACTORY.format(dtype='None')})"]),
    "full of an int": (11, [f"return torch.full([2, 3], 3, {FACTORY.format(dtype='None')})"]),
    "full of a dtype": (11, [f"return torch.full([2, 3], 3, {FACTORY.format(dtype='4')})"]),
    "gelu": (11, ["return torch.gelu(torch.to(x, 6))"]),
    "linspace": (11, [f"return torch.linspace(0, 10, 7, {FACTORY.format(dtype='6')})"]),
    "linspace without steps": (8, [f"return torch.linspace(0, 10, None, {FACTORY.format(dtype='6')})"]),
    "logspace": (11, [f"return torch.logspace(0, 2, 5, 2., {FACTORY.format(dtype='6')})"]),
    "logspace without steps": (9, [f"return torch.logspace(0, 2, None, 10., {FACTORY.format(dtype='6')})"]),
    "floordiv of ints": (11, ["n = torch.floordiv(torch.size(x, 1), 2)", "return torch.mul(x, n)"]),
    "floor_divide": (11, ["return torch.floor_divide(x, y)"]),
    "div of ints": (11, ["n = torch.div(torch.size(x, 1), 2)", "return torch.mul(x, n)"]),
    "a loop": (11, ["z = torch.add(x, 0)", "for i in range(torch.size(x, 0)):",
                    "  z = torch.div(torch.add(z, i), y)", "return z"]),
    "a branch": (11, ["if torch.gt(torch.size(x, 0), 1):", "  z = torch.div(x, y)", "else:",
                      "  z = x", "return z"]),
    "arange": (11, [f"return torch.arange(0, 7, 2, {FACTORY.format(dtype='None')})"]),
    "to": (11, ["return torch.to(x, 6, False, False)"]),
    "a list": (11, ["a = torch.split(x, 1)", "return torch.cat([a[1], torch.div(a[0], 2)])"]),
}
INPUTS = {
    "floats": (torch.tensor([[7.0, -7.0, 3.5], [2.0, -1.0, 9.0]]), torch.tensor([[2.0, 2.0, -2.0], [3.0, 4.0, 0.5]])),
    "ints": (torch.tensor([[7, -7, 3], [2, -1, 9]]), torch.tensor([[2, 2, -2], [3, 4, 5]])),
}


class Pair(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x


def write(template: pathlib.Path, path: pathlib.Path, version: int, bodies: list[list[str]]):
    """The archive `template`, of that version, with a method for each body; forward calls all."""
    with zipfile.ZipFile(template) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            name = entry.filename.split("/", 1)[1]
            if name in ("version", ".data/version"):
                data = f"{version}\n".encode()
            elif name.endswith(".debug_pkl") or name.startswith(".data/") or name in ("byteorder", ".format_version"):
                continue  # which older writers did not write
            elif name.endswith(".py"):
                head, parameters = data.decode().split("    return x")[0].split("  def forward(")
                # Until version 2, each file began with it.
                text = ("op_version_set = 1\n" if version == 2 else "") + head
                calls = ", ".join(f"(self).p{i}(x, y, )" for i in range(len(bodies)))
                for method, lines in [(f"p{i}", body) for i, body in enumerate(bodies)] + [
                        ("forward", [f"return [{calls}]"])]:
                    result = "List[Tensor]" if method == "forward" else "Tensor"
                    text += f"  def {method}(" + parameters.replace("-> Tensor", f"-> {result}")
                    text += "".join(f"    {line}\n" for line in lines)
                data = text.encode()
            new.writestr(zipfile.ZipInfo(entry.filename), data)


def run(graphnet: str, path: pathlib.Path, inputs, folder: pathlib.Path) -> str:
    in_pytorch.write_safetensors({n: v.clone() for n, v in zip("xy", inputs)}, folder / "inputs.safetensors")
    with torch.no_grad():
        results = torch.jit.load(str(path))(*(v.clone() for v in inputs))
    done = subprocess.run([graphnet, "run", path, "--inputs", folder / "inputs.safetensors",
                           "--outputs", folder / "o.safetensors", "--threads", "1"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"does not run: {done.stderr.strip()[:300]}"
    return in_pytorch.compare({f"o{i}": v for i, v in enumerate(results)}, in_pytorch.read_safetensors(folder / "o.safetensors"))


def is_taken(path: pathlib.Path, inputs) -> bool:
    try:
        torch.jit.load(str(path))(*(v.clone() for v in inputs))
        return True
    except RuntimeError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the archives")
    args = parser.parse_args()
    torch.set_num_threads(1)
    programs = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        kept = args.keep or folder
        kept.mkdir(parents=True, exist_ok=True)
        torch.jit.script(Pair()).save(str(folder / "template.pt"))
        for version in VERSIONS:
            for kind, inputs in INPUTS.items():
                taken = {}
                for program, (before, body) in PROGRAMS.items():
                    write(folder / "template.pt", folder / "one.pt", version, [body])
                    if version < before and is_taken(folder / "one.pt", inputs):
                        taken[program] = body
                path = kept / f"{kind}.{version}.pt"
                write(folder / "template.pt", path, version, list(taken.values()))
                what = run(args.graphnet, path, inputs, folder)
                programs += len(taken)
                failed += bool(what)
                if what:
                    print(f"version {version}, {kind}: {what} of {list(taken)}", flush=True)
    print(f"{programs} calls in {len(VERSIONS) * len(INPUTS)} archives of versions 2 to 10, {failed} archives differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
