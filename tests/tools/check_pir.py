#!/usr/bin/env python3
"""Compares what graphnet reads and prints as PIR with Paddle. Run by a Python that has Paddle.

    check_pir.py [--programs FOLDER] [SAMPLE…]

1. Programs are made by Paddle's static mode and printed; graphnet reads them and prints them again:
the same operations with the same numbers of operands, attributes and types.
2. Each SAMPLE is printed by
graphnet. Every operation of pd_op is made again by Paddle's own function of it: counted is what Paddle takes,
and whether it infers the types that are written.
3. Programs with inputs and outputs beside them, which
make_pt2_programs.py wrote, are made in the same way and run: the outputs are PyTorch's, within 1e-4. A program
of operators that PIR has not is skipped. Paddle 3.3 has no parser of this text, so it cannot be asked to read it.
"""

import argparse
import collections
import pathlib
import re
import sys

import numpy as np
import paddle
from paddle.base import core

from check_paddle import TABLES, graphnet, load

F = paddle.nn.functional
NULL = "<<NULL VALUE>>"


class Operation:
    """One line of PIR's text."""

    LINE = re.compile(r'\((?P<results>[^)]*)\) = "(?P<name>[^"]+)"(?: \[id:\d+\])? \((?P<operands>[^)]*)\)'
                      r'(?: \{(?P<attributes>.*?)\})? ?(?:: \((?P<takes>.*?)\) )?-> ?(?P<types>.*?)'
                      r'(?P<opens> \{)?$')
    # The symbolic shapes and the id at the end.
    END = re.compile(r' \{ (?!.* \{ ).*\}\t\(op_\d+\)$')

    def __init__(self, line):
        found = self.LINE.match(self.END.sub("", line))
        if not found:
            raise ValueError(line)
        self.name = found["name"]
        self.results = split(found["results"])
        self.operands = [re.sub("^(cond|inputs)=", "", o) for o in split(found["operands"])]
        self.attributes = dict(a.split(":", 1) for a in split(found["attributes"] or ""))
        self.types = [plain_type(t) for t in split(found["types"])]
        self.opens = bool(found["opens"])


def split(text):
    """The parts between commas that stand in no brackets and no string."""
    parts, depth, quoted, part = [], 0, False, ""
    for i, c in enumerate(text):
        quoted ^= c == '"' and text[i - 1:i] != "\\"
        if not quoted:
            depth += (c in "<[({") - (c in ">])}" and text[i - 1:i] != "-")
        if c == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in parts + [part.strip()] if p]


def plain_type(text):
    return re.sub(r"(builtin|pd_op)\.tensor", "tensor", text)


def plain_attribute(text):
    text = re.sub(r"\((Float|Double|Int32|Int64|pd_op\.\w+)\)", "", text)
    return re.sub(r"(?<![\w.])-?\d[\d.]*(e[-+]?\d+)?(?![\w.])", lambda n: f"{float(n[0]):.6g}", text)


def operations(text):
    found = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("("):
            if '"pd_op.while"' in line:  # which has neither attributes nor types
                line = re.sub(r"\{ ?(\^.*)?$", "", line).rstrip() + " {} : () -> {"
            found.append(Operation(line))
    return found


# --- 1: programs of Paddle


def data(name, shape, dtype="float32"):
    return paddle.static.data(name, shape, dtype)


def xs():
    return data("x", [64, 128]), data("y", [64, 128])


def a_loop():
    i = paddle.full([1], 0, "int64")
    return paddle.static.nn.while_loop(lambda i: i < 10, lambda i: [i + 1], [i])


def a_choice():
    x, y = xs()
    return paddle.static.nn.cond(paddle.sum(x) > 0, lambda: paddle.exp(x) + y, lambda: x - y)


def a_layer():
    x = data("x", [2, 16, 64])
    return paddle.nn.TransformerEncoderLayer(64, 4, 128)(x)


def convolutions():
    x = data("x", [-1, 3, 32, 32])
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.BatchNorm2D(8), paddle.nn.ReLU(),
                               paddle.nn.MaxPool2D(2), paddle.nn.Flatten(), paddle.nn.Linear(1800, 10))
    return net(x)


PROGRAMS = {
    "x - y, times x": lambda: (lambda x, y: paddle.multiply(paddle.subtract(x, y), x))(*xs()),
    "scalars": lambda: (lambda x, y: [x + 1.0, x * 2, 1 - x, x / 3, x ** 2, x > 0.5, -x])(*xs()),
    "subscripts": lambda: (lambda x, y: [x[3:5, 0], x[..., None], x[::2], x[-1]])(*xs()),
    "shapes": lambda: (lambda x, y: [paddle.reshape(x, [-1, 4]), paddle.transpose(x, [1, 0]),
                                     paddle.squeeze(x), paddle.unsqueeze(x, 0), paddle.tile(x, [2, 1])])(*xs()),
    "lists": lambda: (lambda x, y: [paddle.concat(paddle.split(x, 4)), paddle.stack([x, y]),
                                    *paddle.unbind(data("z", [3, 2])), *paddle.topk(x, 3)])(*xs()),
    "sums": lambda: (lambda x, y: [paddle.sum(x, 1), paddle.mean(x), paddle.max(x, 0, True), paddle.var(x),
                                   paddle.logsumexp(x, 1), paddle.any(x > 0)])(*xs()),
    "dtypes": lambda: (lambda x: [x.astype(d) for d in ("bool", "float64", "int8", "bfloat16")])(
        data("x", [-1, 128], "float16")),
    "constants": lambda: [paddle.to_tensor([1, 2, 3]), paddle.full([2, 3], 1.5), paddle.arange(5),
                          paddle.full([1], float("inf")), paddle.uniform([2]), paddle.eye(3)],
    "dropout": lambda: [F.dropout(data("x", [4, 4]), 0.3), F.gelu(data("y", [4])), F.softmax(data("z", [4]))],
    "einsum": lambda: paddle.einsum("ij,kj->ik", data("x", [2, 3]), data("y", [4, 3])),
    "resized": lambda: [F.interpolate(data("x", [1, 3, 8, 8]), scale_factor=2),
                        F.interpolate(data("y", [1, 3, 8, 8]), size=[5, 5], mode="bilinear")],
    "a loop": a_loop,
    "a choice": a_choice,
    "a layer": a_layer,
    "convolutions": convolutions,
}


def tables(ops, with_attributes):
    ignored = {"stop_gradient", "sym_shape_str", "persistable", "is_persistable", "trainable"}
    return collections.Counter(
        (op.name, len(op.operands), tuple(op.types)) + ((tuple(sorted(
            (k, plain_attribute(v)) for k, v in op.attributes.items() if k not in ignored)),)
            if with_attributes else ()) for op in ops if op.name != "pd_op.while")


def check_programs(args):
    good, count = 0, 0
    for name, make in PROGRAMS.items():
        main = paddle.static.Program()
        with paddle.static.program_guard(main), paddle.base.unique_name.guard(re.sub(r"\W", "_", name) + "_"):
            make()
        text = str(main)
        try:
            printed = graphnet(args, "show", "-", "--format", "pir", text=text)
            again = graphnet(args, "show", "-", "--format", "pir", text=printed)
            ours, theirs = operations(printed), operations(text)
            assert printed == again, "what is printed reads back as another text"
            left = tables(theirs, True) - tables(ours, True)
            more = tables(ours, True) - tables(theirs, True)
            assert not left and not more, f"lacks {list(left)[:3]}, has {list(more)[:3]}"
            graphnet(args, "check", "-", text=text)
            good += 1
            count += len(theirs)
        except (AssertionError, ValueError) as error:
            print(f"{name}: {error}")
    print(f"{good} of {len(PROGRAMS)} programs of Paddle are read and printed alike: {count} operations")
    return good == len(PROGRAMS)


# --- 2: graphs of graphnet


def signatures():
    """By operator, the names of the parameters of its function: those of the first Build."""
    root = pathlib.Path(paddle.__file__).parent / "include/paddle/fluid/pir/dialect/operator/ir"
    found = {"expand": ["x", "shape"], "assign_out_": ["x", "output"]}
    for header in ("pd_op.h", "manual_op.h"):
        for name, body in re.findall(r'return "pd_op\.(\w+)"; \}(.*?)\n};', (root / header).read_text(), re.S):
            for build in re.findall(r"Build\(pir::Builder &builder, pir::OperationArgument &argument,? ?(.*?)\);", body):
                if "AttributeMap" in build:
                    continue
                depth, names, part = 0, [], ""
                for c in build + ",":
                    depth += (c in "<{(") - (c in ">})")
                    if c == "," and depth == 0:
                        names.append(part.split("=")[0].split()[-1].rstrip("_") if part.strip() else None)
                        part = ""
                    else:
                        part += c
                found.setdefault(name, [n for n in names if n])
                break
    return found


def operand_names():
    found = {"expand": ["x", "shape"], "assign_out_": ["x", "output"]}
    for line in (TABLES / "pir/operators.txt").read_text().splitlines():
        if row := re.match(r"(\w+)\((.*?);", line):
            found[row[1]] = [p.split(":")[0].strip() for p in split(row[2])]
    return found


def value_of(text):
    """An attribute as Paddle's functions take it."""
    if found := re.fullmatch(r"\(pd_op\.DataType\)(.*)", text):
        word = "undefined" if found[1] == "Undefined" else found[1]
        return getattr(core.DataType, word.upper())
    if found := re.fullmatch(r"\(pd_op\.Place\)Place\((.*)\)", text):
        return core.CPUPlace() if found[1] == "cpu" else core.Place()
    text = re.sub(r"\(\w[\w.]*\)", "", text)
    if text.startswith("["):
        return [value_of(part) for part in split(text[1:-1])]
    if text.startswith('"'):
        return text[1:-1].replace('\\"', '"')
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.search(r"[.en]", text) else int(text)


# Functions that take something else than the operator of their name.
PUBLIC = {
    "argmax": lambda o, a: paddle.argmax(o[0], o[1], a["keepdims"], a["dtype"]),
    "argmin": lambda o, a: paddle.argmin(o[0], o[1], a["keepdims"], a["dtype"]),
}


class Builder:
    """The program of a text, made by Paddle's functions."""

    SIGNATURES = signatures()
    OPERANDS = operand_names()

    def __init__(self, counts):
        self.counts, self.values, self.inputs, self.outputs, self.vecs = counts, {}, {}, [], {}
        self.failed = collections.Counter()

    def data_of(self, name, text):
        found = re.fullmatch(r"tensor<((?:-?\d+x)*)(\w+)>", text)
        if not found:
            return None
        sizes = [int(s) for s in found[1].split("x") if s]
        dtypes = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "b": "bool",
                  "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64", "c64": "complex64",
                  "c128": "complex128"}
        return data(name, sizes, dtypes[found[2]]) if found[2] in dtypes else None

    def add(self, op):
        if op.name in ("pd_op.data", "builtin.parameter"):
            name = value_of(op.attributes.get("name") or op.attributes["parameter_name"])
            self.values[op.results[0]] = self.inputs[name] = self.data_of(f"in_{len(self.inputs)}", op.types[0])
            return
        if op.name == "builtin.shadow_output":
            self.outputs.append(self.values.get(op.operands[0]))
            return
        if op.name == "builtin.combine":
            self.values[op.results[0]] = [self.values.get(o) for o in op.operands]
            return
        if op.name == "builtin.split":
            whole = self.values.get(op.operands[0])
            parts = whole if isinstance(whole, list) else [None] * len(op.results)
            self.give(op, parts)
            return
        if not op.name.startswith("pd_op."):
            self.counts["no operator of Paddle"] += 1
            self.give(op, [None] * len(op.results))
            return
        self.counts["pd_op"] += 1
        results = self.make(op)
        if results is None:
            self.give(op, [None] * len(op.results))
            return
        self.counts["taken"] += 1
        theirs = [plain_type(type_text(r)) for r in results]
        judged = "types equal"
        if len(theirs) != len(op.types) or not all(map(may_be_same, op.types, theirs)):
            judged = "types contradict"
            self.failed[f"{op.name}: {op.types} but Paddle infers {theirs}"] += 1
        elif op.types[0] == "<<NULL TYPE>>":
            judged = "types not known"
        elif not all(a == b or "NULL" in a or "-1x" in b and may_be_same(a, b) for a, b in zip(op.types, theirs)):
            judged = "types with sizes not known"
        self.counts[judged] += 1
        self.give(op, results)

    def make(self, op):
        """Its results; none if Paddle does not take it, or an operand is missing."""
        name = op.name.split(".")[1]
        operands = [None if o == NULL else self.values.get(o, "missing") for o in op.operands]
        if any(isinstance(o, str) or (isinstance(o, list) and None in o) for o in operands) or \
                any(o is None and t != NULL for o, t in zip(operands, op.operands)):
            self.counts["operands of unknown type"] += 1
            return None
        given = dict(zip(self.OPERANDS.get(name, []), operands))
        try:
            if name == "full_int_array":
                return [("ints", value_of(op.attributes["value"]))]
            attributes = {k: value_of(v) for k, v in op.attributes.items()}
            if name in PUBLIC:
                return [PUBLIC[name](operands, attributes)]
            call = []
            for parameter in self.SIGNATURES[name]:
                value = given[parameter] if parameter in given else attributes[parameter]
                if isinstance(value, tuple):
                    value = value[1]
                call.append(value)
            made = getattr(paddle._C_ops, name)(*call)
        except Exception as error:  # pylint: disable=broad-except
            lines = [line for line in str(error).splitlines() if line.strip()]
            self.counts["refused"] += 1
            self.failed[f"{op.name}: {type(error).__name__} {' '.join(lines[-2:])[:160]}"] += 1
            return None
        if op.types and op.types[0].startswith("vec["):
            return [list(made)]
        # Its function keeps some results to itself.
        first = made[0] if isinstance(made, (tuple, list)) else made
        return list(first.get_defining_op().results())

    def give(self, op, values):
        for i, result in enumerate(op.results):
            value = values[i] if i < len(values) else None
            if value is None and i < len(op.types):
                value = self.data_of(f"unknown_{len(self.values)}", op.types[i])
            self.values[result] = value


def type_text(value):
    if isinstance(value, tuple):
        return f"tensor<{len(value[1])}xi64>"
    if isinstance(value, list):
        return "vec[" + ",".join(type_text(v) for v in value) + "]"
    return str(value.type())


def may_be_same(ours, theirs):
    """Alike, where a size that one of them does not know may be anything."""
    if ours == "<<NULL TYPE>>":
        return True
    a, b = (re.split(r"(?<=\d)x|,|<", t) for t in (ours, theirs))
    return len(a) == len(b) and all(x == y or "-1" in (x, y) for x, y in zip(a, b))


def build(text, counts):
    builder = Builder(counts)
    for op in operations(text):
        builder.add(op)
    return builder


def check_printed(args):
    counts, why, whole = collections.Counter(), collections.Counter(), 0
    samples = [m.parent for p in args.samples for m in sorted(p.rglob("graph_net.json"))]
    samples += [p for p in args.samples if p.is_file()]
    for sample in samples:
        text = graphnet(args, "show", sample, "--format", "pir")
        assert graphnet(args, "show", "-", "--format", "pir", text=text) == text, f"{sample}: reads back otherwise"
        before = counts["no operator of Paddle"] + counts["refused"]
        with paddle.static.program_guard(paddle.static.Program()):
            builder = build(text, counts)
        whole += before == counts["no operator of Paddle"] + counts["refused"]
        why += builder.failed
    print(f"{len(samples)} samples, each read back as the same text; {whole} of operators of Paddle only; " +
          ", ".join(f"{k}: {v}" for k, v in sorted(counts.items())))
    for reason, count in why.most_common(args.reasons):
        print(f"  {count} × {reason}")
    return True


# --- 3: numbers


def check_values(args):
    good = wrong = skipped = 0
    for path in sorted(args.programs.glob("*.pt2")):
        call = path.with_suffix("")
        counts, main = collections.Counter(), paddle.static.Program()
        try:
            values, wanted = (load(call.with_name(f"{call.name}.0.{end}.safetensors")) for end in ("in", "out"))
            text = graphnet(args, "show", path, "--format", "pir")
            with paddle.static.program_guard(main):
                builder = build(text, counts)
            if builder.failed or counts["no operator of Paddle"] or set(builder.inputs) != set(values) or None in builder.outputs:
                raise ValueError("of other operators or inputs")
        except Exception:  # It has no form in PIR, or Paddle has no function for it.
            skipped += 1
            continue
        try:
            feed = {value.name: values[name][0] for name, value in builder.inputs.items()}
            got = paddle.static.Executor(paddle.CPUPlace()).run(main, feed=feed, fetch_list=builder.outputs)
            assert len(got) == len(wanted), f"{len(got)} outputs, not {len(wanted)}"
            for i, g in enumerate(got):
                w = wanted[f"o{i}"][0]
                assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, w.shape, g.dtype, w.dtype)
                np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)
            good += 1
        except Exception as error:  # Whatever Paddle raises is a result.
            wrong += 1
            print(f"{path.stem}: {str(error)[:600]}")
    print(f"{good} programs run in Paddle as in PyTorch, {wrong} do not, {skipped} have operators that PIR has not")
    return good > 0 and not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("samples", nargs="*", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--reasons", type=int, default=20)
    args = parser.parse_args()
    paddle.enable_static()
    good = check_programs(args)
    if args.samples:
        good &= check_printed(args)
    if args.programs:
        good &= check_values(args)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
