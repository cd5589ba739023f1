#!/usr/bin/env python3
"""Exports a corpus as Parquet, and has the packages that others use read it.

    PY tests/tools/check_corpus_export.py CORPUS OUT

PY has the wheel with pylance and pyarrow, and the packages datasets and mlcroissant. OUT is a new
folder. `datasets.load_dataset` must have each graph with its licences, mlcroissant must take
croissant.json without an error and read the same rows by it, and huggingface_hub, which comes with
datasets, must read the head of the card.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
CACHE = tempfile.TemporaryDirectory()
os.environ["HF_HOME"] = CACHE.name

import datasets  # noqa: E402
import huggingface_hub  # noqa: E402
import mlcroissant  # noqa: E402

import graphnet_ir  # noqa: E402


def fail(text: str) -> None:
    sys.exit(f"error: {text}")


def plain(value: object) -> object:
    """A value of mlcroissant as Python has it."""
    if isinstance(value, bytes):
        return value.decode()
    return value.tolist() if hasattr(value, "tolist") else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    corpus = graphnet_ir.Corpus(args.corpus)
    corpus.export(args.out, "parquet")
    wanted = {hash: corpus.occurrences([bytes.fromhex(hash)])[bytes.fromhex(hash)]
              for hash in corpus}

    table = datasets.load_dataset(str(args.out), split="train")
    if len(table) != len(wanted):
        fail(f"datasets reads {len(table)} rows of {len(wanted)}")
    read = {}
    for row in table:
        rows = wanted[row["hash"]]
        licences = sorted({one["licence"] for one in rows if one["licence"] is not None})
        if row["licences"] != licences or len(row["occurrences"]) != len(rows):
            fail(f"graph {row['hash']} has other occurrences")
        sample = graphnet_ir.load_bytes(row["blob"])
        if graphnet_ir.canonical_hash(sample, metas=True) != row["hash"]:
            fail(f"graph {row['hash']} has another graph's bytes")
        read[row["hash"]] = row

    described = mlcroissant.Dataset(jsonld=str(args.out / "croissant.json"))
    issues = described.metadata.ctx.issues
    if issues.errors:
        fail(f"mlcroissant: {sorted(issues.errors)}")
    count = 0
    for record in described.records(record_set="graphs"):
        found = {key.removeprefix("graphs/"): plain(value) for key, value in record.items()}
        row = read[found["hash"]]
        for name in ("nodes", "targets", "counts", "licences", "shape_hash"):
            value = found[name]
            if isinstance(value, list):
                value = [plain(one) for one in value]
            if value != row[name]:
                fail(f"graph {found['hash']}: {name} is {value} by mlcroissant, {row[name]} by "
                     "datasets")
        count += 1
    if count != len(wanted):
        fail(f"mlcroissant reads {count} rows of {len(wanted)}")
    card = huggingface_hub.DatasetCard.load(args.out / "README.md")
    told = card.data.to_dict()
    if told["configs"][0]["data_files"][0]["path"] != "data/graphs-*.parquet":
        fail(f"the card has the head {json.dumps(told)}")
    print(f"{count} graphs, read by datasets and mlcroissant; {len(issues.warnings)} warnings of "
          f"mlcroissant; licences {', '.join(told['license'])}")


if __name__ == "__main__":
    main()
