"""How much of a folder of samples the pass to-paddle writes in Paddle's terms.

  graphnet opt SAMPLES --passes=stabilize,revert-vmap,expand-vmap,to-paddle --json > opt.json
  paddle_coverage.py opt.json [success.txt failed.txt]

Prints how many calls and samples are covered and what is left, and writes the samples that
are covered, and those that are not, one path a line.
"""

import collections
import json
import pathlib
import sys


def coverage(sample):
    """(calls in Paddle's terms, {what is left: calls}) of a sample."""
    covered, left = 0, collections.Counter()
    for step in sample.get("passes", []):
        if not step["pass"].startswith("to-paddle"):
            continue
        for note in step["notes"]:
            if note["what"].startswith("left "):
                left[note["what"][len("left "):]] += note["count"]
            else:
                covered += note["count"]
    return covered, left


def main():
    samples = json.loads(pathlib.Path(sys.argv[1]).read_text())["samples"]
    covered, left, in_samples = 0, collections.Counter(), collections.Counter()
    success, failed = [], []
    for sample in samples:
        of_it, left_of_it = coverage(sample)
        covered += of_it
        left.update(left_of_it)
        in_samples.update(left_of_it.keys())
        (success if of_it and not left_of_it else failed).append(sample["path"])
    total = covered + left.total()
    print(f"calls {covered} of {total}: {100 * covered / total:.2f} %")
    print(f"samples {len(success)} of {len(samples)}: {100 * len(success) / len(samples):.1f} %")
    for what, count in left.most_common():
        print(f"{count:6} in {in_samples[what]:4} samples: {what}")
    for path, names in zip(sys.argv[2:], (success, failed)):
        pathlib.Path(path).write_text("".join(name + "\n" for name in names))


if __name__ == "__main__":
    main()
