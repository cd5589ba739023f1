#!/usr/bin/env python3
"""Spells the records of samples in all ways that Python and its formatters know, and compares
what graphnet makes of them with what it makes of the samples as they are.

    tests/tools/check_spellings.py --graphnet bazel-bin/graphnet/cli/graphnet FOLDER [--samples 60]

Of each sample below FOLDER, copies are made whose weight_meta.py and input_meta.py are spelled in
another way: values in parentheses, on several lines, with comments, strings in parts and in other
quotes, lists with trailing commas. `convert` must read the same from them, and `lint --fix` must
write records that CPython reads as those of the sample that was repaired as it is.
"""

import argparse
import ast
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, Dict, List

META = ["weight_meta.py", "input_meta.py"]


def quoted(text: str, quote: str) -> str:
    assert quote not in text and "\\" not in text and "\n" not in text
    return quote + text + quote


def parts(text: str, rng: random.Random) -> List[str]:
    cut = rng.randrange(len(text) + 1)
    return [quoted(text[:cut], rng.choice("'\"")), quoted(text[cut:], rng.choice("'\""))]


def plain(value: object) -> str:
    return quoted(value, '"') if isinstance(value, str) else repr(value)


def parenthesised(value: object, source: str, rng: random.Random) -> str:
    return f"(\n        {source}\n    )"


def doubly(value: object, source: str, rng: random.Random) -> str:
    return f"(({source}))  # as it is"


def commented(value: object, source: str, rng: random.Random) -> str:
    return f"(  # name = 'x'\n        # min_val = 1\n        {source}  # std = -1\n    )"


def in_parts(value: object, source: str, rng: random.Random) -> str:
    if not isinstance(value, str) or not value:
        return source
    return "(\n        " + "\n        ".join(parts(value, rng)) + "\n    )"


def in_parts_on_a_line(value: object, source: str, rng: random.Random) -> str:
    return " ".join(parts(value, rng)) if isinstance(value, str) and value else source


def in_single_quotes(value: object, source: str, rng: random.Random) -> str:
    return quoted(value, "'") if isinstance(value, str) else source


def escaped(value: object, source: str, rng: random.Random) -> str:
    if not isinstance(value, str) or not value:
        return source
    return '"' + value[:-1] + f"\\x{ord(value[-1]):02x}" + '"'


def joined(value: object, source: str, rng: random.Random) -> str:
    return "\\\n        " + source


def lists_on_lines(value: object, source: str, rng: random.Random) -> str:
    if not isinstance(value, list) or not value or "float" in source:
        return source
    return "[\n        " + ",\n        ".join(plain(element) for element in value) + ",\n    ]"


SPELLINGS: List[Callable[[object, str, random.Random], str]] = [
    parenthesised, doubly, commented, in_parts, in_parts_on_a_line, in_single_quotes, escaped,
    joined, lists_on_lines]


def any_of_them(value: object, source: str, rng: random.Random) -> str:
    return rng.choice(SPELLINGS)(value, source, rng)


def respell(text: str, spell: Callable[[object, str, random.Random], str],
            rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)

    def source_of(node: ast.expr) -> str:  # ast's own splits the whole text each time
        whole = lines[node.lineno - 1:node.end_lineno]
        last = whole[-1].encode()[:node.end_col_offset].decode()
        whole = whole[:-1] + [last]
        return "".join([whole[0].encode()[node.col_offset:].decode(), *whole[1:]])

    records = []
    for record in ast.parse(text).body:
        fields = []
        for field in record.body:
            source = source_of(field.value)
            try:
                value = ast.literal_eval(field.value)
            except ValueError:  # float("nan")
                value = None
            fields.append(f"    {field.targets[0].id} = {spell(value, source, rng)}\n")
        records.append(f"class {record.name}:\n" + "".join(fields))
    return "\n\n".join(records)


def records_of(path: pathlib.Path) -> Dict[str, Dict[str, str]]:
    """What CPython reads, as text: nan is not equal to itself."""
    scope: Dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # pylint: disable=exec-used
    return {name: {key: repr(value) for key, value in vars(record).items() if key[0] != "_"}
            for name, record in scope.items() if isinstance(record, type)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    samples = sorted(path.parent for path in options.folder.rglob("graph_net.json"))
    random.Random(0).shuffle(samples)
    samples = samples[:options.samples]
    faults: List[str] = []
    repaired = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)

        def run(*command: object) -> None:
            done = subprocess.run([options.graphnet, *map(str, command)], capture_output=True,
                                  text=True, check=False)
            if done.returncode > 1 or "FAIL" in done.stdout:
                faults.append(f"{command[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")

        spellings = {"plain": None, "mixed": any_of_them, **{s.__name__: s for s in SPELLINGS}}
        for spelling, spell in spellings.items():
            for i, sample in enumerate(samples):
                copy = root / spelling / f"s{i}"
                shutil.copytree(sample, copy)
                for name in META:
                    if spell is not None and (copy / name).exists():
                        text = (copy / name).read_text()
                        (copy / name).write_text(respell(text, spell, random.Random(i)))
            run("convert", root / spelling, "-o", root / f"{spelling}.text", "--to", "text")
            run("lint", root / spelling, "--rule", "bn-var", "--rule", "domain", "--fix")
        for spelling in list(spellings)[1:]:
            for i, sample in enumerate(samples):
                texts = [root / f"{form}.text" / f"s{i}.gn" for form in ("plain", spelling)]
                if not all(text.exists() for text in texts) or \
                        texts[0].read_bytes() != texts[1].read_bytes():
                    faults.append(f"{sample}: read otherwise when spelled {spelling}")
                for name in META:
                    fixed = [root / form / f"s{i}" / name for form in ("plain", spelling)]
                    if not fixed[0].exists():
                        continue
                    plain_records, records = map(records_of, fixed)
                    repaired += any("min_val" in record for record in records.values())
                    if plain_records != records:
                        faults.append(f"{sample}/{name}: repaired otherwise when spelled {spelling}")
    for fault in faults[:20]:
        print(fault)
    print(f"{len(samples)} samples in {len(SPELLINGS) + 1} spellings, {repaired} files with bounds, "
          f"{len(faults)} faults")
    return 1 if faults or repaired == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
