"""Suites of compare.py that need no PyTorch: counts of nodes, cuts, forecasts, MLIR, and
spellings of records."""

import argparse
import ast
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import subprocess
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Set

from compare import Failed, Run, Suite

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


def last_part(target: str) -> str:
    parts = target.split(" ", 1)[1].split(".")
    is_overload = parts[:2] == ["torch", "ops"] and len(parts) == 5
    return parts[-2 if is_overload else -1].strip("_")


class NodeCounts(Suite):
    """Counts the nodes of GraphNet samples with CPython's own parser, and compares with `graphnet stats --json`.

Compared are, for every sample under the folders, the nodes by op and target, their sum, the arguments of
forward and the values that it returns. `graphnet find` must find as many calls of each family of names, for a
query with fewer arguments, too. What is a node:

    f(x), torch.f(x)        call_function builtins.f, call_function torch.f
    x.f(y)                  call_method f
    x + y, -x, ~x, x == y   call_function operator.add, .neg, .invert, .eq
    x += y                  call_function operator.iadd
    x[i], x[i] = y          call_function operator.getitem, operator.setitem
    x.shape                 call_function builtins.getattr

What is none: aliases (a = b), releases (a = None), literals, signed numbers and slice(...), device(...),
complex(...), float("inf") and Ellipsis included.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")

    def run(self, run: Run) -> str:
        samples = [sample for folder in run.args.folders for sample in find_samples(folder)]
        with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
            expected = pool.map(count_or_error, samples, chunksize=4)
        said = json.loads(run.graphnet("stats", "--json", *run.args.folders))["samples"]
        by_path = {os.path.realpath(line["path"]): line for line in said if "error" not in line}
        nodes: Dict[str, int] = collections.Counter()
        for sample, counted in zip(samples, expected):
            line = by_path.pop(os.path.realpath(sample), None)
            if isinstance(counted, str) or line is None:
                run.tell(sample, f"not counted: {counted}" if line is not None else "graphnet says nothing of it")
                continue
            nodes.update(counted.counts)
            run.tell(sample, "; ".join(self.differences(counted, line)[:5]))
        for path in by_path:
            run.tell(path, "not found by this program")
        for name, parts in FAMILIES.items():
            number = sum(count for target, count in nodes.items() if last_part(target) in parts)
            for query in (name, f"{name}(?)"):
                done = subprocess.run([run.args.graphnet, "find", query, "-l", *run.args.folders], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
                found = re.search(r"^(\d+) calls in ", done.stderr, re.M)
                is_equal = found and int(found[1]) == number
                run.tell(f"find {query}", "" if is_equal else f"{number} by ast, {found and found[1]} by graphnet")
        return f"{len(samples)} samples, {sum(nodes.values())} nodes, {len(nodes)} targets"

    @staticmethod
    def differences(expected: Counts, line: Dict) -> List[str]:
        pairs = [("num_inputs", expected.placeholders, line["num_inputs"]), ("num_outputs", expected.outputs, line["num_outputs"]),
                 ("num_nodes", sum(expected.counts.values()), line["num_nodes"])]
        pairs += [(target, expected.counts.get(target, 0), line["counts"].get(target, 0))
                  for target in sorted(expected.counts.keys() | line["counts"].keys())]
        return [f"{what}: {ours} by ast, {theirs} by graphnet" for what, ours, theirs in pairs if ours != theirs]


# --- Cuts ---------------------------------------------------------------------------------------------


class Cuts(Suite):
    """Cuts the same programs as .pt2, as the protobuf sample and as the GraphNet folder made of it, and compares
the pieces.

Each is cut by each scheme; the pieces are written as folders and as protobuf, and validated. All have to have
pieces of the same normal forms.
"""

    # By module: a folder keeps no module paths, and the names of its parameters say only some.
    SCHEMES = {"--pieces 4": ("pt2", "pb", "folder"), "--single-op": ("pt2", "pb", "folder"), "--every 7": ("pt2", "pb", "folder"),
               "--blocks": ("pt2", "pb", "folder"), "--balanced 3": ("pt2", "pb", "folder"), "--by-module 2": ("pt2", "pb")}

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--quick", action="store_true", help="two schemes only")
        parser.add_argument("programs", nargs="+", type=pathlib.Path)

    def run(self, run: Run) -> None:
        for program in run.args.programs:
            forms = {"pt2": program, "pb": run.scratch / "form.pb", "folder": run.scratch / "form"}
            try:
                for form in ("pb", "folder"):
                    shutil.rmtree(forms[form], ignore_errors=True)
                    run.graphnet("convert", program, forms[form])
                schemes = list(self.SCHEMES.items())[: 2 if run.args.quick else None]
                run.tell(program.name, "; ".join(what for scheme, whose in schemes for what in self.check(run, forms, scheme, whose)))
            except Failed as error:
                run.tell(program.name, str(error))

    @staticmethod
    def check(run: Run, forms: Dict[str, pathlib.Path], scheme: str, whose: List[str]) -> Iterator[str]:
        hashes, out = {}, run.scratch / "pieces"
        for form, pieces in ((form, pieces) for form in whose for pieces in ("graphnet", "protobuf")):
            shutil.rmtree(out, ignore_errors=True)
            try:
                run.graphnet("decompose", forms[form], *scheme.split(), "--to", pieces, "-o", out)
            except Failed as error:
                if "no operator has a module path" in str(error):
                    return
                raise
            lines = [line.split() for line in run.graphnet("hash", "--normal-form", out).splitlines()]
            hashes[form, pieces] = {pathlib.Path(path).stem: found for found, path in lines}
            run.graphnet("validate", forms[form], out)
        expected = hashes["pt2", "graphnet"]
        for which, found in hashes.items():
            if found != expected:
                where = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
                yield f"{scheme}: {' as '.join(which)}: {len(found)} pieces, of .pt2 {len(expected)}; those that differ: {' '.join(where[:5])}"


# --- Forecasts ----------------------------------------------------------------------------------------


class Forecasts(Suite):
    """Compares what `graphnet check --for` says of samples with what comes of converting and running them.

A format works if `graphnet convert --to` writes the sample, a backend if `graphnet bench` compiles and runs it:
numbers that differ are no fault of the forecast. A "works" may never be false, and a "missing" for at most 2
of 100 samples.
"""

    BACKENDS = {"onnxruntime", "torch", "inductor", "openvino", "iree", "xla", "tvm", "tensorrt", "nope", "jit", "bladedisc"}

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path, help="of samples")
        parser.add_argument("--for", dest="targets", default="onnx,onnxruntime,mlir,pt2,torchscript,paddle")

    def run(self, run: Run) -> str:
        # It ends with 1 if something is missing.
        done = subprocess.run([run.args.graphnet, "check", run.args.folder, "--for", run.args.targets, "--json"],
                              stdout=subprocess.PIPE, text=True)
        said = {row["path"]: row["targets"] for row in json.loads(done.stdout)["samples"]}
        told = []
        for target in run.args.targets.split(","):
            missing = []
            for path, forecast in sorted(said.items()):
                why = (self.bench if target in self.BACKENDS else self.convert)(run, path, target)
                if why is None:
                    run.tell(f"{path} for {target}", "skipped: it does not run without a compiler")
                    continue
                is_wrong = forecast[target]["works"] and why
                run.tell(f"{path} for {target}", f"works, but {why[:300]}" if is_wrong else "")
                if not forecast[target]["works"] and not why:
                    missing.append(f"{path}: {forecast[target]['missing'][0]}")
            if len(missing) * 200 > 4 * max(len(said), 200):
                run.tell(target, "too many are said to be missing, but work: " + "; ".join(missing))
            told.append(f"{target}: {len(missing)} false missing of {len(said)}")
        return "\n".join(told)

    @staticmethod
    def convert(run: Run, path: str, target: str) -> Optional[str]:
        """Why it is not written; empty if it is."""
        try:
            run.graphnet("convert", path, run.scratch / "out", "--to", target)
            return ""
        except Failed as error:
            return str(error)
        finally:
            subprocess.run(["rm", "-rf", run.scratch / "out"], check=True)

    @staticmethod
    def bench(run: Run, path: str, target: str) -> Optional[str]:
        """Why it does not run; empty if it does, None if that cannot be judged."""
        shutil.rmtree(run.scratch / "bench", ignore_errors=True)
        subprocess.run([run.args.graphnet, "bench", path, "--backend", target, "--warmup", "0", "--trials", "1", "-o",
                        run.scratch / "bench"], capture_output=True)
        result = json.loads((run.scratch / "bench" / f"{target}.jsonl").read_text().splitlines()[0])
        if result["status"] == "eager_fail":
            return None
        return result.get("reason") or result["status"] if result["status"] in ("compile_fail", "runtime_fail") else ""


# --- MLIR ---------------------------------------------------------------------------------------------


class Mlir(Suite):
    """Writes samples as MLIR and has torch-mlir-opt (package torch-mlir) verify the text.

What graphnet refuses is skipped; what the tool does not take is an error. With --stablehlo it is also turned
into StableHLO, and what that pipeline leaves is counted by its first line.
"""

    STABLEHLO = "builtin.module(torch-function-to-torch-backend-pipeline,torch-backend-to-stablehlo-backend-pipeline)"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="PATH", help="a sample or a folder of samples")
        parser.add_argument("--opt", default="torch-mlir-opt")
        parser.add_argument("--stablehlo", action="store_true")
        parser.add_argument("--sample", type=int, default=0, metavar="N")

    def run(self, run: Run) -> str:
        samples = [sample for path in run.args.paths for sample in (find_samples(path) if path.is_dir() else [path])]
        if 0 < run.args.sample < len(samples):
            samples = random.Random(run.args.seed).sample(samples, run.args.sample)
        left: Dict[str, int] = collections.Counter()
        text = run.scratch / "a.mlir"
        for sample in samples:
            try:
                run.graphnet("convert", sample, text, timeout=300)
            except Failed as error:
                run.tell(sample, f"skipped: {error}")
                continue
            run.tell(sample, self.opt(run, text))
            if run.args.stablehlo and (what := self.opt(run, text, f"--pass-pipeline={self.STABLEHLO}")):
                left[re.sub(r"^.*?error: |\d+", "", what.splitlines()[0])[:120]] += 1
        return "\n".join(f"{count:5} left by StableHLO's pipeline: {what}" for what, count in left.items())

    @staticmethod
    def opt(run: Run, text: pathlib.Path, *words: str) -> str:
        """What torch-mlir-opt says if it fails."""
        try:
            done = subprocess.run([run.args.opt, *words, text, "-o", "/dev/null"], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "takes over 300 s"
        return done.stderr.strip()[:500] or f"exit status {done.returncode}" if done.returncode else ""


# --- Spellings ----------------------------------------------------------------------------------------


Spell = Callable[[object, str, random.Random], str]
META = ["weight_meta.py", "input_meta.py"]


def quoted(text: str, quote: str) -> str:
    assert quote not in text and "\\" not in text and "\n" not in text
    return quote + text + quote


def parts(text: str, rng: random.Random) -> List[str]:
    cut = rng.randrange(len(text) + 1)
    return [quoted(text[:cut], rng.choice("'\"")), quoted(text[cut:], rng.choice("'\""))]


def plain(value: object) -> str:
    return quoted(value, '"') if isinstance(value, str) else repr(value)


SPELLINGS: Dict[str, Spell] = {
    "parenthesised": lambda value, source, rng: f"(\n        {source}\n    )",
    "doubly": lambda value, source, rng: f"(({source}))  # as it is",
    "commented": lambda value, source, rng: f"(  # name = 'x'\n        # min_val = 1\n        {source}  # std = -1\n    )",
    "joined": lambda value, source, rng: "\\\n        " + source,
    "lists_on_lines": lambda value, source, rng: (
        "[\n        " + ",\n        ".join(plain(element) for element in value) + ",\n    ]"
        if isinstance(value, list) and value and "float" not in source else source),
    **{name: lambda value, source, rng, of_text=of_text: of_text(value, rng) if isinstance(value, str) and value else source
       for name, of_text in {
           "in_parts": lambda text, rng: "(\n        " + "\n        ".join(parts(text, rng)) + "\n    )",
           "in_parts_on_a_line": lambda text, rng: " ".join(parts(text, rng)),
           "in_single_quotes": lambda text, rng: quoted(text, "'"),
           "escaped": lambda text, rng: '"' + text[:-1] + f"\\x{ord(text[-1]):02x}" + '"'}.items()},
}


def respell(text: str, spell: Spell, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)

    def source_of(node: ast.expr) -> str:  # ast's own splits the whole text each time
        whole = lines[node.lineno - 1:node.end_lineno]
        last = whole[-1].encode()[:node.end_col_offset].decode()
        whole = whole[:-1] + [last]
        return "".join([whole[0].encode()[node.col_offset:].decode(), *whole[1:]])

    records = []
    for record in ast.parse(text).body:
        fields = []
        for field in record.body:
            source = source_of(field.value)
            try:
                value = ast.literal_eval(field.value)
            except ValueError:  # float("nan")
                value = None
            fields.append(f"    {field.targets[0].id} = {spell(value, source, rng)}\n")
        records.append(f"class {record.name}:\n" + "".join(fields))
    return "\n\n".join(records)


def records_of(path: pathlib.Path) -> Dict[str, Dict[str, str]]:
    """What CPython reads, as text: nan is not equal to itself."""
    scope: Dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # pylint: disable=exec-used
    return {name: {key: repr(value) for key, value in vars(record).items() if key[0] != "_"}
            for name, record in scope.items() if isinstance(record, type)}


class Spellings(Suite):
    """Spells the records of samples in all ways that Python and its formatters know, and compares what graphnet
makes of them with what it makes of the samples as they are.

Copies are made whose weight_meta.py and input_meta.py have values in parentheses, on several lines, with
comments, strings in parts and in other quotes, lists with trailing commas. `convert` must read the same from
them, and `lint --fix` must write records that CPython reads as those of the sample that was repaired as it is.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path)
        parser.add_argument("--samples", type=int, default=60)

    def run(self, run: Run) -> str:
        samples = sorted(path.parent for path in run.args.folder.rglob("graph_net.json"))
        random.Random(run.args.seed).shuffle(samples)
        samples = samples[: run.args.samples]
        repaired = 0
        mixed = lambda value, source, rng: rng.choice(list(SPELLINGS.values()))(value, source, rng)
        spellings = {"plain": None, "mixed": mixed, **SPELLINGS}
        for spelling, spell in spellings.items():
            for i, sample in enumerate(samples):
                copy = run.scratch / spelling / f"s{i}"
                shutil.copytree(sample, copy)
                for path in (copy / name for name in META if spell is not None and (copy / name).exists()):
                    path.write_text(respell(path.read_text(), spell, random.Random(i)))
            run.graphnet("convert", run.scratch / spelling, "-o", run.scratch / f"{spelling}.text", "--to", "text")
            subprocess.run([run.args.graphnet, "lint", run.scratch / spelling, "--rule", "bn-var", "--rule", "domain", "--fix"],
                           capture_output=True)
            for i, sample in enumerate(samples):
                what = ""
                texts = [run.scratch / f"{form}.text" / f"s{i}.gn" for form in ("plain", spelling)]
                if texts[0].read_bytes() != texts[1].read_bytes():
                    what = "is read otherwise"
                for fixed in ([run.scratch / form / f"s{i}" / name for form in ("plain", spelling)] for name in META):
                    if fixed[0].exists():
                        as_it_is, records = map(records_of, fixed)
                        repaired += any("min_val" in record for record in records.values())
                        what = what or ("" if as_it_is == records else f"{fixed[0].name} is repaired otherwise")
                run.tell(f"{sample}, {spelling}", what)
        return f"{len(samples)} samples in {len(SPELLINGS) + 1} spellings, {repaired} files with bounds"
