#!/usr/bin/env python3
"""Compares the breaks that `graphnet extract --foretell` names with those that a run has.

    compare_foretold.py                           # programs of tests/extract, models of compare_stitched
    compare_foretold.py --archives FOLDER...      # also NAME.pt beside NAME.json, as export_zoo.py writes them
    compare_foretold.py --train                   # also the scripted ones of them in training mode

A break is a place (file, line, column) and a reason; one that a run meets again counts once. Of the
foretold ones

    precision  counts those that are called certain ("always"): how many of them the run had
    recall     counts those that the run had: how many of them were foretold, certain or not
    all        is the precision if those under a condition count too, though the run may have gone
               the other way

Programs whose run ends with an error, or that this PyTorch cannot script, are named and left out. The
exit status is 0 if precision and recall are at least 90 % in each group and over all reasons.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

import compare_stitched as stitched

LEAST = 0.9
ROOT = pathlib.Path(__file__).resolve().parents[2]


def graphnet(tool, *words):
    """The document, or the line that says why there is none."""
    done = subprocess.run([tool, "extract", *words, "--json"], capture_output=True, text=True, timeout=600)
    return (json.loads(done.stdout), None) if done.returncode == 0 else (None, done.stderr.strip())


def key(row):
    return row["reason"], row.get("file", ""), row.get("line", 0), row.get("column", 0)


class Count:
    """Breaks of programs, by how they were foretold and what the run had."""

    def __init__(self):
        self.programs = self.certain = self.certain_had = self.told = self.told_had = self.had = 0

    def add(self, certain, told, had):
        self.programs += 1
        self.certain += len(certain)
        self.certain_had += len(certain & had)
        self.told += len(told)
        self.told_had += len(told & had)
        self.had += len(had)

    @staticmethod
    def sum(counts):
        total = Count()
        for count in counts:
            for name, number in vars(count).items():
                setattr(total, name, getattr(total, name) + number)
        return total

    @staticmethod
    def rate(part, whole):
        return part / whole if whole else 1.0

    def precision(self):
        return self.rate(self.certain_had, self.certain)

    def recall(self):
        return self.rate(self.told_had, self.had)

    def row(self, name):
        percent = [f"{100 * r:.1f} %" for r in
                   (self.precision(), self.recall(), self.rate(self.told_had, self.told))]
        return [name, str(self.programs), str(self.had), str(self.certain), str(self.told - self.certain), *percent]


def samples(_):
    for path in sorted((ROOT / "samples").glob("*.pt")):
        yield path.stem, path, [], []


def in_training(programs, folder):
    for name, path, words, options in programs:
        if path is None:
            continue
        inputs = {"graphnet_inputs": ""}
        module = torch.jit.load(str(path), _extra_files=inputs)
        if not hasattr(module, "training"):
            continue
        torch.jit.save(module.train(), str(folder / f"{name}.pt"), _extra_files=inputs)
        yield name, folder / f"{name}.pt", words, options


def compare(tool, programs, group, by_reason, folder, verbose):
    for name, path, words, options in programs:
        if path is None:
            continue
        if "--cond" in options or "--dynamic" in options:  # Other breaks, by what is asked for.
            continue
        inputs = [word for spec in words for word in ("--input", spec)]
        ran, why = graphnet(tool, str(path), "-o", str(folder / "out"), *inputs, *options)
        if ran is None:
            print(f"  {name} is left out: {why.splitlines()[-1][:150] if why else ''}")
            continue
        foretold, why = graphnet(tool, str(path), "--foretell", *options)
        if foretold is None:
            sys.exit(f"{name}: {why}")
        had = {key(step) for step in ran["steps"] if "reason" in step}
        told = {key(row) for row in foretold["breaks"]}
        certain = {key(row) for row in foretold["breaks"] if row["always"]}
        group.add(certain, told, had)
        for reason in sorted({k[0] for k in told | had}):
            of = [{k for k in s if k[0] == reason} for s in (certain, told, had)]
            by_reason[reason].add(*of)
        if verbose:
            for what, rows in (("NOT HAD", certain - had), ("not foretold", had - told)):
                for row in sorted(rows):
                    print(f"  {name}: {what}: {row[0]} at {row[1]}:{row[2]}:{row[3]}")


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default=str(ROOT / "bazel-bin/graphnet/cli/graphnet"))
    parser.add_argument("--archives", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--train", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)

    groups, by_reason = {}, collections.defaultdict(Count)
    with tempfile.TemporaryDirectory() as scratch:
        def folder(name):
            made = pathlib.Path(scratch) / re.sub(r"\W", "_", name)
            made.mkdir()
            return made

        sources = {
            "tests/extract/programs.txt": lambda f: stitched.programs(f),
            "tests/extract/foretold.txt": lambda f: stitched.programs(f, "tests/extract/foretold.txt"),
            "models of compare_stitched.py": lambda f: stitched.models(f, None),
            "samples": samples,
        }
        for path in options.archives:
            sources[path.name] = lambda _, path=path: stitched.archives(path)
        for name, programs in sources.items():
            modes = [name] + ([f"{name}, in training mode"] if options.train and ".txt" not in name else [])
            for mode in modes:
                print(mode)
                made = programs(folder(mode))
                if mode != name:
                    made = in_training(made, folder(mode + " saved"))
                group = groups[mode] = Count()
                compare(options.graphnet, made, group, by_reason, folder(mode + " out"), options.verbose)
    head = ["programs", "number", "breaks of runs", "always", "conditional", "precision", "recall", "all"]
    table(head, [count.row(name) for name, count in groups.items() if count.programs] +
          [Count.sum(groups.values()).row("together")])
    head[0] = "reason"
    table(head, [count.row(f"`{name}`") for name, count in sorted(by_reason.items())])
    counts = [*groups.values(), *by_reason.values()]
    return 0 if all(c.precision() >= LEAST and c.recall() >= LEAST for c in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
