#!/usr/bin/env python3
"""Asks Paddle about what graphnet knows of it. Run by a Python that has Paddle.

    check_paddle.py rules                      whether Paddle has every call of paddle_rules.txt
    check_paddle.py calls [NAME…]              the calls of paddle_examples.txt, in Paddle and by graphnet
    check_paddle.py samples FOLDER [--count N] samples that graphnet converts, in Paddle and by graphnet

`rules`: each call must be of a function, or of a method of Tensor, that Paddle has, under keywords that its
signature has. What a decorator takes besides, which inspect cannot see, is called.

`calls` and `samples`: both sides get the same inputs. The outputs must be of the same dtype and shape and
agree at t = -5: |a - b| <= atol + rtol |b|. `graphnet run` has PyTorch's bits (compare.py). What came of
each is one of: equal; rounding (as near to what float64 yields as graphnet, up to NEAR times, in the mean of
squares); random (graphnet's own outputs depend on the seed); not converted; not run (by graphnet); limit; or
what is wrong: numbers, dtype, shape, fails, crashes.

This runs the Python text of samples: use it on those that you trust.
"""

import argparse
import collections
import inspect
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
import traceback
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("GLOG_minloglevel", "3")
import numpy as np  # noqa: E402
import paddle  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "graphnet/paddle"
# atol, rtol at t = -5.
TOLERANCE = {"float16": (1e-5, 1e-3), "bfloat16": (1e-5, 1.6e-2), "float32": (1e-5, 1.3e-6),
             "float64": (1e-7, 1e-7), "complex64": (1e-5, 1.3e-6), "complex128": (1e-7, 1e-7)}
PASSED = ("equal", "rounding", "random", "not converted", "not run", "limit")
NEAR = 3


def graphnet(args, *words, text=None):
    done = subprocess.run([args.graphnet, *map(str, words)], input=text, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return done.stdout


# --- Rules --------------------------------------------------------------------------------------------

OURS = {"complement", "subscript", "last_axes", "axes", "per_axis", "dtype_of", "several",
        "positive", "grown", "cropped", "reduction", "slice", "not", "list", "tuple of values"}
PYTHON = ("operator.", "builtins.", "math.")

# Keywords that only a decorator takes, and a call that shows it.
DECORATED = {
    "paddle.transpose": lambda: list(paddle.transpose(paddle.ones([2, 3]), dim0=0, dim1=1).shape)
    == [3, 2],
}


def calls(text):
    """(function, keywords) of each call in `text`, nested ones too."""
    stack = []
    token = re.compile(r"\s+|([\w.*]*)\(|([\w]+)=|(\))|(,)|\"[^\"]*\"|[^,()=]+")
    found = []
    for match in token.finditer(text):
        if match[1] is not None:
            stack.append((match[1] or "tuple of values", []))
        elif match[2] and stack:
            stack[-1][1].append(match[2])
        elif match[3]:
            found.append(stack.pop())
    if stack:
        raise ValueError(text)
    return found


def rules(path):
    """(name, function, keywords) of each call."""
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, call = line.split(": ", 1)
        names = head.split(" when ")[0].split()[1:]
        if "(" not in call or call.startswith("!"):
            continue
        for name in names:
            last = name.rsplit(".", 1)[-1]
            for function, keywords in calls(call):
                yield name, function.replace("*", last), keywords


def find(function):
    """What Paddle has under that name; None if there is none."""
    if function.startswith("."):
        return getattr(paddle.Tensor, function[1:], None)
    value = paddle
    for part in function.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def fault(function, keywords):
    if function in OURS or function.startswith(PYTHON):
        return None
    found = find(function)
    if found is None:
        return "is not in Paddle"
    try:
        parameters = inspect.signature(found).parameters
    except ValueError:
        parameters = None
    if parameters is None:
        return None if not keywords else "has no signature"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    unknown = [keyword for keyword in keywords if keyword not in parameters]
    if unknown and function in DECORATED and DECORATED[function]():
        return None
    return f"takes no {', '.join(unknown)}: {', '.join(parameters)}" if unknown else None


def check_rules(args):
    faults, count = set(), 0
    for name, function, keywords in rules(TABLES / "paddle_rules.txt"):
        count += 1
        if why := fault(function, keywords):
            faults.add(f"{name}: {function} {why}")
    print("\n".join(sorted(faults)) or f"all as Paddle {paddle.__version__} has them")
    print(f"{count} calls, {len(faults)} faults")
    return not faults


# --- Files of tensors, and what differs -----------------------------------------------------------------


KINDS = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?",
         "C64": "c8", "C128": "c16", "BF16": "u2"}
NAMES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64", "i32": "I32", "i16": "I16", "i8": "I8", "u8": "U8",
         "bool": "BOOL", "c64": "C64", "c128": "C128"}


def save(values, path):
    """Arrays by name, each with the name of its kind; bfloat16 comes as float32."""
    header, chunks, begin = {}, [], 0
    for name, (array, kind) in sorted(values.items(), key=lambda item: -np.dtype(KINDS[item[1][1]]).itemsize):
        bits = (array.astype("f4").view("u4") >> 16).astype("u2") if kind == "BF16" else array.astype(KINDS[kind])
        chunk = np.ascontiguousarray(bits).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, begin + len(chunk)]}
        chunks.append(chunk)
        begin += len(chunk)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(chunks))


def load(path):
    """Arrays by name, with the name of the dtype; bfloat16 as float32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    values = {}
    for name, record in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = record["data_offsets"]
            array = np.frombuffer(data[8 + size + begin:8 + size + end], KINDS[record["dtype"]]).reshape(record["shape"])
            if record["dtype"] == "BF16":
                array = (array.astype("u4") << 16).view("f4")
            values[name] = (array, "bfloat16" if record["dtype"] == "BF16" else str(array.dtype))
    return values


def flatten(value):
    if isinstance(value, (tuple, list)):
        for element in value:
            yield from flatten(element)
    elif value is not None:
        yield value


def as_array(value):
    if not isinstance(value, paddle.Tensor):
        return np.asarray(value)
    return value.astype("float32").numpy() if value.dtype == paddle.bfloat16 else value.numpy()


def is_near(returned, expected, exact):
    """Whether Paddle is as near to the exact outputs as PyTorch, of each that is not of integers."""
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
    message = [line.strip() for line in str(error).splitlines() if line.strip()]
    summary = next((line for line in message if "Error:" in line), message[0] if message else "")
    call = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith("model.py"):
            lines = text.splitlines()
            call = lines[frame.lineno - 1].strip() if frame.lineno <= len(lines) else ""
    return f"{type(error).__name__}: {summary[:300]} | {call[:200]}"


def compare(returned, expected):
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


def in_child(function, args):
    """What a function returns in a process of its own, within limits, or what became of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (args.max_memory, args.max_memory))
        # Of the processor, so that a busy machine makes no difference.
        resource.setrlimit(resource.RLIMIT_CPU, (args.timeout, args.timeout))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            result = function()
        except BaseException as error:  # Whatever it raises is a result.
            result = {"outcome": "fails", "where": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        if re.search("MemoryError|ResourceExhausted|bad_alloc|can't allocate memory", result.get("where", "")):
            result["outcome"] = "limit"
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    answer = b""
    if select.select([reader], [], [], 50 * args.timeout)[0]:  # it may wait for something
        while chunk := os.read(reader, 65536):
            answer += chunk
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    if answer:
        return json.loads(answer)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return {"outcome": "limit" if ended in (signal.SIGXCPU, signal.SIGKILL) else "crashes", "where": f"signal {ended}"}


def by_paddle(sample, inputs, expected, exact=None):
    """Runs a converted sample on the inputs, by their original names, and compares."""
    text = (sample / "model.py").read_text().replace('"gpu:0"', '"cpu"')
    program, records = {"__name__": "sample"}, {}
    exec(compile(text, str(sample / "model.py"), "exec"), program)
    for file in ("input_meta.py", "weight_meta.py"):
        if (sample / file).is_file():
            exec((sample / file).read_text(), records)
    originals = {v.name: getattr(v, "original_name", None) or v.name for v in records.values() if isinstance(v, type)}
    paddle.device.set_device("cpu")
    model = program["GraphModule"]()
    model.eval()
    given = []
    for name in model.forward.__code__.co_varnames[1:model.forward.__code__.co_argcount]:
        array, dtype = inputs[originals.get(name, name)]
        is_number = model.forward.__annotations__.get(name) is int
        value = int(array) if is_number else paddle.to_tensor(np.ascontiguousarray(array).reshape(array.shape))
        given.append(value.astype("bfloat16") if dtype == "bfloat16" else value)
    try:
        with paddle.no_grad():
            returned = list(flatten(model(*given)))
    except Exception as error:  # Whatever Paddle raises is an outcome.
        return {"outcome": "fails", "where": describe(error, text)}
    result = compare(returned, expected)
    if exact is not None and result["outcome"] == "numbers" and is_near(returned, expected, exact):
        result["outcome"] = "rounding"
    return result


def judge(args, original, converted, inputs, scratch, why_not):
    """What comes of a program in Paddle, beside graphnet's run of the original."""
    if not (converted / "model.py").is_file():
        return {"outcome": "not converted", "where": why_not}
    save(inputs, scratch / "in.safetensors")

    def run(source, seed):
        graphnet(args, "run", source, "--inputs", scratch / "in.safetensors", "-o", scratch / "out.safetensors", "--seed", seed,
                 "--threads", 1)
        return load(scratch / "out.safetensors")

    try:
        expected = run(original, 0)
    except ValueError as error:
        return {"outcome": "not run", "where": str(error)[-200:]}
    given = load(scratch / "in.safetensors")
    result = in_child(lambda: by_paddle(converted, given, expected), args)
    if result["outcome"] != "numbers":
        return result
    if any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for (a, _), (b, _) in zip(expected.values(), run(original, 1).values())):
        return {"outcome": "random", "where": ""}
    try:
        graphnet(args, "opt", original, "--passes", "change-dtype{to=float64}", "-o", scratch / "wide.pb")
        wide = {name: (array, "F64" if kind in ("F32", "F16", "BF16") else kind) for name, (array, kind) in inputs.items()}
        save(wide, scratch / "in.safetensors")
        exact = run(scratch / "wide.pb", 0)
    except ValueError:
        return result
    return in_child(lambda: by_paddle(converted, given, expected, exact), args)


def told(outcomes):
    """Prints what is wrong and how many of each kind there are; returns whether nothing is wrong."""
    counts = collections.Counter(result["outcome"] for result in outcomes.values())
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return bool(outcomes) and counts["equal"] > 0 and not set(counts) - set(PASSED)


def drawn(kind, sizes, rng, low=0, high=2):
    """An input; integers are indices that fit most tensors."""
    if kind in ("F64", "F32", "F16", "BF16"):
        return rng.standard_normal(sizes)
    if kind in ("C64", "C128"):
        return rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)
    return rng.integers(0, 2, sizes) > 0 if kind == "BOOL" else rng.integers(low, high + 1, sizes)


def check_calls(args):
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch, rng = pathlib.Path(folder), np.random.default_rng(0)
        (scratch / "calls").mkdir()
        lines = [line.split(" | ") for line in (TABLES / "paddle_examples.txt").read_text().splitlines() if line[0] != "#"]
        calls = [(f"{name}-{i}", text) for i, (name, text, _) in enumerate(lines) if not args.names or name in args.names]
        calls = calls[:: args.stride]
        for name, text in calls:
            (scratch / "calls" / f"{name}.gn").write_text(f"graphnet.module 1\n{text}\nend\n")
        subprocess.run([args.graphnet, "convert", scratch / "calls", "--to", "paddle", "-o", scratch / "paddle"],
                       capture_output=True, check=False)
        for name, text in calls:
            declared = re.findall(r"%(\w+) : (\w+)\[([^\]]*)\]", text.split(") {")[0])
            inputs = {}
            for given, kind, sizes in declared:
                kind = NAMES[kind]
                inputs[given] = (np.asarray(drawn(kind, [int(n) for n in sizes.split(",") if n.strip()], rng)), kind)
            outcomes[name] = result = judge(args, scratch / "calls" / f"{name}.gn", scratch / "paddle" / name, inputs, scratch, "")
            if result["outcome"] not in PASSED:
                print(f"{name}: {result['outcome']}: {result['where']}\n    {text}", flush=True)
    return told(outcomes)


def check_samples(args):
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        samples = sorted(path.parent for path in args.folder.rglob("graph_net.json"))
        for sample in samples[:: max(1, len(samples) // args.count) if args.count else 1]:
            subprocess.run(["rm", "-rf", scratch / "paddle"], check=True)
            done = subprocess.run([args.graphnet, "convert", sample, "--to", "paddle", "-o", scratch / "paddle"],
                                  capture_output=True, text=True, check=False)
            records, inputs, rng = {}, {}, np.random.default_rng(0)
            for file in ("input_meta.py", "weight_meta.py"):
                if (sample / file).is_file():
                    exec((sample / file).read_text(), records)
            for meta in (vars(record) for record in records.values() if isinstance(record, type)):
                kind = {"float": "F", "bfloat": "BF", "int": "I", "uint": "U", "bool": "BOOL", "complex": "C"}[
                    re.match(r"(?:torch\.)?([a-z]+)", meta["dtype"])[1]] + re.sub(r"\D", "", meta["dtype"])
                low, high = meta.get("min_val"), meta.get("max_val")
                value = drawn(kind, meta["shape"], rng, *((low, high) if low is not None and high is not None and kind[0] in "IU" else (0, 1)))
                if meta.get("data") is not None:
                    value = np.array(meta["data"]).reshape(meta["shape"])
                elif kind in ("F64", "F32", "F16", "BF16"):
                    value = np.clip(value * (meta.get("std") or 0) * 0.2 + (meta.get("mean") or 0), low, high) if (low, high) != (None, None) \
                        else value * (meta.get("std") or 0) * 0.2 + (meta.get("mean") or 0)
                inputs[meta.get("original_name") or meta["name"]] = (np.asarray(value), kind)
            result = outcomes[sample] = judge(args, sample, scratch / "paddle", inputs, scratch, done.stderr.strip()[-200:])
            print(f"{result['outcome']:14} {sample.relative_to(args.folder)} {result['where']}", flush=True)
    return told(outcomes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--timeout", type=int, default=300, help="seconds of processor for Paddle (default: %(default)s)")
    parser.add_argument("--max-memory", type=int, default=24 << 30, help="bytes (default: %(default)s)")
    steps = parser.add_subparsers(required=True)
    steps.add_parser("rules").set_defaults(run=check_rules)
    step = steps.add_parser("calls")
    step.add_argument("names", nargs="*")
    step.add_argument("--stride", type=int, default=1, help="take every Nth call")
    step.set_defaults(run=check_calls)
    step = steps.add_parser("samples")
    step.add_argument("folder", type=pathlib.Path)
    step.add_argument("--count", type=int, default=0, help="as many samples as this, evenly spread")
    step.set_defaults(run=check_samples)
    args = parser.parse_args()
    args.graphnet = str(pathlib.Path(args.graphnet).resolve())
    return 0 if args.run(args) else 1


if __name__ == "__main__":
    sys.exit(main())
