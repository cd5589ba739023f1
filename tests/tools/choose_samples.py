#!/usr/bin/env python3
"""Chooses GraphNet samples spread evenly over sources, sizes and targets.

    choose_samples.py --count 300 FOLDER... > list

First, for every target that any sample has, the sample with the smallest inputs
that has it, as long as it is not covered; then, in turns, one sample of each source
(the folder below FOLDER) and quarter of sizes (nodes), by chance with the seed.
--any-targets leaves out the former. `graphnet stats --json` counts.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys

import in_pytorch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-bytes", type=int, default=2 << 30,
                        help="of the inputs of a sample that is not there for its targets (default: %(default)s)")
    parser.add_argument("--max-nodes", type=int, default=1 << 30, help="likewise")
    parser.add_argument("--any-targets", action="store_true", help="whatever they call")
    args = parser.parse_args()

    done = subprocess.run([args.graphnet, "stats", "--json", *map(str, args.folders)],
                          capture_output=True, text=True, check=True)
    samples = {}
    for row in json.loads(done.stdout)["samples"]:
        path = pathlib.Path(row["path"])
        targets = set(row["counts"])
        size = in_pytorch.declared_bytes(in_pytorch.read_metas(path))
        samples[path] = (size, sum(row["counts"].values()), targets)

    chosen, covered = [], set()
    rarest = collections.Counter(target for _, _, targets in samples.values() for target in targets)
    for target, _ in [] if args.any_targets else sorted(rarest.items(), key=lambda item: (item[1], item[0])):
        if target in covered:
            continue
        path = min((path for path in samples if target in samples[path][2]), key=lambda p: (samples[p][0], p))
        chosen.append(path)
        covered |= samples[path][2]

    buckets = collections.defaultdict(list)
    small = [path for path in sorted(samples)
             if samples[path][0] <= args.max_bytes and samples[path][1] <= args.max_nodes]
    sizes = sorted(samples[path][1] for path in small)
    for path in small:
        quarter = sum(samples[path][1] >= sizes[len(sizes) * i // 4] for i in (1, 2, 3))
        source = next(path.relative_to(folder).parts[0] for folder in args.folders if path.is_relative_to(folder))
        buckets[source, quarter].append(path)
    for bucket in buckets.values():
        random.Random(args.seed).shuffle(bucket)
    while len(chosen) < args.count and any(buckets.values()):
        for key in sorted(buckets):
            while buckets[key]:
                path = buckets[key].pop()
                if path not in chosen:
                    chosen.append(path)
                    break
            if len(chosen) == args.count:
                break

    print("\n".join(map(str, chosen)))
    print(f"{len(chosen)} samples of {len(samples)}, {len(samples) - len(small)} of them above {args.max_bytes} "
          f"bytes or {args.max_nodes} nodes" + ("" if args.any_targets else f"; all {len(covered)} targets in at least one"), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
