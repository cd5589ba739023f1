#!/usr/bin/env python3
"""Counts variances without a bound in Python, and has graphnet lint find and mend the same ones.

    check_lint.py FOLDER

FOLDER has GraphNet samples. A variance is what ast finds as the third argument of batch_norm in
model.py, followed through `a = b`; it is without a bound if its record in weight_meta.py has no
min_val of at least 0. `graphnet lint --rule bn-var --json` must find these and no others. Then a copy
of the samples is mended by --fix: in each file, the one line that a record gets must be all that
differs, and nothing may be found any more.
"""

import argparse
import ast
import difflib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def variances_of(model):
    """The arguments of forward that batch_norm has as its third."""
    found = set()
    (forward,) = [node for node in ast.walk(ast.parse(model)) if isinstance(node, ast.FunctionDef)]
    origin = {argument.arg: argument.arg for argument in forward.args.args}
    for statement in forward.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "batch_norm":
                if isinstance(node.args[2], ast.Name) and origin.get(node.args[2].id):
                    found.add(origin[node.args[2].id])
        if isinstance(statement, ast.Assign):
            value = origin.get(statement.value.id) if isinstance(statement.value, ast.Name) else None
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    origin[target.id] = value
    return found


def bounds_of(meta):
    """min_val of each record."""
    bounds = {}
    for record in ast.parse(meta).body:
        if isinstance(record, ast.ClassDef):
            fields = {line.targets[0].id: line.value for line in record.body}
            minimum = fields.get("min_val")
            bounds[ast.literal_eval(fields["name"])] = None if minimum is None else ast.literal_eval(minimum)
    return bounds


def unbounded(sample):
    model = (sample / "model.py").read_text()
    if "batch_norm" not in model:
        return set()
    bounds = bounds_of((sample / "weight_meta.py").read_text())
    return {name for name in variances_of(model) if bounds[name] is None or bounds[name] < 0}


def lint(graphnet, folder, *flags):
    done = subprocess.run([graphnet, "lint", folder, "--rule", "bn-var", "--json", *flags], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    found = {}
    for sample in json.loads(done.stdout)["samples"]:
        names = {finding["message"].split(": ")[-1].split()[0] for finding in sample.get("findings", [])}
        if names:
            found[pathlib.Path(sample["path"]).relative_to(folder)] = names
        if "error" in sample:
            print(f"not read: {sample['path']}")
    return found


def added_lines(before, after):
    """What was added; None if anything else was done."""
    lines = list(difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True)))
    return None if any(line[0] in "-?" for line in lines) else [line[2:].strip() for line in lines if line[0] == "+"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    args = parser.parse_args()
    samples = sorted(path.parent.relative_to(args.folder) for path in args.folder.rglob("model.py"))
    expected = {sample: names for sample in samples if (names := unbounded(args.folder / sample))}
    print(f"{len(samples)} samples: {sum(map(len, expected.values()))} variances without a bound in {len(expected)}")
    for sample, names in expected.items():
        print(f"  {sample}: {len(names)}")
    wrong = 0
    if (found := lint(args.graphnet, args.folder)) != expected:
        for sample in sorted({*found, *expected}):
            difference = found.get(sample, set()) ^ expected.get(sample, set())
            if difference:
                print(f"WRONG {sample}: graphnet and Python differ in {sorted(difference)[:5]}")
        wrong += 1
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch)
        for sample in expected:
            shutil.copytree(args.folder / sample, copy / sample)
        if expected:
            lint(args.graphnet, copy, "--fix")
            if left := lint(args.graphnet, copy):
                print(f"WRONG left after --fix: {left}")
                wrong += 1
        for sample, names in expected.items():
            for file in sorted((args.folder / sample).iterdir()):
                before, after = file.read_bytes(), (copy / sample / file.name).read_bytes()
                added = [] if before == after else added_lines(before.decode(), after.decode())
                want = ["min_val = 0"] * len(names) if file.name == "weight_meta.py" else []
                if added != want or (want and unbounded(copy / sample)):
                    print(f"WRONG {sample}/{file.name}: {added}")
                    wrong += 1
    print("as Python counts, and mended" if not wrong else f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
