#!/usr/bin/env python3
"""Validates decompositions that Python GraphNet wrote, as they are and damaged.

    tests/validate/foreign_test.py [--graphnet TOOL] [FOLDER...]

A FOLDER holds samples/NAME, chain/NAME and dag/NAME: what was cut, and the pieces NAME_0, NAME_1, … By
default it is the one in the tree, which is written by hand in the manner of Python GraphNet: its pieces
call public functions where the sample calls private ones, have numbers where it has symbols, no
annotations, and statistics of their own.

Each set must be valid, with equal bits. Then it is damaged in each of the ways below, one at a time, and
must be INVALID: by its structure or, where that does not tell, when it is run. The exit status is 0 if
so, 1 if not.
"""

import argparse
import ast
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(os.path.abspath(__file__)).parent


class Set:
    """The pieces of a decomposition in a folder, which may be written to."""

    def __init__(
        self, folder: pathlib.Path, style: str, others: list[pathlib.Path], rng: random.Random
    ):
        self.folder, self.style, self.others, self.rng = folder, style, others, rng
        self.pieces = sorted(
            (p for p in folder.iterdir() if p.is_dir()), key=lambda p: int(p.name.rsplit("_", 1)[1])
        )
        self.stem = self.pieces[0].name.rsplit("_", 1)[0]

    def any_piece(self) -> pathlib.Path:
        return self.rng.choice(self.pieces)

    def place(self, pieces: list[pathlib.Path]) -> None:
        """Makes these the pieces, in this order; one may be there twice."""
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as aside:
            for i, piece in enumerate(pieces):
                shutil.copytree(piece, f"{aside}/{self.stem}_{i}")
            for piece in self.pieces:
                shutil.rmtree(piece)
            for i in range(len(pieces)):
                shutil.move(f"{aside}/{self.stem}_{i}", self.folder)

    def edit(self, change: Callable[[ast.FunctionDef, bool, int], bool]) -> bool:
        """Changes `forward` of the first piece, in random order, that allows it."""
        order = list(range(len(self.pieces)))
        self.rng.shuffle(order)
        for i in order:
            path = self.pieces[i] / "model.py"
            tree = ast.parse(path.read_text())
            forward = next(
                n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "forward"
            )
            # Names may be needed after they were given up.
            forward.body = [s for s in forward.body if not is_none(s)]
            if change(forward, i + 1 == len(self.pieces), i):
                path.write_text(ast.unparse(ast.fix_missing_locations(tree)))
                return True
        return False

    def edit_record(self, pattern: str, replacement: Callable[[Any], str]) -> bool:
        order = list(self.pieces)
        self.rng.shuffle(order)
        for piece in order:
            path = piece / "weight_meta.py"
            found = list(re.finditer(pattern, path.read_text()))
            if found:
                one = self.rng.choice(found)
                text = path.read_text()
                path.write_text(text[: one.start()] + replacement(one) + text[one.end() :])
                return True
        return False


def is_none(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(value, ast.Constant)
        and value.value is None
    )


def operators(forward: ast.FunctionDef) -> list[ast.Assign]:
    return [
        s for s in forward.body if isinstance(s, ast.Assign) and not isinstance(s.value, ast.Name)
    ]


def calls(forward: ast.FunctionDef) -> list[ast.Call]:
    return [s.value for s in operators(forward) if isinstance(s.value, ast.Call)]


def returned(forward: ast.FunctionDef) -> list[ast.expr]:
    value = forward.body[-1].value  # type: ignore[attr-defined]
    return value.elts if isinstance(value, ast.Tuple) else []


def function(name: str) -> ast.expr:
    return ast.parse(name, mode="eval").body


# --- Damage: each returns whether it was possible ------------------------------------------------------


def on_operator(
    change: Callable[[ast.FunctionDef, ast.Assign, random.Random], bool],
) -> Callable[[Set], bool]:
    def damage(made: Set) -> bool:
        def edit(forward: ast.FunctionDef, last: bool, i: int) -> bool:
            found = operators(forward)
            made.rng.shuffle(found)
            return any(change(forward, statement, made.rng) for statement in found)

        return made.edit(edit)

    return damage


def on_call(change: Callable[[ast.Call], bool]) -> Callable[[Set], bool]:
    return on_operator(lambda forward, s, rng: isinstance(s.value, ast.Call) and change(s.value))


def drop(forward: ast.FunctionDef, statement: ast.Assign, rng: random.Random) -> bool:
    names = [n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name) and n.id != "torch"]
    known = {a.arg for a in forward.args.args} | {
        t.id
        for s in forward.body
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    names = [n for n in names if n in known]
    if names:
        statement.value = ast.Name(names[0])
    return bool(names)


def insert_after(forward: ast.FunctionDef, statement: ast.Assign, texts: list[str]) -> bool:
    at = forward.body.index(statement) + 1
    name = ast.unparse(statement.targets[0])
    forward.body[at:at] = [ast.parse(text.format(name=name)).body[0] for text in texts]
    return True


def double(forward: ast.FunctionDef, statement: ast.Assign, rng: random.Random) -> bool:
    return insert_after(
        forward,
        statement,
        ["doubled = " + ast.unparse(statement.value).replace("{", "{{").replace("}", "}}")],
    )


def swap(forward: ast.FunctionDef, statement: ast.Assign, rng: random.Random) -> bool:
    """With the one behind it, if that is another operator and does not need it."""
    at = forward.body.index(statement)
    behind = forward.body[at + 1]
    if behind not in operators(forward) or ast.unparse(statement.targets[0]) in ast.unparse(behind):
        return False
    if ast.unparse(statement.value).split("(")[0] == ast.unparse(behind.value).split("(")[0]:  # type: ignore
        return False
    forward.body[at], forward.body[at + 1] = behind, statement
    return True


def constants(call: ast.Call, kind: type) -> list[ast.Constant]:
    values = [*call.args, *(k.value for k in call.keywords)]
    return [
        n
        for value in values
        for n in ast.walk(value)
        if isinstance(n, ast.Constant) and type(n.value) is kind
    ]


def change_constant(kind: type, change: Callable[[Any], Any]) -> Callable[[Set], bool]:
    def one(call: ast.Call) -> bool:
        found = constants(call, kind)
        if found:
            found[0].value = change(found[0].value)
        return bool(found)

    return on_call(one)


def other_operand(forward: ast.FunctionDef, statement: ast.Assign, rng: random.Random) -> bool:
    before = [a.arg for a in forward.args.args[1:]]
    for earlier in forward.body[: forward.body.index(statement)]:
        if isinstance(earlier, ast.Assign) and not isinstance(earlier.value, ast.Name):
            before.append(ast.unparse(earlier.targets[0]))
    aliases = {
        ast.unparse(s.targets[0]): s.value.id
        for s in forward.body
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)
    }
    if not isinstance(statement.value, ast.Call) or not statement.value.args:
        return False
    now = statement.value.args[0]
    if not isinstance(now, ast.Name):
        return False
    others = [n for n in before if n not in (now.id, aliases.get(now.id))]
    if others:
        statement.value.args[0] = ast.Name(rng.choice(others))
    return bool(others)


def call_another(call: ast.Call) -> bool:
    if ast.unparse(call.func).startswith("torch."):
        call.func = function("torch.sigmoid")
    elif isinstance(call.func, ast.Attribute):
        call.func.attr += "_as"
    return True


def in_place(call: ast.Call) -> bool:
    """Another operator by one character."""
    name = ast.unparse(call.func)
    for plain, other in {
        "relu": "relu6",
        "gelu": "silu",
        "linear": "bilinear",
        "softmax": "log_softmax",
        "transpose": "swapdims_",
        "flatten": "flatten_",
        "conv2d": "conv1d",
        "tanh": "tan",
    }.items():
        if name.endswith(plain):
            call.func = function(name[: -len(plain)] + other)
            return True
    return False


def swap_arguments(call: ast.Call) -> bool:
    if len(call.args) < 2 or ast.unparse(call.args[0]) == ast.unparse(call.args[1]):
        return False
    call.args[0], call.args[1] = call.args[1], call.args[0]
    return True


def rename_keyword(call: ast.Call) -> bool:
    if call.keywords:
        call.keywords[0].arg = "renamed"
    return bool(call.keywords)


def add_argument(call: ast.Call) -> bool:
    call.args.append(ast.Constant(1))
    return True


def on_outputs(
    change: Callable[[list[ast.expr], random.Random], bool], in_dag: bool = True
) -> Callable[[Set], bool]:
    def damage(made: Set) -> bool:
        # The pieces of a DAG take values by name, in any order, and the last one returns what the graph does.
        return made.edit(
            lambda forward, last, i: (
                (in_dag or last or made.style == "chain") and change(returned(forward), made.rng)
            )
        )

    return damage


def swap_ends(values: list[ast.expr], rng: random.Random) -> bool:
    if len(values) < 2 or ast.unparse(values[0]) == ast.unparse(values[-1]):
        return False
    values[0], values[-1] = values[-1], values[0]
    return True


def drop_one(values: list[ast.expr], rng: random.Random) -> bool:
    if len(values) < 2:
        return False
    values.pop(rng.randrange(len(values)))
    return True


def double_one(values: list[ast.expr], rng: random.Random) -> bool:
    if values:
        values.append(rng.choice(values))
    return bool(values)


def replace_output(made: Set) -> bool:
    def edit(forward: ast.FunctionDef, last: bool, i: int) -> bool:
        values = returned(forward)
        inside = [ast.unparse(s.targets[0]) for s in operators(forward)]
        others = [n for n in inside if n not in {ast.unparse(v) for v in values}]
        if not values or not others:
            return False
        values[made.rng.randrange(len(values))] = ast.Name(made.rng.choice(others))
        return True

    return made.edit(edit)


def swap_inputs(made: Set) -> bool:
    def edit(forward: ast.FunctionDef, last: bool, i: int) -> bool:
        arguments = forward.args.args
        if made.style == "dag" or i == 0 or len(arguments) < 3:
            return False  # taken by name
        arguments[1], arguments[-1] = arguments[-1], arguments[1]
        return True

    return made.edit(edit)


def add_input(made: Set) -> bool:
    def edit(forward: ast.FunctionDef, last: bool, i: int) -> bool:
        forward.args.args.append(ast.arg("surplus"))
        path = made.pieces[i] / "weight_meta.py"
        path.write_text(
            path.read_text()
            + '\nclass Program_weight_tensor_meta_surplus:\n\tname = "surplus"\n\tshape = [2]\n'
            '\tdtype = "torch.float32"\n\tdevice = "cpu"\n\tmean = 0.0\n\tstd = 1.0\n\tdata = None\n'
        )
        return True

    return made.edit(edit)


def rename_input(made: Set) -> bool:
    def edit(forward: ast.FunctionDef, last: bool, i: int) -> bool:
        if made.style == "chain" and i > 0:
            return False  # taken by position
        # Outputs of the previous piece that no piece uses by name may have any name.
        names = [a.arg for a in forward.args.args[1:] if a.arg.startswith("L_")]
        if not names:
            return False
        name = made.rng.choice(names)
        for node in ast.walk(forward):
            if isinstance(node, ast.arg) and node.arg == name:
                node.arg = "renamed_port"
            if isinstance(node, ast.Name) and node.id == name:
                node.id = "renamed_port"
        path = made.pieces[i] / "weight_meta.py"
        path.write_text(
            re.sub(
                rf"\b(Program_weight_tensor_meta_)?{name}\b", r"\1renamed_port", path.read_text()
            )
        )
        return True

    return made.edit(edit)


def swap_pieces(made: Set) -> bool:
    if len(made.pieces) < 2:
        return False
    i = made.rng.randrange(len(made.pieces) - 1)
    pieces = list(made.pieces)
    pieces[i], pieces[i + 1] = pieces[i + 1], pieces[i]
    made.place(pieces)
    return True


def drop_piece(made: Set) -> bool:
    i = made.rng.randrange(len(made.pieces))
    if len(made.pieces) < 2:
        return False
    made.place(made.pieces[:i] + made.pieces[i + 1 :])
    return True


def double_piece(made: Set) -> bool:
    i = made.rng.randrange(len(made.pieces))
    made.place(made.pieces[: i + 1] + made.pieces[i:])
    return True


def delete_piece(made: Set) -> bool:
    if len(made.pieces) < 2:
        return False
    shutil.rmtree(made.any_piece())
    return True


def foreign_piece(made: Set) -> bool:
    if not made.others:
        return False
    pieces = list(made.pieces)
    pieces[made.rng.randrange(len(pieces))] = made.rng.choice(made.others)
    made.place(pieces)
    return True


def truncate(made: Set) -> bool:
    path = made.any_piece() / "model.py"
    text = path.read_text().rstrip()
    path.write_text(text[: text.rindex("return")])
    return True


def empty(name: str) -> Callable[[Set], bool]:
    def damage(made: Set) -> bool:
        (made.any_piece() / name).write_text("")
        return True

    return damage


def delete(name: str) -> Callable[[Set], bool]:
    def damage(made: Set) -> bool:
        (made.any_piece() / name).unlink()
        return True

    return damage


KINDS: dict[str, Callable[[Set], bool]] = {
    "piece dropped, others renumbered": drop_piece,
    "piece deleted": delete_piece,
    "two pieces swapped": swap_pieces,
    "piece doubled": double_piece,
    "piece of another model": foreign_piece,
    "operator dropped": on_operator(drop),
    "operator added": on_operator(
        lambda f, s, r: insert_after(f, s, ["{name} = torch.relu({name})"])
    ),
    "dead operator added": on_operator(
        lambda f, s, r: insert_after(f, s, ["dead = torch.neg({name})"])
    ),
    "operator doubled": on_operator(double),
    "operators swapped": on_operator(swap),
    "operator changed": on_call(call_another),
    "operator changed to one like it": on_call(in_place),
    "operand replaced": on_operator(other_operand),
    "arguments swapped": on_call(swap_arguments),
    "argument added": on_call(add_argument),
    "integer changed": change_constant(int, lambda value: value + 1),
    "float changed": change_constant(float, lambda value: value * 2 + 0.5),
    "bool flipped": change_constant(bool, lambda value: not value),
    "word changed": change_constant(str, lambda value: value + "s"),
    "keyword argument renamed": on_call(rename_keyword),
    "input order changed": swap_inputs,
    "input added": add_input,
    "input renamed": rename_input,
    "output order changed": on_outputs(swap_ends, in_dag=False),
    "output dropped": on_outputs(drop_one),
    "output doubled": on_outputs(double_one),
    "output replaced": replace_output,
    "port's shape changed": lambda made: made.edit_record(
        r"shape = \[(?=\d)", lambda m: "shape = [1, "
    ),
    "port's size changed": lambda made: made.edit_record(
        r"shape = \[(\d+)", lambda m: f"shape = [{int(m[1]) + 1}"
    ),
    "port's dtype changed": lambda made: made.edit_record(
        r'"torch.float32"', lambda m: '"torch.float16"'
    ),
    "port's device changed": lambda made: made.edit_record(r'"cpu"', lambda m: '"meta"'),
    "record dropped": lambda made: made.edit_record(r"class \w+:\n(\t.*\n)+", lambda m: ""),
    "model.py truncated": truncate,
    "model.py emptied": empty("model.py"),
    "weight_meta.py emptied": empty("weight_meta.py"),
    "graph_net.json deleted": delete("graph_net.json"),
}


# --- Validating ----------------------------------------------------------------------------------------


class Validator:
    def __init__(self, graphnet: str):
        self.graphnet = graphnet

    def __call__(self, sample: pathlib.Path, pieces: pathlib.Path, run: bool) -> dict[str, Any]:
        done = subprocess.run(
            [
                self.graphnet,
                "validate",
                str(sample),
                str(pieces),
                "--json",
                *(["--run"] if run else []),
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode not in (0, 1):
            return {"valid": None, "error": done.stderr.strip()}
        return json.loads(done.stdout)["samples"][0]


def why(result: dict[str, Any]) -> str:
    if not result.get("findings"):
        return str(result.get("error", ""))
    return "; ".join(f"{f['class']} {f['message']}" for f in result["findings"][:2])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument(
        "--graphnet",
        default="bazel-bin/graphnet/cli/graphnet",
        help="the tool (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="of all damage (default: %(default)s)"
    )
    parser.add_argument("--verbose", action="store_true", help="print what each damage gives")
    args = parser.parse_args()
    validate = Validator(args.graphnet)
    valid = sets = failed = 0
    applied: Counter = Counter()
    seen: Counter = Counter()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        for place in args.folders or [HERE / "foreign"]:
            # A sample must not contain links, but the files of a test are links.
            folder = pathlib.Path(shutil.copytree(place, f"{scratch}/{sets}"))
            for pieces in sorted([*(folder / "chain").iterdir(), *(folder / "dag").iterdir()]):
                sets += 1
                sample, style = folder / "samples" / pieces.name, pieces.parent.name
                others = [
                    p
                    for other in pieces.parent.iterdir()
                    if other != pieces
                    for p in other.iterdir()
                    if p.is_dir()
                ]
                result = validate(sample, pieces, run=True)
                numeric: dict[str, Any] | None = result.get("numeric")
                if (
                    not result["valid"]
                    or numeric is None
                    or numeric["bit_equal"] != numeric["outputs"]
                ):
                    print(f"NOT VALID {style}/{pieces.name}: {why(result)}", flush=True)
                    continue
                valid += 1
                for kind in list(KINDS) * args.rounds:
                    with tempfile.TemporaryDirectory() as damaged:
                        copy = pathlib.Path(damaged) / "set" / pieces.name
                        shutil.copytree(pieces, copy)
                        for path in [copy, *copy.rglob("*")]:
                            path.chmod(path.stat().st_mode | 0o200)
                        if not KINDS[kind](Set(copy, style, others, rng)):
                            continue
                        applied[kind] += 1
                        result = validate(sample, copy, run=False)
                        if result["valid"]:
                            result = validate(sample, copy, run=True)
                        if result["valid"] is False:
                            seen[kind] += 1
                        else:
                            print(
                                f"MISSED {style}/{pieces.name}, {kind}: {why(result)}", flush=True
                            )
                            failed += 1
                        if args.verbose:
                            print(f"{style}/{pieces.name}, {kind}: {why(result)}", flush=True)
    width = max(len(kind) for kind in KINDS)
    for kind in KINDS:
        print(f"{kind:{width}}  {applied[kind]:5} applied  {seen[kind]:5} seen")
    print(
        f"{valid} of {sets} sets valid, {sum(seen.values())} of {sum(applied.values())} times damage was seen"
    )
    return 0 if valid == sets and seen == applied else 1


if __name__ == "__main__":
    sys.exit(main())
