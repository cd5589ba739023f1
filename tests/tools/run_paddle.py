#!/usr/bin/env python3
"""Runs samples in Paddle that graphnet has converted, and compares with PyTorch.

    run_paddle.py --paddle-python ENV/bin/python --list LIST --root FOLDER -o DIR

For each sample of LIST, a path below FOLDER a line, PyTorch runs the original on the CPU on inputs
drawn as its weight_meta.py says; `graphnet convert --to paddle` makes a sample of Paddle of it,
and Paddle runs that on the same inputs, in a process each with limits of time and memory.
The outputs must agree at t = -5: |a - b| <= atol + rtol |b|, by the dtype of the output.

What comes of each goes to DIR/outcomes.json, a table to DIR/outcomes.md, and the samples that
were converted and did not fail to DIR/torch_to_paddle_samples_list.txt, beside the list that
convert writes. Outcomes:

    equal              all outputs within the tolerance
    rounding           an output differs by more, but is as near to what PyTorch computes in float64:
                       at most NEAR times as far from it as PyTorch's own, in the mean of squares
    numbers            an output differs by more than that; "where" says which and by how much
    dtype, shape       an output is of another dtype or shape
    fails              Paddle refuses a call, with its message
    crashes            Paddle's process dies
    limit              it takes more time or memory than allowed
    random             the sample draws random numbers, so its outputs are compared by shape only
    not converted      graphnet has no call of Paddle for some call
    not run            PyTorch does not run the original here

The exit status is 0 if Paddle ran every sample that was converted with outputs that are equal,
rounding or random.
This runs the Python text of samples: use it on those that you trust. Needs a Python with PyTorch,
and one with Paddle.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LIST = "torch_to_paddle_samples_list.txt"
# atol, rtol at t = -5 (spec.md 7.2).
TOLERANCE = {"float16": (1e-5, 1e-3), "bfloat16": (1e-5, 1.6e-2), "float32": (1e-5, 1.3e-6),
             "float64": (1e-7, 1e-7), "complex64": (1e-5, 1.3e-6), "complex128": (1e-7, 1e-7)}
PASSED = ("equal", "rounding", "random")
NEAR = 3


# ------------------------------------------------------------- PyTorch's side


def side_torch(sample: pathlib.Path, out: pathlib.Path, seed: int, exact: bool) -> dict:
    """Writes inputs as they were before the run and outputs after it; `exact`: the latter only, of
    a run in float64."""
    import in_pytorch
    import torch

    path = sample / "model.py"
    scope = {"__name__": "sample"}
    text = in_pytorch.on_cpu(path.read_text())
    if exact:
        text = re.sub(r"torch\.(float32|float16|bfloat16|half|float)\b", "torch.float64", text)
        text = re.sub(r"\.(float|half|bfloat16)\(\)", ".double()", text)
    exec(compile(text, str(path), "exec"), scope)
    model = scope["GraphModule"]()
    metas = in_pytorch.read_metas(sample)
    code = model.forward.__code__
    inputs = {}
    for name in code.co_varnames[1:code.co_argcount]:
        value = in_pytorch.draw(metas[name], seed)
        # As GraphNet has it, a symbolic size is a number.
        is_number = "SymInt" in str(model.forward.__annotations__.get(name))
        if exact and value.is_floating_point():
            value = value.double()
        inputs[name] = int(value) if is_number else value
    names = {name: metas[name].original_name for name in inputs}
    if not exact:
        save({names[n]: v for n, v in inputs.items()}, out / "inputs.safetensors")
    def run(seed):
        torch.manual_seed(seed)
        with torch.no_grad():
            return list(flatten(model(**{n: copy(v) for n, v in inputs.items()})))

    first = run(seed)
    if exact:
        save({f"o{i}": v for i, v in enumerate(first)}, out / "exact.safetensors")
        return {}
    # What differs from seed to seed cannot be compared with what Paddle draws.
    may_draw = re.search(r"rand|dropout|bernoulli|multinomial|normal_|gumbel", text) is not None
    same = not may_draw or all(
        in_pytorch.difference(as_tensor(a), as_tensor(b)) == "" for a, b in zip(first, run(seed + 1)))
    save({f"o{i}": v for i, v in enumerate(first)}, out / "outputs.safetensors")
    return {"random": not same}


def copy(value):
    return value if isinstance(value, int) else value.clone()


def as_tensor(value):
    import torch

    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def flatten(value):
    if isinstance(value, (tuple, list)):
        for element in value:
            yield from flatten(element)
    elif value is not None:
        yield value


def save(values, path):
    """As safetensors; complex tensors as pairs of floats, under a name that says so."""
    import torch

    names = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
             torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
             torch.bool: "BOOL"}
    header, chunks, begin = {}, [], 0
    for name, value in values.items():
        value = as_tensor(value).detach()
        if value.is_complex():
            name, value = name + "#complex", torch.view_as_real(value.resolve_conj())
        chunk = value.resolve_neg().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape),
                        "data_offsets": [begin, begin + len(chunk)]}
        chunks.append(chunk)
        begin += len(chunk)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(chunks))


# ------------------------------------------------------------- Paddle's side


def load(path):
    """Arrays by name, with the name of the dtype; bfloat16 as float32, complex from pairs."""
    import numpy as np

    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
             "U8": "u1", "BOOL": "?"}
    names = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
             "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
    values = {}
    for name, record in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = record["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if record["dtype"] == "BF16":
            bits = np.frombuffer(raw, "u2").astype("u4") << 16
            array = bits.view("f4").reshape(record["shape"])
        else:
            array = np.frombuffer(raw, kinds[record["dtype"]]).reshape(record["shape"])
        dtype = names[record["dtype"]]
        if name.endswith("#complex"):
            name = name.removesuffix("#complex")
            array = array[..., 0] + 1j * array[..., 1]
            dtype = str(array.dtype)
        values[name] = (array, dtype)
    return values


def side_paddle(sample: pathlib.Path, out: pathlib.Path, seed: int, exact: bool) -> dict:
    """Runs the converted sample on the inputs and compares; `exact`: with those of float64."""
    import numpy as np
    import paddle

    scope = {}
    for file in ("input_meta.py", "weight_meta.py"):
        if (sample / file).is_file():
            exec((sample / file).read_text(), scope)
    originals = {v.name: getattr(v, "original_name", None) or v.name for v in scope.values() if isinstance(v, type)}
    paddle.device.set_device("cpu")
    text = (sample / "model.py").read_text().replace('"gpu:0"', '"cpu"')
    program = {"__name__": "sample"}
    exec(compile(text, str(sample / "model.py"), "exec"), program)
    model = program["GraphModule"]()
    model.eval()
    drawn = load(out / "inputs.safetensors")
    arguments = []
    code = model.forward.__code__
    for name in code.co_varnames[1:code.co_argcount]:
        array, dtype = drawn[originals[name]]
        is_number = model.forward.__annotations__.get(name) is int
        value = int(array) if is_number else paddle.to_tensor(np.ascontiguousarray(array).reshape(array.shape))
        if not is_number and dtype == "bfloat16":
            value = value.astype("bfloat16")
        arguments.append(value)
    expected = load(out / "outputs.safetensors")
    try:
        with paddle.no_grad():
            returned = list(flatten(model(*arguments)))
    except Exception as error:  # Whatever Paddle raises is an outcome.
        return {"outcome": "fails", "where": describe(error, text)}
    result = compare(returned, expected)
    if exact and result["outcome"] == "numbers" and is_near(returned, expected, load(out / "exact.safetensors")):
        result["outcome"] = "rounding"
    return result


def as_array(value):
    import numpy as np
    import paddle

    if not isinstance(value, paddle.Tensor):
        return np.asarray(value)
    return value.astype("float32").numpy() if value.dtype == paddle.bfloat16 else value.numpy()


def is_near(returned, expected, exact):
    """Whether Paddle is as near to the exact outputs as PyTorch, of each that is not of integers."""
    import numpy as np

    for i, value in enumerate(returned):
        got, want, true = as_array(value), expected[f"o{i}"][0], exact[f"o{i}"][0]
        if true.dtype.kind not in "fc" or want.dtype.kind not in "fc":
            if not np.array_equal(got, want):
                return False
            continue
        finite = np.isfinite(true) & np.isfinite(want)
        if not np.array_equal(np.isfinite(got), np.isfinite(want)):
            return False
        far = lambda a: float(np.sqrt(np.mean(np.abs(a[finite].astype(true.dtype) - true[finite]) ** 2))) if finite.any() else 0.0
        if far(got) > NEAR * far(want):
            return False
    return True


def describe(error, text):
    import traceback

    message = [line.strip() for line in str(error).splitlines() if line.strip()]
    summary = next((line for line in message if "Error:" in line), message[0] if message else "")
    call = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith("model.py"):
            lines = text.splitlines()
            call = lines[frame.lineno - 1].strip() if frame.lineno <= len(lines) else ""
    return f"{type(error).__name__}: {summary[:300]} | {call[:200]}"


def compare(returned, expected):
    import numpy as np
    import paddle

    if len(returned) != len(expected):
        return {"outcome": "shape", "where": f"{len(returned)} outputs, PyTorch has {len(expected)}"}
    worst = {"outcome": "equal", "where": ""}
    for i, value in enumerate(returned):
        want, want_dtype = expected[f"o{i}"]
        if isinstance(value, paddle.Tensor):
            dtype = str(value.dtype).removeprefix("paddle.")
            got = as_array(value)
        else:
            got, dtype = np.asarray(value), want_dtype
        if list(got.shape) != list(want.shape):
            return {"outcome": "shape", "where": f"o{i}: {list(got.shape)}, PyTorch {list(want.shape)}"}
        if dtype != want_dtype:
            return {"outcome": "dtype", "where": f"o{i}: {dtype}, PyTorch {want_dtype}"}
        if want_dtype not in TOLERANCE:
            wrong = got != want
        else:
            atol, rtol = TOLERANCE[want_dtype]
            with np.errstate(all="ignore"):
                wide = np.complex128 if np.iscomplexobj(want) else np.float64
                a, b = got.astype(wide), want.astype(wide)
                # As allclose, but for what both have not computed.
                close = (np.abs(a - b) <= atol + rtol * np.abs(b)) | (a == b) | (np.isnan(a) & np.isnan(b))
            wrong = ~close
        if wrong.any():
            with np.errstate(all="ignore"):
                by = np.abs(got.astype("complex128") - want.astype("complex128"))
                scale = float(np.nanmax(np.abs(want.astype("complex128")))) if want.size else 0.0
            return {"outcome": "numbers",
                    "where": f"o{i} {want_dtype}: {int(wrong.sum())} of {want.size} differ, "
                             f"by {float(np.nanmax(by)):.3g} at most, largest {scale:.3g}"}
    return worst


# ------------------------------------------------------------------- the run


def serve(which: str, timeout: int, max_memory: int) -> None:
    """Answers each line of JSON, the arguments of a side, with one; runs it in a child.

    The framework is loaded once, which takes longer than most samples.
    """
    sys.path.insert(0, str(HERE))
    if which == "torch":
        import in_pytorch  # noqa: F401
        import torch

        torch.set_num_threads(1)
        run = side_torch
    else:
        import paddle  # noqa: F401

        run = side_paddle
    for line in sys.stdin:
        sample, out, seed, exact = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
            # Of the processor, so that a busy machine makes no difference.
            resource.setrlimit(resource.RLIMIT_CPU, (timeout, timeout))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            try:
                result = run(pathlib.Path(sample), pathlib.Path(out), seed, exact)
            except MemoryError:
                result = {"outcome": "limit", "where": f"more than {max_memory >> 20} MiB"}
            except BaseException as error:  # Whatever it raises is a result.
                result = {"outcome": "fails", "where": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
            if re.search("ResourceExhausted|bad_alloc|can't allocate memory", result.get("where", "")):
                result["outcome"] = "limit"
            os.write(writer, json.dumps(result).encode())
            os._exit(0)
        os.close(writer)
        # It may wait for something instead of computing.
        answer = b""
        if select.select([reader], [], [], 50 * timeout)[0]:
            while chunk := os.read(reader, 65536):
                answer += chunk
        else:
            os.kill(child, signal.SIGKILL)
        os.close(reader)
        status = os.waitpid(child, 0)[1]
        if not answer:
            ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            result = {"outcome": "crashes", "where": f"signal {ended}"}
            if ended in (signal.SIGXCPU, signal.SIGKILL):
                result = {"outcome": "limit", "where": f"more than {timeout} seconds"}
            answer = json.dumps(result).encode()
        print(answer.decode(), flush=True)


class Side:
    def __init__(self, which, python, args):
        command = ["nice", "-n", "10", python, __file__, "--side", which, str(args.timeout), str(args.max_memory)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def run(self, sample, out, seed, exact=False):
        self.process.stdin.write(json.dumps([str(sample), str(out), seed, exact]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):  # a framework may print, too
                return json.loads(line)
        raise SystemExit("run_paddle: a side has ended")


def run_one(name, report, torch, paddle, args):
    original, converted = args.root / name, args.out / name
    if report["conversion_status"] != "success":
        return {"outcome": "not converted", "where": report["error"]["message"]}
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        expected = torch.run(original, scratch, args.seed)
        if "random" not in expected:
            return {"outcome": "not run", "where": f"{expected['outcome']}: {expected['where']}"}
        result = paddle.run(converted, scratch, args.seed)
        if result["outcome"] == "numbers" and expected["random"]:
            result["outcome"] = "random"
        if result["outcome"] == "numbers" and "outcome" not in torch.run(original, scratch, args.seed, exact=True):
            result = paddle.run(converted, scratch, args.seed, exact=True)
        return result


def table(outcomes):
    count = collections.Counter(outcome["outcome"] for outcome in outcomes.values())
    lines = ["| outcome | samples |", "|---|---:|"]
    lines += [f"| {what} | {times} |" for what, times in count.most_common()]
    lines += ["", "| sample | outcome | where |", "|---|---|---|"]
    for name, outcome in sorted(outcomes.items()):
        if outcome["outcome"] != "equal":
            where = outcome["where"].replace("|", "\\|")
            lines.append(f"| {name} | {outcome['outcome']} | {where} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    if sys.argv[1:2] == ["--side"]:
        serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=pathlib.Path, required=True, help="of paths below --root")
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=0, help="as many samples as this that PyTorch runs; 0: all")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--paddle-python", required=True)
    parser.add_argument("--scratch", default=None, help="where inputs and outputs lie meanwhile")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=int, default=300, help="seconds of processor for either side (default: %(default)s)")
    parser.add_argument("--max-memory", type=int, default=12 << 30, help="bytes (default: %(default)s)")
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    begin = time.time()
    report = args.out / "report.json"
    subprocess.run([args.graphnet, "convert", args.root, "--list", args.list, "--to", "paddle", "-o", args.out,
                    "--report", report], stdout=subprocess.DEVNULL, check=False)
    converted = json.loads(report.read_text())["samples"]
    torch, paddle = Side("torch", args.torch_python, args), Side("paddle", args.paddle_python, args)
    for line in args.list.read_text().splitlines():
        name = line.split("#")[0].strip()
        if not name:
            continue
        if args.count and sum(o["outcome"] != "not run" for o in outcomes.values()) >= args.count:
            break
        outcomes[name] = run_one(name, converted[name], torch, paddle, args)
        print(f"{time.time() - begin:7.1f} s {outcomes[name]['outcome']:14} {name} {outcomes[name]['where']}", flush=True)
        (args.out / "outcomes.json").write_text(json.dumps(outcomes, indent=1) + "\n")
    (args.out / "outcomes.md").write_text(table(outcomes))
    ran = [n for n, o in sorted(outcomes.items()) if o["outcome"] not in ("not converted", "not run")]
    passed = [n for n in ran if outcomes[n]["outcome"] in PASSED]
    (args.out / LIST).write_text("".join(n + "\n" for n in passed))
    print(table(outcomes).split("\n\n")[0])
    return 0 if len(passed) == len(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
