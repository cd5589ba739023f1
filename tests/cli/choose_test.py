#!/usr/bin/env python3
"""`graphnet choose` beside a choice that looks at every sample at every step.

    tests/cli/choose_test.py GRAPHNET
"""

import collections
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

graphnet = os.path.abspath(sys.argv[1])
OPERATORS = ["relu", "tanh", "exp", "sigmoid", "abs", "neg", "cos", "erf"]


def run(code, *words):
    done = subprocess.run([graphnet, "choose", *words, "--json"], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return json.loads(done.stdout)


def write(path, operators, shape, dtype="f32"):
    """Writes a chain of operators on a tensor."""
    meta = f"{dtype}[{', '.join(map(str, shape))}]"
    lines = ["graphnet.module 1", "", f"graph @forward(%x : {meta} {{mean = 0.0, std = 1.0}}) {{"]
    value = "x"
    for place, operator in enumerate(operators):
        lines.append(f"  %v{place} = torch.{operator}(%{value}) : {meta}")
        value = f"v{place}"
    lines += [f"  return (%{value},)", "}", "end", ""]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("\n".join(lines))


def kinds_of(sample):
    operators, shape, dtype = sample
    calls = {(operator, dtype, len(shape)) for operator in operators}
    flows = {(a, dtype, len(shape), b) for a, b in zip(operators, operators[1:])}
    return calls | flows


def pairs_of(sample):
    return set(zip(sample[0], sample[0][1:]))


def check_greedy(chosen, start, sets, factors):
    """Each that was chosen had the largest gain, and among these the most new items."""
    covered = set().union(*(sets[name] for name in start))
    everything = set().union(*sets.values())
    left = [name for name in sets if name not in start]
    for name in chosen:
        if not any(sets[other] - covered for other in left) and covered == everything:
            covered = set()  # All is covered, and is to be covered once more.
        elif not any(sets[other] - covered for other in left):
            covered = set()

        def key(other):
            new = len(sets[other] - covered)
            return (new * factors[other], new, factors[other])

        best = max(key(other) for other in left)
        assert math.isclose(key(name)[0], best[0]) and key(name)[1] == best[1], (name, key(name), best)
        left.remove(name)
        covered |= sets[name]


def test_coverage_and_rarity(folder, rng):
    samples = {}
    for number in range(40):
        operators = rng.choices(OPERATORS[: rng.randint(1, 8)], k=rng.randint(1, 7))
        sample = (operators, [2] * rng.randint(1, 3), rng.choice(["f32", "f16"]))
        name = f"{folder}/all/s{number:02}.gn"
        samples[name] = sample
        write(name, *sample)
    start = sorted(samples)[:3]
    with open(f"{folder}/start.txt", "w") as file:
        file.write("# chosen before\n" + "\n".join(start) + "\n")
    kinds = {name: kinds_of(sample) for name, sample in samples.items()}
    pairs = {name: pairs_of(sample) for name, sample in samples.items()}

    # The rarities, by the formula.
    counts = collections.Counter(
        pair for operators, _, _ in samples.values() for pair in zip(operators, operators[1:]))
    sums = collections.Counter()
    for (first, _), count in counts.items():
        sums[first] += count
    num_operators = len({operator for operators, _, _ in samples.values() for operator in operators})
    rarity = {}
    for name, (operators, _, _) in samples.items():
        own = [-math.log((counts[a, b] + 0.001) / (sums[a] + 0.001 * num_operators))
               for a, b in zip(operators, operators[1:])]
        rarity[name] = sum(own) / len(own) if own else 0.0
    low, high = min(rarity.values()), max(rarity.values())
    for count, seed, started in itertools.product((1, 4, 12, 30), (0, 7), (False, True)):
        words = [f"{folder}/all", "--count", str(count), "--seed", str(seed)]
        words += ["--start", f"{folder}/start.txt"] if started else []
        begun = start if started else []
        made = run(0, *words)
        chosen = made["chosen"]
        assert len(set(chosen)) == count and not set(chosen) & set(begun), chosen
        check_greedy(chosen, begun, kinds, dict.fromkeys(samples, 1))
        covered = set().union(*(kinds[name] for name in [*chosen, *begun]))
        assert made["covered"] == len(covered) and made["items"] == len(set().union(*kinds.values()))
        assert len(covered) <= made["at_most"] <= made["items"]
        assert run(0, *words)["chosen"] == chosen
        for weight in (0, 1, 5):
            factors = {name: 1 + weight * (rarity[name] - low) / (high - low) for name in samples}
            made = run(0, *words, "--by", "rarity", "--weight", str(weight))
            check_greedy(made["chosen"], begun, pairs, factors)
            assert made["items"] == len(set().union(*pairs.values()))

    # The bound, beside the best of all choices.
    few = dict(itertools.islice(kinds.items(), 12))
    os.makedirs(f"{folder}/few", exist_ok=True)
    for name in few:
        os.link(name, f"{folder}/few/{os.path.basename(name)}")
    for count in (1, 2, 3):
        best = max(len(set().union(*some)) for some in itertools.combinations(few.values(), count))
        made = run(0, f"{folder}/few", "--count", str(count))
        assert (1 - 1 / math.e) * best <= made["covered"] <= best <= made["at_most"], (best, made)


def test_order_and_seed(folder):
    """What is chosen depends neither on the order of the inputs nor on where they lie."""
    names = sorted(os.listdir(f"{folder}/all"))
    os.makedirs(f"{folder}/moved/all")
    for name in names:
        os.link(f"{folder}/all/{name}", f"{folder}/moved/all/{name}")
    for by in ("coverage", "rarity", "buckets"):
        chosen = run(0, f"{folder}/all", "--count", "9", "--by", by)["chosen"]
        one_by_one = run(0, *(f"{folder}/all/{name}" for name in reversed(names)), "--count", "9",
                         "--by", by)["chosen"]
        moved = run(0, f"{folder}/moved/all", "--count", "9", "--by", by)["chosen"]
        for other in (one_by_one, moved):
            assert [*map(os.path.basename, other)] == [*map(os.path.basename, chosen)], by
    ties = {tuple(run(0, f"{folder}/all", "--count", "9", "--by", "buckets", "--seed", str(seed))["chosen"])
            for seed in range(5)}
    assert len(ties) > 1


def test_buckets(folder):
    # 20 samples of one bucket (sizes 16 to 255 are alike), and others that differ in one thing each.
    for number in range(20):
        write(f"{folder}/buckets/a{number:02}.gn", ["relu", "tanh"], [16 + number])
    write(f"{folder}/buckets/b.gn", ["relu", "tanh"], [256])
    write(f"{folder}/buckets/c.gn", ["relu", "tanh"], [16], "f16")
    write(f"{folder}/buckets/d.gn", ["relu", "tanh"], [16, 1])
    write(f"{folder}/buckets/e.gn", ["tanh", "relu"], [16])
    write(f"{folder}/buckets/f.gn", ["tanh", "relu"], [15])
    made = run(0, f"{folder}/buckets", "--count", "100", "--by", "buckets")
    first = [os.path.basename(name)[0] for name in made["chosen"]]
    # The heads of all six buckets, those of both sequences in turn; then the 17th sample of the large one.
    assert sorted(first[:6]) == ["a", "b", "c", "d", "e", "f"] and first[6:] == ["a"], first
    assert {"e", "f"} & set(first[:2]) and set("abcd") & set(first[:2]), first
    assert (made["items"], made["covered"]) == (6, 6), made
    every = run(0, f"{folder}/buckets", "--count", "100", "--by", "buckets", "--every", "4")
    assert len(every["chosen"]) == 6 + 4, every["chosen"]
    assert len(run(0, f"{folder}/buckets", "--count", "3", "--by", "buckets")["chosen"]) == 3


def test_copies_and_faults(folder):
    os.makedirs(f"{folder}/mixed")
    os.link(f"{folder}/buckets/b.gn", f"{folder}/mixed/b.gn")
    with open(f"{folder}/mixed/broken.gn", "w") as file:
        file.write("graphnet.module 1\n\ngraph @forward(%x) {\n  return (%y,)\n}\nend\n")
    made = run(2, f"{folder}/mixed", "--count", "5", "-o", f"{folder}/out")
    assert made["failed"] == 1 and made["refused"][0]["path"].endswith("broken.gn"), made
    assert os.listdir(f"{folder}/out") == ["b.gn"], os.listdir(f"{folder}/out")
    assert "has files already" in run(2, f"{folder}/mixed", "--count", "5", "-o", f"{folder}/out")["error"]["message"]
    done = subprocess.run([graphnet, "choose", f"{folder}/buckets", "--count", "2"], capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 2 and "2 of 25 samples chosen, " in done.stderr, done
    done = subprocess.run([graphnet, "choose", f"{folder}/mixed", "--count", "2"], capture_output=True, text=True)
    assert "failed 1: %y is not defined" in done.stderr, done.stderr


with tempfile.TemporaryDirectory() as scratch:
    test_coverage_and_rarity(scratch, random.Random(1))
    test_order_and_seed(scratch)
    test_buckets(scratch)
    test_copies_and_faults(scratch)
print("PASSED")
