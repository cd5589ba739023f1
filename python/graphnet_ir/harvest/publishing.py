"""Publishes a model: its new graphs, its manifest, its script and where it all came from.

A graph is published once, by the first model in the order of the sources that has it. The files
hold neither times nor paths, so they are the same however a harvest ran.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

import graphnet_ir
from graphnet_ir import _core
from graphnet_ir.harvest.failures import Failure
from graphnet_ir.harvest.journal import Journal, Row
from graphnet_ir.live.folder import MANIFEST, is_own_entry, manifest_text

SAMPLES = "samples"


def hashes_of(captured: str) -> dict[str, Any]:
    """Reads the files of a captured folder back. "hashes" of the result has the canonical hash of
    each graph by its place in the folder, "sized_hashes" the hash in which sizes count, too."""
    with open(os.path.join(captured, MANIFEST), encoding="utf-8") as file:
        rows = json.load(file)["subgraphs"]
    places = [row["sample"] for row in rows if row["sample"] is not None]
    found, sized = {}, {}
    for place in places:
        try:
            sample = graphnet_ir.load(os.path.join(captured, place))
            found[place] = graphnet_ir.canonical_hash(sample)
            sized[place] = graphnet_ir.canonical_hash(sample, metas=True)
        except graphnet_ir.Error as error:
            raise Failure("capture", f"{place} cannot be read back: {error}") from error
    return {"hashes": found, "sized_hashes": sized}


def same_as(row: Row, journal: Journal, same_sizes: bool) -> dict[str, str]:
    """Returns the graphs of row, by place, that earlier models or places have already.
    same_sizes: graphs that differ in sizes, dtypes or devices count as the same, too."""
    here: dict[str, str] = {}
    found = {}
    for place, hash in row.facts["hashes" if same_sizes else "sized_hashes"].items():
        owner = journal.owner(hash) or here.get(hash)
        if owner is None:
            here[hash] = sample_place(row, place)
        else:
            found[place] = owner
    return found


def sample_place(row: Row, place: str) -> str:
    return row.place if place == "." else f"{row.place}/{place}"


def publish(row: Row, folder: str, captured: str, script: str, repeated: dict[str, str]) -> None:
    """Writes folder/samples/PLACE, whole or not at all. It replaces what an earlier attempt left,
    but no file of anybody else. repeated: as same_as found them."""
    target = os.path.join(folder, SAMPLES, row.place)
    aside = os.path.join(folder, SAMPLES, f".{row.place}.new")
    for path in (target, aside):
        _core._check_replaceable(path, _is_own_entry)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        shutil.copytree(captured, aside)
        for place in repeated:
            shutil.rmtree(os.path.join(aside, place))
        shutil.copyfile(script, os.path.join(aside, "capture.py"))
        _rewrite(os.path.join(aside, MANIFEST), lambda text: _without(text, repeated))
        kept = [place for place in row.facts["hashes"] if place not in repeated]
        for place in kept:
            _rewrite(os.path.join(aside, place, "graph_net.json"), lambda text: _named(text, row))
        with open(os.path.join(aside, "provenance.json"), "w", encoding="utf-8") as file:
            json.dump(provenance(row, repeated), file, indent=2, ensure_ascii=False)
            file.write("\n")
        shutil.rmtree(target, ignore_errors=True)
        os.rename(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _is_own_entry(path: str, is_folder: bool) -> bool:
    return is_own_entry(path, is_folder) or (
        not is_folder and path in ("capture.py", "provenance.json")
    )


def _rewrite(path: str, change: Callable[[str], str]) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(change(text))


def _without(text: str, repeated: dict[str, str]) -> str:
    """Returns the manifest, in which graphs that are published elsewhere have no sample."""
    manifest = json.loads(text)
    for row in manifest["subgraphs"]:
        if row["sample"] in repeated:
            row["same_as"], row["sample"] = repeated[row["sample"]], None
    return manifest_text(manifest)


def _named(text: str, row: Row) -> str:
    entry = json.loads(text)
    entry["model_name"] = row.id
    return json.dumps(entry, indent=4)


def provenance(row: Row, repeated: dict[str, str]) -> dict[str, Any]:
    facts = row.facts
    return {
        "format": "graphnet harvest",
        "version": 1,
        "model": row.id,
        "revision": facts["revision"],
        "licence": facts["licence"],
        "library": facts["library"],
        "architecture": facts["architecture"],
        "family": facts["family"],
        "parameters": facts["parameters"],
        "halvings": facts["halvings"],
        "inputs": facts.get("inputs", {}),
        "seed": facts["seed"],
        "weights": "random",
        "versions": facts["versions"],
        "equal_to_eager": facts["equal"],
        "notes": facts["notes"],
        "repaired": row.repairs > 0,
        "graphs": [
            {
                "hash": hash,
                "sample": None if place in repeated else place,
                "same_as": repeated.get(place),
            }
            for place, hash in facts["hashes"].items()
        ],
    }


def write_index(rows: list[Row], folder: str) -> str | None:
    """Writes folder/index.jsonl: a line for each published graph, in the order of the models."""
    lines = []
    for row in rows:
        if row.stage != "published":
            continue
        for place, hash in row.facts["hashes"].items():
            if place not in row.facts["same_as"]:
                lines.append(
                    json.dumps(
                        {
                            "sample": f"{SAMPLES}/{sample_place(row, place)}",
                            "hash": hash,
                            "model": row.id,
                            "family": row.facts["family"],
                            "licence": row.facts["licence"],
                        },
                        ensure_ascii=False,
                    )
                )
    path = os.path.join(folder, "index.jsonl")
    text = "".join(line + "\n" for line in lines)
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return None
    except OSError:
        pass
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)
    return path
