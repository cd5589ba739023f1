#!/usr/bin/env python3
"""`graphnet decompose --typical`, `--write-ranges` and files of ranges, beside counting each stretch.

    tests/cli/typical_test.py GRAPHNET
"""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile

graphnet = os.path.abspath(sys.argv[1])
OPERATORS = ["relu", "tanh", "exp", "sigmoid"]


def run(code, *words):
    done = subprocess.run([graphnet, *words, "--json"], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def write(path, operators):
    lines = ["graphnet.module 1", "", "graph @forward(%x : f32[2]@cpu {mean = 0.0, std = 1.0}) {"]
    value = "x"
    for place, operator in enumerate(operators):
        lines.append(f"  %v{place} = torch.{operator}(%{value}) : f32[2]@cpu")
        value = f"v{place}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("\n".join([*lines, f"  return (%{value},)", "}", "end", ""]))


def stretches(texts, least, most, count, samples):
    """All sequences that occur so often and lie in no longer one that occurs as often."""
    seen = collections.defaultdict(lambda: [0, set(), set(), set()])
    for name, text in texts.items():
        for start in range(len(text)):
            for end in range(start + least, min(len(text), start + most) + 1):
                one = seen[tuple(text[start:end])]
                one[0] += 1
                one[1].add(name)
                one[2].add(text[start - 1] if start else name)
                one[3].add(text[end] if end < len(text) else name)
    return {names: (times, len(where)) for names, (times, where, before, behind) in seen.items()
            if times >= count and len(where) >= samples and len(before) > 1
            and (len(behind) > 1 or len(names) == most)}


def hashes(folder):
    rows = subprocess.run([graphnet, "hash", "--metas", folder], capture_output=True, text=True, check=True).stdout
    return sorted((os.path.relpath(row[66:], folder), row[:64]) for row in rows.splitlines())


def check(folder):
    rng = random.Random(5)
    texts = {}
    block = rng.choices(OPERATORS, k=6)
    for number in range(12):
        text = rng.choices(OPERATORS[: rng.randint(1, 4)], k=rng.randint(1, 12))
        text += block * rng.randint(0, 3)
        path = f"{folder}/all/part{number % 2}/s{number:02}.gn"
        texts[path] = text
        write(path, text)
    for least, most, count, samples in ((2, 64, 2, 2), (3, 9, 4, 2), (2, 5, 2, 1), (6, 6, 3, 3)):
        made = run(0, "decompose", f"{folder}/all", "--typical", "--limit", "0", "--min-ops", str(least),
                   "--max-ops", str(most), "--min-count", str(count), "--min-samples", str(samples))
        got = {tuple(one["names"]): (one["occurrences"], one["samples"]) for one in made["sequences"]}
        wanted = stretches(texts, least, most, count, samples)
        assert got == wanted and made["found"] == len(wanted), set(got.items()) ^ set(wanted.items())
        for one in made["sequences"]:
            assert texts[one["path"]][one["start"] : one["end"]] == one["names"], one
            assert one["operators"] == len(one["names"]) == one["end"] - one["start"]
        products = [one["occurrences"] * one["operators"] for one in made["sequences"]]
        assert products == sorted(products, reverse=True)
    assert not os.path.exists(f"{folder}/out")

    # The pieces are what the ranges say, and what the files of ranges say.
    words = ["decompose", f"{folder}/all", "--typical", "--min-ops", "4"]
    made = run(0, *words, "-o", f"{folder}/out", "--write-ranges", f"{folder}/ranges")
    run(0, *words, "--write-ranges", f"{folder}/alone")
    everything = {}
    for path, text in texts.items():
        name = os.path.relpath(path, f"{folder}/all")[:-3]
        with open(f"{folder}/alone/{name}/subgraph_ranges.json") as file:
            alone = json.load(file)
        assert alone["total_length"] == len(text) and alone["model_name"] == os.path.basename(name), alone
        everything[name] = alone
        end = 0
        for start, stop in alone["subgraph_ranges"]:
            assert end <= start < stop <= len(text) and stop - start >= 4, alone
            end = stop
    with open(f"{folder}/alone/subgraph_ranges.json") as file:
        assert json.load(file) == everything
    with open(f"{folder}/alone/split_results.json") as file:
        splits = json.load(file)
    for name, of_sample in everything.items():
        ends = sorted({end for pair in of_sample["subgraph_ranges"] for end in pair})
        assert splits[name] == {"model_name": os.path.basename(name), "split_positions": ends,
                                "total_length": of_sample["total_length"]}, name
    cut = {name: of_sample for name, of_sample in everything.items() if of_sample["subgraph_ranges"]}
    assert made["num_ranges"] == sum(len(of_sample["subgraph_ranges"]) for of_sample in cut.values()) > 5
    pieces = hashes(f"{folder}/out")
    assert len(pieces) == made["num_ranges"]
    for name in cut:
        with open(f"{folder}/ranges/{name}/subgraph_ranges.json") as file:
            assert json.load(file) == everything[name]
    with open(f"{folder}/list.txt", "w") as file:
        file.writelines(f"{name}.gn\n" for name in cut)
    for number, ranges in enumerate(("ranges", "ranges/subgraph_ranges.json")):
        run(0, "decompose", f"{folder}/all", "--list", f"{folder}/list.txt", "--ranges", f"{folder}/{ranges}",
            "-o", f"{folder}/again{number}")
        assert hashes(f"{folder}/again{number}") == pieces, ranges
    # Positions have no gaps, so there are more pieces.
    run(0, "decompose", f"{folder}/all", "--list", f"{folder}/list.txt", "--ranges",
        f"{folder}/ranges/split_results.json", "-o", f"{folder}/whole")
    name = next(iter(cut))
    sample, whole = f"{folder}/all/{name}.gn", f"{folder}/whole/{name}_decomposed"
    validated = subprocess.run([graphnet, "validate", sample, whole], capture_output=True, text=True)
    assert validated.returncode == 0, validated.stdout + validated.stderr

    # A sample that cannot be read, and one without ranges, do not end the others.
    with open(f"{folder}/all/broken.gn", "w") as file:
        file.write("graphnet.module 1\n\ngraph @forward(%x) {\n  return (%y,)\n}\nend\n")
    made = run(2, *words, "-o", f"{folder}/out2")
    assert [os.path.basename(one["path"]) for one in made["refused"]] == ["broken.gn"], made["refused"]
    assert hashes(f"{folder}/out2") == pieces
    made = run(2, "decompose", f"{folder}/all", "--ranges", f"{folder}/ranges", "-o", f"{folder}/out3")
    assert made["failed"] == 1 + len(texts) - len(cut), made["failed"]
    assert hashes(f"{folder}/out3") == pieces

    # Two samples of one name, and ranges that are none.
    os.makedirs(f"{folder}/other")
    os.link(next(iter(texts)), f"{folder}/other/x.gn")
    os.makedirs(f"{folder}/third")
    os.link(next(iter(texts)), f"{folder}/third/x.gn")
    made = run(2, "decompose", f"{folder}/other", f"{folder}/third", "--typical")
    assert "are both called x" in made["error"]["message"], made
    write(f"{folder}/ten.gn", ["relu"] * 10)
    for ranges, message in (("[[0, 8], [4, 9]]", "overlaps or precedes"), ("[[4, 8], [0, 2]]", "overlaps or precedes"),
                            ("[[5, 3]]", "is not a range of operators"), ("[[0, 11]]", "11"), ("[[0]]", "is not a pair"),
                            ('"a"', "not a list of pairs")):
        with open(f"{folder}/bad.json", "w") as file:
            file.write(f'{{"subgraph_ranges": {ranges}}}')
        made = run(2, "decompose", f"{folder}/ten.gn", "--ranges", f"{folder}/bad.json", "--dry-run")
        assert message in made["error"]["message"], (ranges, made)


with tempfile.TemporaryDirectory() as scratch:
    check(scratch)
print("PASSED")
