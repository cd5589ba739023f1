#!/usr/bin/env python3
"""Judges the replacement of each private function of NO.113-127 by a curve of ES(t).

    stable_curves.py GRAPHNET CORPUS -o FOLDER

For each function, the smallest samples of CORPUS that call it are run as they are and after
`stabilize`, which `check-stable` follows, so that a sample counts as failed if any private call is
left. Where fewer than five samples call a function, small programs stand beside them, one for each
form of tests/passes/unstable_forms.txt (NO.121 and 122 have their own); the table counts them apart. The same samples without
`stabilize` show what the check says of a graph that nobody rewrote.

Prints a Markdown table, a row for each function. FOLDER gets the programs and the logs. Exits with
1 if a curve is below 0.63 at t = -6, which is what the tasks ask for.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ACCEPTED = 0.63
FEW = 5
# Task, and the last words of the function in torch._C.
TASKS = [
    (113, "_fft.fft_irfft"), (114, "_fft.fft_rfft"), (115, "_fft.fft_fftn"),
    (116, "_linalg.linalg_vector_norm"), (117, "_linalg.linalg_norm"), (118, "_nn.softplus"),
    (119, "_nn.one_hot"), (120, "_special.special_logit"), (121, "_set_grad_enabled"),
    (122, "_log_api_usage_once"), (123, "_nn.pad"), (124, "_nn.avg_pool2d"), (125, "_nn.gelu"),
    (126, "_nn.scaled_dot_product_attention"), (127, "_nn.linear"),
]
# The inputs of unstable_forms.txt.
INPUTS = {
    "x": "f32[2, 6]", "w": "f32[4, 6]", "b": "f32[4]", "v": "f32[6]", "q": "f32[2, 3, 4, 8]",
    "k": "f32[2, 3, 4, 8]", "t": "f32[2, 3, 4, 8]", "m": "f32[4, 4]", "mask": "bool[4, 4]",
    "c": "c64[4, 4]", "i": "i64[5]@cpu {data = [0, 2, 1, 2, 0]}", "image": "f32[1, 2, 8, 8]",
    "p": "f32[4] {min = 0.1, max = 0.9}",
}
# Calls of the programs for NO.121 and 122. Every other one for NO.121 takes a parameter.
UNRECORDED = ["torch.cos(%x)", "torch.mul(%x, %x)", "torch.relu(%x)", ".sum(%x)", "torch.exp(%x)"]


def program(call):
    """The call in a graph in the text form."""
    for python, text in (("float('inf')", "inf"), ("float('-inf')", "-inf"), ("'", '"')):
        call = call.replace(python, text)
    names = "|".join(INPUTS)
    call = re.sub(rf'(?<![\w."%])({names})(?!\w|=|")', r"%\1", call).replace("=", " = ")
    used = list(dict.fromkeys(re.findall(r"%(\w+)", call)))
    parameters = ", ".join(f"%{name} : {INPUTS[name]}" for name in used)
    return f"graph @forward({parameters}) {{\n  %y = {call}\n  return (%y,)\n}}\n"


def unrecorded(k, name):
    """A call between two statements, or behind one."""
    if name == "_log_api_usage_once":
        return (f'graph @forward(%x : f32[2, 6]) {{\n  %log = torch._C.{name}("module_{k}")\n'
                f"  %y = {UNRECORDED[k]}\n  return (%y,)\n}}\n")
    kind = " as torch.nn.parameter.Parameter" if k % 2 else ""
    return (f"graph @forward(%x : f32[2, 6]{kind}) {{\n  %off = torch._C._set_grad_enabled(False)\n"
            f"  %y = {UNRECORDED[k]}\n  %on = torch._C._set_grad_enabled(True)\n  return (%y,)\n}}\n")


def declared_bytes(sample):
    """About how large the tensors of a sample are, from the shapes in its two files."""
    total = 0
    for file in ("input_meta.py", "weight_meta.py"):
        path = sample / file
        for shape in re.findall(r"shape = \[([\d, ]*)\]", path.read_text() if path.is_file() else ""):
            elements = 1
            for size in shape.split(","):
                elements *= int(size) if size.strip() else 1
            total += 4 * elements
    return total


def bench(args, name, backend, samples):
    """How many samples run as they are, and the curve of a backend over them."""
    folder = args.out / name
    command = [args.graphnet, "bench", *map(str, samples), "--backend", backend, "--warmup", "3",
               "--trials", str(args.trials), "--timeout", "300", "--resume", str(folder)]
    # One thread: on a machine that others use, threads wait for each other longer than small
    # programs run.
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode not in (0, 1):
        sys.exit(f"stable_curves: {name}: {done.stderr.strip()[:1000]}")
    (log,) = folder.glob("*.log")
    scored = subprocess.run([args.graphnet, "score", str(log), "--json"], capture_output=True,
                            text=True, check=True)
    (curve,) = json.loads(scored.stdout)["curves"]
    (records,) = folder.glob("*.jsonl")
    ran = sum(json.loads(line)["status"] != "eager_fail" for line in records.open())
    return ran, {int(t): value for t, value in curve["ES"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=int, default=5, help="at most so many for each function")
    parser.add_argument("--max-bytes", type=int, default=64 << 20,
                        help="of the tensors of a sample; larger ones are left out")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of tasks; default: all")
    parser.add_argument("--trials", type=int, default=5)
    args = parser.parse_args()
    texts = {path.parent: path.read_text() for path in args.corpus.rglob("model.py")}
    sizes = {sample: declared_bytes(sample) for sample in texts}
    order = sorted(texts, key=lambda s: (sizes[s], str(s)))
    forms = [line.strip() for line in (HERE.parent / "passes" / "unstable_forms.txt").open()
             if line.strip() and not line.startswith("#")]
    print("| task | function of torch._C | samples (of) | own programs | of them run | ES(-10) | ES(-6) | ES(0) | ES(4) "
          "| first drop | without stabilize: ES(-6) | verdict |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---|")
    is_accepted = True
    for task, name in TASKS:
        if args.only and task not in args.only:
            continue
        call = f"torch._C.{name}("
        having = [s for s in order if call in texts[s]]
        samples = [s for s in having if sizes[s] <= args.max_bytes][:args.samples]
        own = []
        if len(samples) < FEW:
            folder = args.out / f"NO.{task}-programs"
            folder.mkdir(parents=True, exist_ok=True)
            texts_of_own = [program(form) for form in forms if form.startswith(call)]
            if not texts_of_own:
                texts_of_own = [unrecorded(k, name) for k in range(len(UNRECORDED))]
            for k, text in enumerate(texts_of_own[:2 * FEW]):
                own.append(folder / f"{name.split('.')[-1]}_{k}.gn")
                own[-1].write_text(text)
        both = samples + own
        ran, curve = bench(args, f"NO.{task}", "pass:stabilize+check-stable", both)
        _, unchanged = bench(args, f"NO.{task}-unchanged", "pass:check-stable", both)
        drop = next((t for t in sorted(curve) if curve[t] < curve[-10] - 1e-9), None)
        verdict = curve[-6] >= ACCEPTED
        is_accepted &= verdict
        print(f"| NO.{task} | {name} | {len(samples)} ({len(having)}) | {len(own)} | {ran} | {curve[-10]:.2f} "
              f"| {curve[-6]:.2f} | {curve[0]:.2f} | {curve[4]:.2f} | {'none' if drop is None else f't = {drop}'} "
              f"| {unchanged[-6]:.2f} | {'accepted' if verdict else 'not accepted'} |", flush=True)
    return 0 if is_accepted else 1


if __name__ == "__main__":
    sys.exit(main())
