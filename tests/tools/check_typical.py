#!/usr/bin/env python3
"""Compares `graphnet decompose --typical` over GraphNet samples with a count of every stretch.

    tests/tools/check_typical.py --graphnet bazel-bin/graphnet/cli/graphnet SAMPLES [--count 100]

The operators are read from model.py by Python's parser: a statement that assigns the value of a call, an
operator, an index or an attribute is one. Each name in Python must always be the same name in what
graphnet lists, of which the names of all operators are asked as sequences of one operator.
"""

import argparse
import ast
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NO_OPERATORS = (ast.Name, ast.Constant, ast.Tuple, ast.List)


def operators_of(file):
    """The names of the operators of forward, as Python spells them."""
    names = []
    [forward] = [node for node in ast.walk(ast.parse(file.read_text()))
                 if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    for statement in forward.body:
        value = statement.value if isinstance(statement, (ast.Assign, ast.Expr, ast.AugAssign)) else None
        if isinstance(statement, ast.AugAssign):
            names.append(f"i{type(statement.op).__name__}")
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            names.append("setitem")
        elif value is None or isinstance(value, NO_OPERATORS):
            continue
        elif isinstance(value, ast.Call):
            names.append(ast.unparse(value.func).rsplit(".", 1)[-1] if isinstance(value.func, ast.Attribute)
                         else ast.unparse(value.func))
        else:
            names.append(type(getattr(value, "op", value)).__name__)
            if isinstance(value, ast.Compare):
                names[-1] = type(value.ops[0]).__name__
    return names


def stretches(texts, least, most, count, samples):
    """The sequences that occur so often, and lie in no longer one that occurs as often."""
    found = {}
    for length in range(least, most + 1):
        seen = {}
        for place, text in enumerate(texts):
            for start in range(len(text) - length + 1):
                one = seen.setdefault(text[start : start + length], [0, set(), set(), set()])
                one[0] += 1
                one[1].add(place)
                one[2].add(text[start - 1] if start else place)
                one[3].add(text[start + length] if start + length < len(text) else place)
        for names, (times, where, before, behind) in seen.items():
            if (times >= count and len(where) >= samples and len(before) > 1
                    and (len(behind) > 1 or length == most)):
                found[names] = (times, len(where))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--count", type=int, default=100)
    args = parser.parse_args()
    folders = sorted(file.parent for file in args.samples.rglob("model.py"))
    folders = random.Random(0).sample(folders, min(args.count, len(folders)))
    with tempfile.TemporaryDirectory() as scratch:
        listed = pathlib.Path(scratch, "list.txt")
        listed.write_text("".join(f"{folder.absolute()}\n" for folder in folders))

        def search(*words):
            done = subprocess.run([args.graphnet, "decompose", "--list", str(listed), "--typical", "--limit", "0",
                                   "--json", *words], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        # Graphnet's name of each of Python's: from the first place of each operator that recurs.
        python = {str(folder.absolute()): operators_of(folder / "model.py") for folder in folders}
        pairs = collections.defaultdict(set)
        for one in search("--min-ops", "1", "--min-samples", "1")["sequences"]:
            for name, of_python in zip(one["names"], python[one["path"]][one["start"] : one["end"]]):
                pairs[of_python].add(name)
        unclear = {name: words for name, words in pairs.items() if len(words) > 1}
        assert not unclear, unclear
        letters, unlisted = {}, set()

        def letter(name):
            if name not in pairs:  # It stands in no first place: the same word, or one in place.
                unlisted.add(name)
            meaning = next(iter(pairs[name])) if name in pairs else name.removesuffix("_")
            return letters.setdefault(meaning, chr(0x4E00 + len(letters)))

        texts = ["".join(map(letter, python[str(folder.absolute())])) for folder in folders]
        print(f"{len(pairs)} names in first places, and elsewhere: {' '.join(sorted(unlisted)) or 'none'}")
        total = 0
        for least, most, count, samples in ((2, 64, 2, 2), (3, 20, 10, 5)):
            made = search("--min-ops", str(least), "--max-ops", str(most), "--min-count", str(count),
                          "--min-samples", str(samples))
            got = {"".join(letters.get(name, "?") for name in one["names"]): (one["occurrences"], one["samples"])
                   for one in made["sequences"]}
            wanted = stretches(texts, least, most, count, samples)
            assert len(got) == made["found"] == len(made["sequences"]), (len(got), made["found"])
            missing = [names for names in wanted if wanted[names] != got.get(names)]
            more = [names for names in got if names not in wanted]
            print(f"{len(folders)} samples, {sum(map(len, texts))} operators, {least} to {most} of them, {count} times "
                  f"in {samples} samples: {len(wanted)} counted, {len(got)} found, {len(missing)} missing, {len(more)} more")
            total += len(missing) + len(more)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
