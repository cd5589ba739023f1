"""The suite of compare.py on hostile texts in archives that PyTorch loads."""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import zipfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1] / "cli"))
from compare import Failed, Run, Suite  # noqa: E402
from hostile_names import KNOWN, hostile_names, quoted, sample  # noqa: E402

# What a text would do if it ran. Each leaves a trace in the hook of the process that loads the file.
DEEDS = [
    "__import__('os').system('true')",
    "__import__('subprocess').run(['true'])",
    "open('PWNED', 'w')",
    "__import__('graphnet_marker')",
    "exec('import graphnet_marker')",
    "eval(\"__import__('graphnet_marker')\")",
    "().__class__.__base__.__subclasses__()[0].__init__.__globals__['graphnet_marker']",
]
FRAMES = [
    "{deed}",
    "s0', integer=True) if not {deed} else Symbol('s0",
    "s0 + {deed}",
    "Symbol('s0') if {deed} else 1",
    "Max(1, {deed})",
    "[{deed} for _ in (1,)][0]",
    "(lambda: {deed})()",
    "s0 and {deed}",
    "s0\n{deed}",
    "s0; {deed}",
    'f"{{{deed}}}"',
    "L['x'].size()[0] >= 1 and {deed}",
    "{deed} is None",
    "L['x'][{deed}]",
    "L[{deed}]",
    "x={deed}",
    "x: {deed}",
    'x"]) or {deed} or print(["',
    "x', {deed}, '",
    "(x := {deed})",
    "ｅｖａｌ('{deed}')",
    "integer:{deed}",
    "s0 if True else {deed}",
    "-{deed}",
    "{deed}.bit_length()",
    "x)\n    {deed}\n#",
    "x\\\n{deed}",
]

# Loads and calls each file that it is told, and prints what its hook saw.
WATCHER = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
import logging, torch, torch.export
logging.disable(logging.CRITICAL)
seen = []
def hook(event, args):
    if event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.remove", "os.rename"):
        seen.append(event)
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+") and "PWNED" in str(args[0]):
        seen.append("open for writing")
    elif event == "import" and args[0] == "graphnet_marker":
        seen.append("import")
x = torch.zeros(3, 4)
def use(path):
    program = torch.export.load(path)
    program.module()(x)
for path in sys.stdin:
    seen.clear()
    if path.startswith("warm "):
        use(path.strip()[5:])  # what PyTorch imports and starts by itself the first time
        sys.addaudithook(hook)
    error = ""
    try:
        use(path.strip().removeprefix("warm "))
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"[:200]
    print(json.dumps([sorted(set(seen)), error]), flush=True)
"""


class Watcher:
    def __init__(self, folder: pathlib.Path, plain: pathlib.Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WATCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
        )
        if (found := self.look(pathlib.Path(f"warm {plain}")))[0] or found[1]:
            raise RuntimeError(f"a plain program: {found}")

    def look(self, path: pathlib.Path) -> list:
        """[what happened, PyTorch's error]"""
        print(path, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def places(document: object, path: tuple = ()) -> list:
    """Each text of a program that PyTorch evaluates or spells in code: (path, whether it is a key)."""
    found = []
    if isinstance(document, dict):
        for key, value in document.items():
            if path and (path[-1] == "range_constraints" or str(path[-1]).endswith("_values")):
                found.append((path + (key,), True))
            if isinstance(value, str) and key in (
                "expr_str",
                "name",
                "as_name",
                "parameter_name",
                "buffer_name",
                "in_spec",
                "target",
                "tensor_constant_name",
                "out_spec",
                "fqn",
            ):
                found.append((path + (key,), False))
            found += places(value, path + (key,))
    elif isinstance(document, list):
        if path and path[-1] in ("guards_code", "forward_arg_names"):
            found += [(path + (i,), False) for i, value in enumerate(document) if isinstance(value, str)]
        for i, value in enumerate(document):
            found += places(value, path + (i,))
    return found


def planted(document: dict, place: tuple, is_key: bool, text: str) -> dict:
    copy = json.loads(json.dumps(document))
    at = copy
    for step in place[:-1]:
        at = at[step]
    if is_key:
        at[text] = at.pop(place[-1])
    elif place[-1] in ("in_spec", "out_spec"):
        at[place[-1]] = at[place[-1]].replace('"context": "[]"', f'"context": {json.dumps(json.dumps([text]))}', 1)
    else:
        at[place[-1]] = text
    return copy


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        return torch.relu(x[: x.shape[0] - 1] * self.scale) + self.shift


class Texts(Suite):
    """Has PyTorch load archives that graphnet writes of samples with hostile names and texts.

    TorchScript: a sample with hostile names and one with plain ones must have the same nodes in torch.jit.load.

    torch.export: texts that PyTorch evaluates (sizes, guards, names) are put into a .pt2 of PyTorch's, which
    graphnet reads and writes again. torch.export.load and a call run in a process whose sys.addaudithook watches
    whether any of them runs. A program may be refused in one line.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--names", type=int, default=5000, help="in TorchScript (default: %(default)s)")
        parser.add_argument("--exported", type=int, default=100, help="programs of torch.export (default: %(default)s)")

    def run(self, run: Run) -> None:
        names = hostile_names(run.args.names, run.args.seed)
        for begin in range(0, len(names), 500):
            self.scripted(run, names[begin : begin + 500])
        self.exported(run)

    @staticmethod
    def written(run: Run, what: object, source: pathlib.Path, target: pathlib.Path) -> bool:
        """Whether graphnet writes it; a refusal is counted, and told if it is not one line."""
        try:
            run.graphnet("convert", source, target)
            return True
        except Failed as error:
            if re.search("exit status [12]:", str(error)) and "\n" not in str(error):
                run.counts["skipped"] += 1  # refused
            else:
                run.tell(what, str(error))
            return False

    def scripted(self, run: Run, names: list[str]) -> None:
        found = []
        for which in (names, [f"n{i}" for i in range(len(names))]):
            source, archive = run.scratch / "names.gn", run.scratch / "names.pt"
            source.write_text(sample(which, KNOWN, with_targets=True))
            if not self.written(run, f"{names[0]!r}, … as TorchScript", source, archive):
                return
            graph = torch.jit.load(str(archive)).forward.graph
            found.append((len(list(graph.inputs())), collections.Counter(node.kind() for node in graph.nodes())))
        run.tell(f"{names[0]!r}, …", "" if found[0] == found[1] else "hostile names change the structure", len(names))

    def exported(self, run: Run) -> None:
        plain, hostile, written = (run.scratch / f"{name}.pt2" for name in ("plain", "hostile", "written"))
        size = torch.export.Dim("rows", min=3, max=64)
        torch.export.save(torch.export.export(Scaled(), (torch.zeros(3, 4),), dynamic_shapes=({0: size},)), str(plain))
        with zipfile.ZipFile(plain) as archive:
            records = [(info.filename, archive.read(info)) for info in archive.infolist()]
        (name,) = [name for name, _ in records if name.endswith("/models/model.json")]
        document = json.loads(dict(records)[name])
        document["guards_code"] = document.get("guards_code") or ["L['x'].size()[0] >= 3"]
        run.graphnet("convert", plain, run.scratch / "between.pb")  # its weights lie beside the text
        run.graphnet("convert", plain, run.scratch / "plain.gn")
        text_of_plain = (run.scratch / "plain.gn").read_text()
        choice, watcher, spots, ran = random.Random(run.args.seed), Watcher(run.scratch, plain), places(document), 0
        evaluated = [
            spot for spot in spots if spot[0][-1] == "expr_str" or {"guards_code", "range_constraints"} & set(spot[0])
        ]
        for i in range(run.args.exported):
            place, is_key = spots[i % len(spots)] if i >= 40 else choice.choice(evaluated)
            text = choice.choice(FRAMES).format(deed=choice.choice(DEEDS))
            changed = json.dumps(planted(document, place, is_key, text))
            with zipfile.ZipFile(hostile, "w") as archive:
                for record, content in records:
                    archive.writestr(record, changed if record == name else content)
            if i < 40:  # the judge sees what PyTorch makes of the file itself
                ran += bool(watcher.look(hostile)[0])
            # The program is also a file of a sample in text, and sizes are symbols there: neither was in a .pt2.
            kept = re.sub(
                r'(?m)^file "torch_export.json" = .*$',
                lambda _: f'file "torch_export.json" = {quoted(changed)}',
                text_of_plain,
            )
            without = "\n".join(line for line in text_of_plain.splitlines() if "torch_export" not in line)
            symbol = re.sub(r"\bs\d+\b", lambda _: quoted(text), without)
            for way, content in (("a .pt2", None), ("the file of a sample", kept), ("a symbol", symbol)):
                source = hostile if content is None else run.scratch / "between.gn"
                if content is not None:
                    source.write_text(content)
                what = f"{place} = {text!r}, by way of {way}"
                if self.written(run, what, source, written):
                    happened, _ = watcher.look(written)
                    run.tell(what, f"{happened}" if happened or (run.scratch / "PWNED").exists() else "")
        watcher.process.stdin.close()
        watcher.process.wait()
        if ran == 0:
            run.tell("the judge", "no text ran in PyTorch itself, so that it is blind")
