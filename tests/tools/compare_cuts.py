#!/usr/bin/env python3
"""Cuts the same programs in several forms, and compares the pieces.

    tests/tools/compare_cuts.py --graphnet bazel-bin/graphnet/cli/graphnet [--quick] FILE.pt2…

Each program is cut as it is, and as the protobuf sample and the GraphNet folder made of it; by
each scheme; the pieces written as folders and as protobuf. All have to have the same number of
operators, and pieces of the same normal forms. Prints what differs, and a line of counts at the
end; the exit code is 1 if anything differs.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

# By module: a folder keeps no module paths, and the names of its parameters say only some.
SCHEMES = {
    "--pieces 4": ("pt2", "pb", "folder"),
    "--single-op": ("pt2", "pb", "folder"),
    "--every 7": ("pt2", "pb", "folder"),
    "--blocks": ("pt2", "pb", "folder"),
    "--balanced 3": ("pt2", "pb", "folder"),
    "--by-module 2": ("pt2", "pb"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--quick", action="store_true", help="two schemes only")
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    graphnet = str(pathlib.Path(args.graphnet).resolve())

    def run(*words) -> str:
        made = subprocess.run([graphnet, *map(str, words)], capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {made.stderr.strip()[:300]}")
        return made.stdout

    equal = compared = 0
    for program in args.programs:
        differs = []
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            try:
                forms = {"pt2": program, "pb": work / "form.pb", "folder": work / "form"}
                for form in ("pb", "folder"):
                    run("convert", program, forms[form])
                for scheme, whose in list(SCHEMES.items())[:2 if args.quick else None]:
                    hashes = {}
                    has_no_paths = False
                    for form in whose:
                        for pieces in ("graphnet", "protobuf"):
                            if has_no_paths:
                                break
                            out = work / f"{form}_{pieces}"
                            try:
                                run("decompose", forms[form], *scheme.split(), "--to", pieces, "-o", out)
                            except RuntimeError as error:
                                has_no_paths = "no operator has a module path" in str(error)
                                if not has_no_paths:
                                    raise
                                break
                            lines = [line.split() for line in
                                     run("hash", "--normal-form", out).splitlines()]
                            hashes[form, pieces] = {pathlib.Path(path).stem: found
                                                    for found, path in lines}
                            run("validate", forms[form], out)
                            subprocess.run(["rm", "-rf", out], check=True)
                    if has_no_paths:
                        continue
                    expected = hashes["pt2", "graphnet"]
                    for which, found in hashes.items():
                        if found == expected:
                            continue
                        where = sorted(name for name in expected.keys() | found.keys()
                                       if expected.get(name) != found.get(name))
                        differs.append(f"{scheme}: {' as '.join(which)}: {len(found)} pieces, of .pt2 "
                                       f"{len(expected)}; those that differ: {' '.join(where[:5])}")
            except RuntimeError as error:
                differs.append(str(error))
        compared += 1
        equal += not differs
        for line in differs:
            print(f"{program.name}: {line}")
        if not differs:
            print(f"{program.name}: equal", flush=True)
    print(f"{equal} of {compared} programs are cut alike in all forms")
    return 0 if equal == compared else 1


if __name__ == "__main__":
    sys.exit(main())
