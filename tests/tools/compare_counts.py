#!/usr/bin/env python3
"""Counts the nodes of GraphNet samples with CPython's own parser, and compares the
counts with those of `graphnet stats --json`.

    compare_counts.py --graphnet BINARY FOLDER...

Compared are, for every sample under the folders, the nodes by op and target, their
sum, the arguments of forward and the values that it returns. `graphnet find` must
find as many calls of each family of names, for a query with fewer arguments, too.
What is a node:

    f(x), torch.f(x)        call_function builtins.f, call_function torch.f
    x.f(y)                  call_method f
    x + y, -x, ~x, x == y   call_function operator.add, .neg, .invert, .eq
    x += y                  call_function operator.iadd
    x[i], x[i] = y          call_function operator.getitem, operator.setitem
    x.shape                 call_function builtins.getattr

What is none: aliases (a = b), releases (a = None), literals, signed numbers and
slice(...), device(...), complex(...), float("inf") and Ellipsis included.
"""

import argparse
import ast
import collections
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Set

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}
LITERAL_CALLS = {"slice", "device", "complex"}
# A query, and the last parts of all targets that it finds, without the _ of calls in place.
FAMILIES = {
    "add": {"add", "iadd"},
    "div": {"div", "truediv", "itruediv", "divide", "true_divide"},
    "truediv": {"div", "truediv", "itruediv", "divide", "true_divide"},
    "sub": {"sub", "isub", "subtract", "rsub"},
    "getitem": {"getitem"},
    "view": {"view"},
    "relu": {"relu"},
    "bitwise_and": {"and", "iand", "bitwise_and"},
    "cat": {"cat", "concat", "concatenate"},
}


class Counts(NamedTuple):
    placeholders: int
    outputs: int
    counts: Dict[str, int]


def find_samples(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    if (folder / "graph_net.json").is_file():
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir() and not child.name.startswith("."):
            yield from find_samples(child)


class Counter(ast.NodeVisitor):
    """Counts the nodes of one function; whatever it does not know is an error."""

    def __init__(self) -> None:
        self.counts: Dict[str, int] = collections.Counter()
        self.values: Set[str] = set()  # names that stand for values
        self.outputs = 0

    def count_function(self, function: ast.FunctionDef, is_main: bool) -> None:
        self.values |= {arg.arg for arg in function.args.args}
        # A name is a value in the whole function; that of a nested function is none.
        for statement in function.body:
            for target in getattr(statement, "targets", ()):
                if isinstance(target, ast.Name):
                    self.values.add(target.id)
        for statement in function.body:
            if is_main and isinstance(statement, ast.Return):
                returned = statement.value
                self.outputs = len(returned.elts) if isinstance(returned, (ast.Tuple, ast.List)) else 1
            self.visit(statement)

    def call(self, target: str) -> None:
        self.counts[f"call_function {target}"] += 1

    def generic_visit(self, node: ast.AST) -> None:
        raise ValueError(f"line {getattr(node, 'lineno', '?')}: a {type(node).__name__} is not expected")

    def visit_all(self, nodes: List[ast.expr]) -> None:
        for node in nodes:
            self.visit(node)

    # --- Statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.count_function(node, is_main=False)  # the body of a higher-order operator

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.visit(target.value)
                self.visit(target.slice)
                self.call("operator.setitem")
            elif not isinstance(target, ast.Name):
                self.generic_visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Subscript):  # a[i] += b reads and writes a[i]
            self.visit(node.target.value)
            self.visit(node.target.slice)
            self.call("operator.getitem")
            self.call("operator.setitem")
        elif not isinstance(node.target, ast.Name):
            self.generic_visit(node.target)
        # There is no in-place form of these names with an underscore at the end.
        self.call("operator.i" + OPERATORS[type(node.op)].rstrip("_"))

    # --- Expressions

    def visit_Name(self, node: ast.Name) -> None:
        pass

    def visit_Constant(self, node: ast.Constant) -> None:
        pass

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self.visit_all(node.elts)

    def visit_List(self, node: ast.List) -> None:
        self.visit_all(node.elts)

    def visit_Dict(self, node: ast.Dict) -> None:
        self.visit_all(node.values)

    def visit_Slice(self, node: ast.Slice) -> None:
        self.visit_all([part for part in (node.lower, node.upper, node.step) if part is not None])

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.visit(node.left)
        self.visit(node.right)
        if not (self.is_number(node.left) and self.is_number(node.right)):
            self.call(f"operator.{OPERATORS[type(node.op)]}")

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit_all([node.left, *node.comparators])
        for op in node.ops:
            self.call(f"operator.{OPERATORS[type(op)]}")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.visit(node.operand)
        if not self.is_number(node.operand):
            self.call(f"operator.{OPERATORS[type(node.op)]}")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self.visit(node.slice)
        self.call("operator.getitem")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.dotted_path(node) is None:  # else a constant such as torch.float32
            self.visit(node.value)
            self.call("builtins.getattr")

    def visit_Call(self, node: ast.Call) -> None:
        self.visit_all(node.args)
        self.visit_all([keyword.value for keyword in node.keywords])
        path = self.dotted_path(node.func)
        if path is None:
            if not isinstance(node.func, ast.Attribute):
                self.generic_visit(node.func)
            self.visit(node.func.value)
            self.counts[f"call_method {node.func.attr}"] += 1
        elif not self.is_literal_call(path, node):
            self.call(path if "." in path else f"builtins.{path}")

    @staticmethod
    def is_literal_call(path: str, node: ast.Call) -> bool:
        is_float = path == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
        return path in LITERAL_CALLS or is_float

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is a number as written: 1, -1, inf, 1 + 2j."""
        if isinstance(node, ast.UnaryOp):
            return self.is_number(node.operand)
        if isinstance(node, ast.BinOp):
            return self.is_number(node.left) and self.is_number(node.right)
        if isinstance(node, ast.Call):
            path = self.dotted_path(node.func)
            return path is not None and self.is_literal_call(path, node)
        is_constant_name = isinstance(node, ast.Name) and node.id not in self.values
        return is_constant_name or isinstance(node, ast.Constant)

    def dotted_path(self, node: ast.expr) -> Optional[str]:
        """"torch.nn.functional.relu"; None if it starts from a value."""
        parts: List[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.values:
            return None
        return ".".join([node.id, *reversed(parts)])


def count(sample: pathlib.Path) -> Counts:
    tree = ast.parse((sample / "model.py").read_bytes())
    forwards = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    if len(forwards) != 1:
        raise ValueError(f"{len(forwards)} functions are called forward")
    counter = Counter()
    counter.count_function(forwards[0], is_main=True)
    return Counts(len(forwards[0].args.args) - 1, counter.outputs, dict(counter.counts))


def count_or_error(sample: pathlib.Path):
    try:
        return count(sample)
    except (ValueError, SyntaxError, KeyError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def differences(expected: Counts, line: Dict) -> List[str]:
    found = []
    for key, value in (
        ("num_inputs", expected.placeholders),
        ("num_outputs", expected.outputs),
        ("num_nodes", sum(expected.counts.values())),
    ):
        if line[key] != value:
            found.append(f"{key}: {value} by ast, {line[key]} by graphnet")
    for target in sorted(expected.counts.keys() | line["counts"].keys()):
        ours, theirs = expected.counts.get(target, 0), line["counts"].get(target, 0)
        if ours != theirs:
            found.append(f"{target}: {ours} by ast, {theirs} by graphnet")
    return found


def last_part(target: str) -> str:
    parts = target.split(" ", 1)[1].split(".")
    is_overload = parts[:2] == ["torch", "ops"] and len(parts) == 5
    return parts[-2 if is_overload else -1].strip("_")


def wrong_families(graphnet: str, folders: List[str], expected: List[Counts]) -> List[str]:
    wrong = []
    for name, parts in FAMILIES.items():
        count = sum(number for one in expected for target, number in one.counts.items() if last_part(target) in parts)
        for query in (name, f"{name}(?)"):
            run = subprocess.run([graphnet, "find", query, "-l", *folders], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
            counts = re.search(r"^(\d+) calls in ", run.stderr, re.M)
            found = int(counts[1]) if counts else -1
            if found != count:
                wrong.append(f"find {query}: {count} by ast, {found} by graphnet")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet", metavar="BINARY",
                        help="the program (default: %(default)s)")
    args = parser.parse_args()

    samples = [sample for folder in args.folders for sample in find_samples(folder)]
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        expected = pool.map(count_or_error, samples, chunksize=4)

    command = [args.graphnet, "stats", "--json", *map(str, args.folders)]
    stats = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = [sample for sample in json.loads(stats.stdout)["samples"] if "error" not in sample]
    by_path = {os.path.realpath(line["path"]): line for line in lines}

    passed = failed = nodes = 0
    targets: Set[str] = set()
    for sample, counts in zip(samples, expected):
        line = by_path.pop(os.path.realpath(sample), None)
        if isinstance(counts, str):
            found = [f"not counted: {counts}"]
        elif line is None:
            found = ["graphnet says nothing of it"]
        else:
            found = differences(counts, line)
            nodes += sum(counts.counts.values())
            targets |= counts.counts.keys()
        passed += not found
        failed += bool(found)
        if found:
            print(f"FAIL {sample}: {'; '.join(found[:5])}{'; ...' if len(found) > 5 else ''}")
    for path in by_path:
        print(f"FAIL {path}: not found by this program")
    failed += len(by_path)
    if stats.returncode != 0:
        print(f"FAIL graphnet exits with {stats.returncode}")
    if not samples:
        print("FAIL no samples")
    counted = [counts for counts in expected if isinstance(counts, Counts)]
    wrong = wrong_families(args.graphnet, [str(folder) for folder in args.folders], counted)
    for line in wrong:
        print(f"FAIL {line}")
    failed += len(wrong)
    passed += 2 * len(FAMILIES) - len(wrong)
    print(f"{len(samples)} samples, {nodes} nodes, {len(targets)} targets")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or stats.returncode != 0 or not samples else 0


if __name__ == "__main__":
    sys.exit(main())
