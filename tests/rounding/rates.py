"""Measures how often the verdict on rounding is wrong, beside two other judges.

  python rates.py GRAPHNET OUT SAMPLE... [--pairs] [--faults N] [--dtypes f32,f16,bf16] [--compilers NAMES]
  python rates.py --table OUT
  python rates.py --check OUT

Each pair differs by rounding alone: a judge that calls it wrong gives a false alarm. Each fault changes
the program. If its result is more than three times as far from the result in float64 as the farthest
result of the program itself and of its pairs, a judge that calls it right misses it. Results are lines of
OUT, and what OUT has is not measured again. --check fails if graphnet gives one false alarm, or misses one fault.
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

import compilers
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


def pairs_of(case, compiled):
    """(kind, a function that returns a file of outputs) for each way to round otherwise."""
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
    for ranks in (2, 4):
        yield f"sharded over {ranks}", lambda r=ranks: compilers.sharded(case, r)
    for name, compiler in compiled.items():
        if case.dtype == "f32" or name in compilers.TAKE_NARROW:
            yield name, lambda c=compiler: c.run(case)


def measure(arguments):
    out = pathlib.Path(arguments.out)
    known = collections.defaultdict(dict)
    for line in out.read_text().splitlines() if out.exists() else ():
        row = json.loads(line)
        known[row["sample"], row["dtype"]][row["what"], row["kind"], row.get("number")] = row
    with out.open("a") as file, tempfile.TemporaryDirectory() as scratch:
        compiled = {name: compilers.Compiler(name, pathlib.Path(scratch) / name.replace(" ", "_"))
                    for name in arguments.compilers.split(",") if name}
        for sample in arguments.samples:
            for dtype in arguments.dtypes.split(","):
                folder = pathlib.Path(scratch) / "case"
                shutil.rmtree(folder, ignore_errors=True)
                name = "/".join(pathlib.Path(sample).parts[-2:])
                rows = known[name, dtype]

                def add(**row):
                    row = {"sample": name, "dtype": dtype, **row}
                    rows[row["what"], row["kind"], row.get("number")] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                if ("slow", "", None) in rows:
                    continue
                try:
                    begin = time.time()
                    case = Case(arguments.graphnet, sample, dtype, folder)
                    if time.time() - begin > arguments.slow:
                        raise Failed("it is slow")
                except (Failed, StopIteration) as error:
                    add(what="slow", kind="", failed=str(error)[:200])
                    continue
                measure_case(case, arguments, rows, compiled, add)


def measure_case(case, arguments, rows, compiled, add):
    exact = judges.load(case.exact)
    if arguments.pairs:
        for kind, run in pairs_of(case, compiled):
            if ("pair", kind, None) in rows:
                continue
            try:
                outputs = run()
                found = judges.judge(case, outputs)
                add(what="pair", kind=kind, error=rms(judges.load(outputs), exact), **found)
            except (Failed, ValueError, RuntimeError, KeyError) as error:
                add(what="pair", kind=kind, failed=str(error)[:200])
    # The error of a few elements may be nearly 0 by chance, so all ways to round count, and half a unit.
    own = judges.load(case.outputs)
    rounding = rms(own, exact)
    errors = [row["error"] for row in rows.values() if row["what"] == "pair" and "error" in row]
    errors.append([UNITS[case.dtype] / 2 * size for size in rms(own, [x * 0 for x in own])])
    for error in errors:
        rounding = [max(a, b) for a, b in zip(rounding, error, strict=True)]
    by_kind = collections.defaultdict(list)
    for kind, text in faults.faults_of(case.text, case.dtype):
        by_kind[kind].append(text)
    chooser = random.Random(case.sample + case.dtype)
    kinds = sorted(by_kind)
    chooser.shuffle(kinds)
    for number in range(arguments.faults if kinds else 0):
        kind = kinds[number % len(kinds)]
        text = chooser.choice(by_kind[kind])
        if ("fault", kind, number) in rows:
            continue
        path = case.folder / "fault.gn"
        path.write_text(text)
        try:
            outputs = case.run(path, "fault.safetensors")
            changed = rms(judges.load(outputs), exact)
            size = max((c / r if r > 0 else (float("inf") if c > 0 else 0)
                        for c, r in zip(changed, rounding, strict=True)), default=0)
            add(what="fault", kind=kind, number=number, size=size, **judges.judge(case, outputs))
        except (Failed, ValueError, RuntimeError, KeyError) as error:
            add(what="fault", kind=kind, number=number, failed=str(error)[:200])


def is_right(row, judge):
    if judge == "graphnet":
        return row["graphnet"] in ("equal", "rounding", "decision")
    return row[judge]


def counted(path):
    """The pairs that differ, and the faults that change a result by more than its rounding."""
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    rows = [row for row in rows if "graphnet" in row]
    pairs = [row for row in rows if row["what"] == "pair" and row["graphnet"] != "equal"]
    seen = [row for row in rows if row["what"] == "fault" and row["size"] > 3]
    return pairs, seen


def table(path):
    """Prints the two tables in Markdown."""
    pairs, seen = counted(path)
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


def check(path):
    """Returns the exit code: 1 if graphnet is wrong once, or nothing was measured."""
    pairs, seen = counted(path)
    wrong = [row for row in pairs if row["graphnet"] in ("beyond", "other_form")]
    wrong += [row for row in seen if is_right(row, "graphnet")]
    for row in wrong:
        print(f"{row['sample']} {row['dtype']} {row['kind']}: {row['graphnet']}, {row['ratio']}")
    print(f"{len(pairs)} pairs, {len(seen)} faults, {len(wrong)} wrong")
    return 1 if wrong or not pairs or not seen else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphnet", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("samples", nargs="*")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--dtypes", default="f32,f16,bf16")
    parser.add_argument("--slow", type=float, default=10, help="seconds to make a case, at most")
    parser.add_argument("--compilers", default=",".join(compilers.COMPILERS), help="that pairs have")
    parser.add_argument("--table")
    parser.add_argument("--check")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.check)
    if arguments.table:
        table(arguments.table)
    else:
        measure(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
