#!/usr/bin/env python3
"""Calls of PyTorch for the rows of graphnet/passes/paddle_rules.txt, run there and in Paddle.

    check_paddle_calls.py --paddle-python ENV/bin/python -o DIR [--only NAME…] [--write FILE]

PyTorch's own test inputs (torch.testing's OpInfo), and the calls in MORE below for what those
lack, are written as graphs of one call each. `graphnet convert --to paddle` converts them, and
Paddle runs what it made on the same inputs. The outputs must be of the same dtype and shape and
agree at t = -5 (run_paddle.py). DIR/calls.json has what became of each call, and prints are what
is not equal, by rule. With --write, one call that is equal of each row, and how it was converted,
goes to FILE, which tests/passes/paddle_examples_test.cc holds the pass to.

The exit status is 0 if no call that was converted gives another result. Needs expecttest beside
PyTorch, as torch.testing does.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

import run_paddle as common

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parents[1] / "graphnet/passes/paddle_rules.txt"
MOST = 8  # calls of a name
LARGEST = 4096  # elements of an input


def rows(path):
    """[(names, conditions, call)] in the order of the table."""
    found = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, call = line.split(": ", 1)
        words, _, when = head.partition(" when ")
        found.append((words.split()[1:], when, call))
    return found


# ------------------------------------------------------------ PyTorch's side


def target_of(name):
    """How a graph calls the name: a function, or a method after a dot. None: by hand only."""
    import torch

    if name.startswith("Tensor."):
        return "." + name[len("Tensor."):]
    if "." in name:
        return name
    if hasattr(torch, name):
        return "torch." + name
    if hasattr(torch.Tensor, name):
        return "." + name
    if hasattr(torch._C._nn, name):
        return "torch._C._nn." + name
    for module in ("fft", "linalg", "special"):
        if name.startswith(module + "_"):
            return f"torch.{module}.{name[len(module) + 1:]}"
    if hasattr(torch.ops.aten, name):
        return f"aten.{name}.{getattr(torch.ops.aten, name).overloads()[0]}"
    return None


def callable_of(target):
    import operator
    import torch

    if target.startswith("."):
        return lambda self, *args, **kwargs: getattr(self, target[1:])(*args, **kwargs)
    if target.startswith("aten."):
        _, name, overload = target.split(".")
        return getattr(getattr(torch.ops.aten, name), overload)
    value = {"torch": torch, "operator": operator, "math": __import__("math"), "builtins": __import__("builtins")}[
        target.split(".")[0]]
    for part in target.split(".")[1:]:
        value = getattr(value, part)
    return value


class Unwritable(Exception):
    pass


def text_of(value, inputs):
    """An argument in graphnet's text form; tensors become inputs."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.numel() > LARGEST:
            raise Unwritable("a tensor that is not dense or too large")
        for name, other in inputs.items():
            if other is value:
                return "%" + name
        name = "abcdefghijklmnopqrstuvw"[len(inputs)]
        inputs[name] = value.detach()
        return "%" + name
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, torch.device):
        return f'device("{value}")'
    if isinstance(value, (list, torch.Size)):
        return "[" + ", ".join(text_of(v, inputs) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(text_of(v, inputs) for v in value) + ("," if len(value) == 1 else "") + ")"
    raise Unwritable(type(value).__name__)


SHORT = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool", "complex64": "c64", "complex128": "c128"}


def graph_of(target, args, kwargs):
    inputs = {}
    given = [text_of(v, inputs) for v in args] + [f"{k} = {text_of(v, inputs)}" for k, v in kwargs.items()]
    parameters = ", ".join(
        f"%{name} : {SHORT[str(value.dtype).removeprefix('torch.')]}[{', '.join(map(str, value.shape))}]"
        for name, value in inputs.items())
    return f"graph @forward({parameters}) {{ %r = {target}({', '.join(given)}) return (%r,) }}", inputs


def op_infos():
    """{name of a row: [OpInfo]}"""
    from torch.testing._internal.common_methods_invocations import op_db

    found = collections.defaultdict(list)
    for info in op_db:
        names = {info.name, info.name.replace(".", "_"), info.aten_name, *(alias.name for alias in info.aliases)}
        names |= {"torch." + info.name, "Tensor." + info.name, "torch.functional." + info.name,
                  info.name.removeprefix("nn.functional.")}
        for name in names:
            if name:
                found[name].append(info)
    return found


def samples_of(name, infos):
    """(args, kwargs) of calls of the name, of each dtype of some."""
    import torch

    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    for info in infos.get(name) or infos.get(base) or []:
        dtypes = [d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes]
        for dtype in dtypes[:1] if name != base else dtypes[:2]:
            torch.manual_seed(0)
            try:
                for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
                    yield (sample.input, *sample.args), dict(sample.kwargs)
            except Exception:  # Some of them need a GPU or packages.
                continue


def more():
    """Calls that PyTorch's test inputs lack, by name: [(args, kwargs)]."""
    import torch

    torch.manual_seed(0)
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    i, j = torch.randint(1, 9, (3, 4)), torch.randint(1, 5, (3, 4))
    b = x > 0
    image, seq = torch.randn(2, 4, 8, 8), torch.randn(2, 4, 10)
    calls = collections.defaultdict(list)
    for name in "add sub mul truediv floordiv mod pow matmul iadd isub imul itruediv ifloordiv imod ipow".split():
        base = name.removeprefix("i") if name != "invert" else name
        other = y.t().contiguous() if base == "matmul" else y.abs() + 1
        calls["operator." + name].append(((x.abs() + 1, other), {}))
        if base != "matmul":
            calls["operator." + name].append(((x.abs() + 1, 2.0), {}))
            if name not in ("itruediv",):
                calls["operator." + name].append(((i, 2), {}))
            if name == base:
                calls["operator." + name].append(((2.0, x.abs() + 1), {}))
                calls["operator." + name].append(((i, j), {}))
    for name in "and_ or_ xor iand ior ixor".split():
        calls["operator." + name] += [((i, j), {}), ((b, ~b), {})]
    for name in "lshift rshift ilshift irshift".split():
        calls["operator." + name] += [((i, j), {})]
    for name in "lt le gt ge eq ne".split():
        calls["operator." + name] += [((x, y), {}), ((x, 0), {}), ((i, j), {})]
    for name in "neg pos abs".split():
        calls["operator." + name] += [((x,), {}), ((i,), {})]
    calls["operator.invert"] += [((i,), {}), ((b,), {})]
    calls["operator.getitem"] += [((x, 1), {}), ((x, (0, 2)), {}), ((x, b), {}), ((x, (torch.tensor([0, 2]), torch.tensor([1, 3]))), {}),
                                  ((x, (Ellipsis, None)), {})]
    for name in "relu relu6 silu mish hardswish softsign tanhshrink selu hardsigmoid leaky_relu elu celu hardtanh logsigmoid".split():
        calls["torch.nn.functional." + name].append(((x,), {}))
        if name not in ("softsign", "tanhshrink", "logsigmoid"):
            calls["torch.nn.functional." + name].append(((x + 0,), {"inplace": True}))
    for name in "float double half bfloat16 long int short char byte bool cfloat cdouble".split():
        calls["Tensor." + name].append(((x.abs() * 3,), {}))
    calls["Tensor.to"] += [((x, torch.float16), {}), ((x, torch.device("cpu")), {}), ((x, i), {}),
                           ((x,), {"dtype": torch.int64}), ((x, torch.device("cpu"), torch.float64), {}), ((x,), {"copy": True})]
    calls["Tensor.type"].append(((x, torch.float64), {}))
    calls["Tensor.size"] += [((x,), {}), ((x, 1), {})]
    for name in "cpu dim ndimension element_size is_floating_point numel tolist".split():
        calls["Tensor." + name].append(((x,), {}))
    calls["torch.numel"].append(((x,), {}))
    calls["item"].append(((torch.tensor(2.5),), {}))
    calls["sym_size"].append(((x, 1), {}))
    calls["torch.nn.functional.batch_norm"] += [
        ((image, torch.randn(4), torch.rand(4) + 1, torch.randn(4), torch.randn(4), False, 0.1, 1e-5), {}),
        ((image, torch.randn(4), torch.rand(4) + 1, torch.randn(4), torch.randn(4)), {"training": True, "momentum": 0.2}),
        ((seq, torch.randn(4), torch.rand(4) + 1), {})]
    calls["torch.nn.functional.max_pool2d"] += [((image, 2), {}), ((image, 3, 2, 1), {"ceil_mode": True}),
                                                ((image, 2), {"return_indices": True})]
    for mode, extra in (("nearest", {}), ("bilinear", {"align_corners": False}), ("bilinear", {"align_corners": True}),
                        ("bicubic", {"align_corners": False}), ("area", {})):
        calls["torch.nn.functional.interpolate"] += [((image,), {"size": (5, 11), "mode": mode, **extra}),
                                                     ((image,), {"scale_factor": 2.0, "mode": mode, **extra})]
    calls["torch.nn.functional.upsample"].append(((image,), {"scale_factor": 2}))
    calls["torch.functional.einsum"].append((("ij,kj->ik", x, y), {}))
    calls["torch.functional.split"] += [((x, 2, 1), {}), ((x, [1, 3]), {"dim": 1})]
    calls["Tensor.split"] += [((x, 2, 1), {}), ((x, [1, 3]), {"dim": 1})]
    calls["torch.functional.meshgrid"] += [((x[0], y[0]), {"indexing": "ij"})]
    calls["torch.functional.norm"] += [((x,), {}), ((x, 1), {"dim": 1}), ((x, 2, 1, True), {})]
    calls["Tensor.norm"] += [((x,), {}), ((x, 1), {"dim": 1}), ((x, 2, 1, True), {})]
    calls["_weight_norm"] += [((x, torch.rand(3, 1) + 1, 0), {}), ((x, torch.tensor(2.0), -1), {})]
    calls["torch.tensor"] += [(([1.0, 2.0],), {}), ((3,), {"dtype": torch.float32}), (([1, 2],), {})]
    calls["torch.as_tensor"].append(((2.5,), {}))
    calls["torch.Size"].append((([2, 3],), {}))
    calls["max"] += [((x,), {}), ((x, y), {}), ((x, 1), {}), ((x, 1, True), {})]
    calls["min"] += [((x,), {}), ((x, y), {}), ((x, 1), {}), ((x, 1, True), {})]
    calls["arange"] += [((5,), {}), ((1, 5), {}), ((1, 9, 2), {}), ((0, 1, 0.25), {}), ((5,), {"dtype": torch.float32}), ((5.0,), {})]
    for name in "zeros ones".split():
        calls[name] += [((2, 3), {}), (((2, 3),), {"dtype": torch.int64})]
    calls["full"] += [(((2, 3), 1), {}), (((2, 3), 1.5), {}), (((2, 3), True), {}), (((), 2.0), {"dtype": torch.float64})]
    calls["eye"] += [((3,), {}), ((3, 4), {})]
    calls["linspace"] += [((0, 1, 5), {}), ((-1.0, 1.0, 4), {"dtype": torch.float64})]
    calls["softmax"] += [((x, 1), {}), ((x, -1), {"dtype": torch.float64})]
    calls["expand"] += [((x[:, None], 3, 2, 4), {}), ((x[:, None], (-1, 2, -1)), {})]
    calls["view"] += [((x, 4, 3), {}), ((x, (2, -1)), {}), ((x, torch.int32), {})]
    calls["std"] += [((x,), {}), ((x, 1), {}), ((x,), {"dim": 1, "correction": 0})]
    calls["var"] += [((x,), {}), ((x, 1), {}), ((x,), {"dim": 1, "correction": 0, "keepdim": True})]
    calls["torch.set_grad_enabled"].append(((False,), {}))
    calls["copy_"].append(((x + 0, y), {}))
    calls["index_put_"].append(((x + 0, (torch.tensor([0, 2]),), y[:2] + 0), {}))
    calls["index_put"].append(((x, (torch.tensor([0, 2]),), y[:2] + 0), {"accumulate": True}))
    calls["index"].append(((x, (None, torch.tensor([0, 2]))), {}))
    return calls


def make(out, only):
    """Writes a graph a call, with inputs and outputs; prints how many."""
    import torch

    cases = {}
    infos, by_hand = op_infos(), more()
    for names, _, _ in rows(RULES):
        for name in names:
            if name in cases or (only and name not in only):
                continue
            cases[name] = []
            target = target_of(name)
            if target is None:
                continue
            texts = set()
            for args, kwargs in [*by_hand.get(name, []), *samples_of(name, infos)]:
                if len(cases[name]) >= MOST + len(by_hand.get(name, [])):
                    break
                try:
                    text, inputs = graph_of(target, args, kwargs)
                    if text in texts:
                        continue
                    torch.manual_seed(0)
                    values = {k: v.clone() for k, v in inputs.items()}
                    with torch.no_grad():
                        result = callable_of(target)(*rebuild(args, inputs, values), **dict(
                            zip(kwargs, rebuild(list(kwargs.values()), inputs, values))))
                    outputs = [common.as_tensor(v) for v in common.flatten(result)]
                except Exception:  # Whatever PyTorch refuses is no call.
                    continue
                if any(v.layout != torch.strided for v in outputs) or not outputs:
                    continue
                texts.add(text)
                case = f"{name.replace('.', '-')}-{len(cases[name])}"
                (out / "calls").mkdir(parents=True, exist_ok=True)
                (out / "calls" / f"{case}.gn").write_text(f"graphnet.module 1\n{text}\nend\n")
                common.save(inputs, out / f"{case}.inputs")
                common.save({f"o{i}": v for i, v in enumerate(outputs)}, out / f"{case}.outputs")
                cases[name].append(case)
    torch.set_grad_enabled(True)
    (out / "cases.json").write_text(json.dumps(cases, indent=1))


def rebuild(value, inputs, values):
    """The arguments with the copies of the inputs in their places."""
    import torch

    if isinstance(value, torch.Tensor):
        for name, other in inputs.items():
            if other is value or other.data_ptr() == value.data_ptr() and other.shape == value.shape:
                return values[name]
        return value
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(rebuild(v, inputs, values) for v in value)
    return value


# -------------------------------------------------------------- Paddle's side


def check(out):
    """Runs each conversion in a child of one process that has loaded Paddle."""
    import os

    import numpy as np
    import paddle

    cases = json.loads((out / "cases.json").read_text())
    for name in cases:
        for case in cases[name]:
            folder = out / "paddle" / case
            if not (folder / "model.py").is_file():
                continue
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                text = (folder / "model.py").read_text()
                try:
                    program = {"__name__": "sample"}
                    exec(compile(text, "model.py", "exec"), program)
                    values = common.load(out / f"{case}.inputs")
                    arguments = []
                    for array, dtype in values.values():
                        value = paddle.to_tensor(np.array(array))
                        arguments.append(value.astype("bfloat16") if dtype == "bfloat16" else value)
                    with paddle.no_grad():
                        returned = list(common.flatten(program["GraphModule"]()(*arguments)))
                    result = common.compare(returned, common.load(out / f"{case}.outputs"))
                except BaseException as error:  # Whatever Paddle raises is an outcome.
                    result = {"outcome": "fails", "where": common.describe(error, text)}
                os.write(writer, json.dumps(result).encode()[:60000])
                os._exit(0)
            os.close(writer)
            data = b""
            while chunk := os.read(reader, 65536):
                data += chunk
            os.close(reader)
            os.waitpid(child, 0)
            result = json.loads(data) if data else {"outcome": "crashes", "where": ""}
            print(json.dumps({"case": case, **result}), flush=True)


# ------------------------------------------------------------------- the run


def main() -> int:
    if sys.argv[1:2] == ["--side"]:
        (make if sys.argv[2] == "torch" else check)(pathlib.Path(sys.argv[3]), *([sys.argv[4:]] if sys.argv[2] == "torch" else []))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--paddle-python", required=True)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--keep", action="store_true", help="the calls that are in DIR already")
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()

    if not args.keep:
        subprocess.run([args.torch_python, __file__, "--side", "torch", args.out, *args.only], check=True)
    subprocess.run(["rm", "-rf", args.out / "paddle"], check=True)
    subprocess.run([args.graphnet, "convert", args.out / "calls", "--to", "paddle", "-o", args.out / "paddle",
                    "--report", args.out / "report.json"], capture_output=True, check=False)
    report = json.loads((args.out / "report.json").read_text())["samples"]
    done = subprocess.run([args.paddle_python, __file__, "--side", "paddle", args.out], capture_output=True, text=True, check=False)
    results = {r["case"]: r for r in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))}
    cases = json.loads((args.out / "cases.json").read_text())
    bad, count, uncovered = 0, collections.Counter(), []
    outcomes = {}
    for name in cases:
        if not cases[name]:
            uncovered.append(name)
        for case in cases[name]:
            key = f"{case}.gn"
            if report.get(key, {}).get("conversion_status") != "success":
                result = {"outcome": "not converted", "where": report.get(key, {}).get("error", {}).get("message", "?")}
            else:
                result = results.get(case, {"outcome": "crashes", "where": ""})
            result.pop("case", None)
            outcomes[case] = {"name": name, **result}
            count[result["outcome"]] += 1
            if result["outcome"] not in ("equal", "not converted"):
                bad += 1
                text = (args.out / "calls" / f"{case}.gn").read_text().strip()
                print(f"{name}: {result['outcome']}: {result['where']}\n    {text}")
    (args.out / "calls.json").write_text(json.dumps(outcomes, indent=1) + "\n")
    print(", ".join(f"{times} {what}" for what, times in count.most_common()))
    print(f"{len(cases) - len(uncovered)} of {len(cases)} names have calls; not: {' '.join(uncovered)}")
    if args.write:
        write(args, cases, outcomes)
    return 1 if bad else 0


def write(args, cases, outcomes):
    """The first call of each name that is equal and not longer than needed, with its conversion."""
    lines = []
    for name in sorted(cases):
        seen = set()
        for case in cases[name]:
            if outcomes[case]["outcome"] != "equal":
                continue
            text = (args.out / "calls" / f"{case}.gn").read_text().strip()
            shown = subprocess.run([args.graphnet, "convert", args.out / "paddle" / case, "--to", "text", "-o", "-"],
                                   capture_output=True, text=True, check=True).stdout
            body = re.search(r"\) \{\n(.*)\n\}", shown, re.S)
            steps = [re.sub(r" at (\"[^\"]*\":)?[0-9:]+", "", line).strip() for line in body[1].splitlines()]
            shape = tuple(sorted(re.sub(r"[0-9.]+", "0", step) for step in steps))
            if shape in seen:
                continue
            seen.add(shape)
            lines.append(f"{name} | {text} | {' ; '.join(steps)}")
    args.write.write_text("# Made by tests/tools/check_paddle_calls.py: calls that Paddle runs as PyTorch does.\n"
                          + "\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
