"""Measures how often the verdict on rounding is wrong, beside two other judges.

  python rates.py GRAPHNET OUT SAMPLE... [--pairs] [--faults N] [--dtypes f32,f16,bf16]
  python rates.py --table OUT

Each pair differs by rounding alone: a judge that calls it wrong gives a false alarm. Each fault changes
the program. If its result is more than three times as far from the result in float64 as that of the program
itself, a judge that calls it right misses it. Results are lines of OUT, and what OUT has is not measured again.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import faults
import forms
import judges
from sample_text import Case, Failed

UNITS = {"f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
ENVIRONMENTS = {
    "one thread": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    "no vector instructions": {"ATEN_CPU_CAPABILITY": "default"},
    "no vector instructions, one thread": {"ATEN_CPU_CAPABILITY": "default",
                                           "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    "oneDNN without AVX": {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
}


def rms(tensors, others):
    """The root mean square of the differences of each pair of tensors."""
    made = []
    for x, y in zip(tensors, others, strict=True):
        if x.shape != y.shape or not x.is_floating_point():
            made.append(float("inf") if x.shape != y.shape else 0.0)
            continue
        difference = (x.double() - y.double()).nan_to_num(0, 0, 0)
        made.append(float(difference.pow(2).mean().sqrt()) if x.numel() else 0.0)
    return made


def pairs_of(case):
    """(kind, file of outputs) for each way to round otherwise."""
    for kind, variables in ENVIRONMENTS.items():
        yield kind, lambda v=variables: case.run(case.program, "other.safetensors",
                                                 env=dict(os.environ, **v))
    for kind, rewrite in forms.FORMS.items():
        made = rewrite(case.text)
        if made is None:
            continue

        def run(made=made):
            path = case.folder / "form.gn"
            path.write_text(made.text())
            return case.run(path, "other.safetensors")
        yield kind, run


def measure(arguments):
    out = pathlib.Path(arguments.out)
    known = set()
    if out.exists():
        known = {(row["sample"], row["dtype"], row["what"], row["kind"], row.get("number"))
                 for row in map(json.loads, out.read_text().splitlines())}
    with out.open("a") as file, tempfile.TemporaryDirectory() as scratch:
        def add(**row):
            file.write(json.dumps(row) + "\n")
            file.flush()
        for sample in arguments.samples:
            for dtype in arguments.dtypes.split(","):
                folder = pathlib.Path(scratch) / "case"
                shutil.rmtree(folder, ignore_errors=True)
                name = "/".join(pathlib.Path(sample).parts[-2:])
                try:
                    begin = time.time()
                    case = Case(arguments.graphnet, sample, dtype, folder)
                    if time.time() - begin > arguments.slow:
                        raise Failed("it is slow")
                except Failed as error:
                    print(f"{name} {dtype}: {error}", file=sys.stderr)
                    continue
                measure_case(case, name, arguments, known, add)


def measure_case(case, name, arguments, known, add):
    if arguments.pairs:
        for kind, run in pairs_of(case):
            if (name, case.dtype, "pair", kind, None) in known:
                continue
            try:
                found = judges.judge(case, run())
            except Failed as error:
                print(f"{name} {case.dtype} {kind}: {error}", file=sys.stderr)
                continue
            add(what="pair", sample=name, dtype=case.dtype, kind=kind, **found)
    if not arguments.faults:
        return
    # The error of a few elements may be nearly 0 by chance. It counts as half a unit at least.
    least = [UNITS[case.dtype] / 2 * size for size in
             rms(judges.load(case.outputs), [x * 0 for x in judges.load(case.outputs)])]
    rounding = [max(error, half) for error, half in
                zip(rms(judges.load(case.outputs), judges.load(case.exact)), least, strict=True)]
    by_kind = collections.defaultdict(list)
    for kind, text in faults.faults_of(case.text, case.dtype):
        by_kind[kind].append(text)
    chooser = random.Random(name + case.dtype)
    kinds = sorted(by_kind)
    chosen = [(kinds[i % len(kinds)], i) for i in range(arguments.faults)] if kinds else []
    for kind, number in chosen:
        text = chooser.choice(by_kind[kind])
        if (name, case.dtype, "fault", kind, number) in known:
            continue
        path = case.folder / "fault.gn"
        path.write_text(text)
        try:
            outputs = case.run(path, "fault.safetensors")
            changed = rms(judges.load(outputs), judges.load(case.exact))
            size = max((c / r if r > 0 else (float("inf") if c > 0 else 0)
                        for c, r in zip(changed, rounding, strict=True)), default=0)
            found = judges.judge(case, outputs)
        except (Failed, ValueError, RuntimeError) as error:
            add(what="fault", sample=name, dtype=case.dtype, kind=kind, number=number,
                failed=str(error)[:200])
            continue
        add(what="fault", sample=name, dtype=case.dtype, kind=kind, number=number, size=size, **found)


def is_right(row, judge):
    if judge == "graphnet":
        return row["graphnet"] in ("equal", "rounding", "decision")
    return row[judge]


def table(path):
    """Prints the two tables in Markdown."""
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    rows = [row for row in rows if "graphnet" in row]
    pairs = [row for row in rows if row["what"] == "pair" and row["graphnet"] != "equal"]
    seen = [row for row in rows if row["what"] == "fault" and row["size"] > 3]
    for title, some, wrong in (("pairs", pairs, False), ("faults", seen, True)):
        print(f"\n| {title} | number | " + " | ".join(judges.JUDGES) + " | blind |")
        print("|---|---:|" + "---:|" * (len(judges.JUDGES) + 1))
        groups = collections.defaultdict(list)
        for row in some:
            groups[row["kind"]].append(row)
            groups[f"all in {row['dtype']}"].append(row)
            groups["all"].append(row)
        for kind in sorted(groups, key=lambda kind: (kind.startswith("all"), kind)):
            of_kind = groups[kind]
            counts = [sum(is_right(row, judge) == wrong for row in of_kind
                          if row["graphnet"] != "blind") for judge in judges.JUDGES]
            blind = sum(row["graphnet"] == "blind" for row in of_kind)
            print(f"| {kind} | {len(of_kind)} | " + " | ".join(map(str, counts)) + f" | {blind} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphnet", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("samples", nargs="*")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--dtypes", default="f32,f16,bf16")
    parser.add_argument("--slow", type=float, default=10, help="seconds to make a case, at most")
    parser.add_argument("--table")
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.table)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
