"""Describes an export for strangers: README.md with the head that dataset hubs read, and
croissant.json for programs that read Croissant."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from typing import Any

from graphnet_ir.corpus.engines import pa
from graphnet_ir.corpus.texts import printable

FILES = "data/graphs-*.parquet"
_TITLE = "Computation graphs"

# The terms of Croissant 1.0, as its specification wants them in each file.
_OWN_TERMS = (
    "citeAs column conformsTo data dataType equivalentProperty examples extract field fileProperty "
    "fileObject fileSet format includes isLiveDataset jsonPath key md5 parentField path recordSet "
    "references regex repeated replace samplingRate separator source subField transform"
).split()
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{term: f"cr:{term}" for term in _OWN_TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}

_MEANINGS = {
    "hash": "what graphnet hash --metas prints: equal graphs have one",
    "shape_hash": "the same for graphs that differ in sizes only",
    "nodes": "number of nodes",
    "inputs": "number of inputs",
    "outputs": "number of outputs",
    "parameters": "number of parameters",
    "targets": "what is called",
    "counts": "how often each target is called",
    "args": "constants that calls are given",
    "edges": "which call takes the value of which",
    "dtypes": "dtypes of values",
    "ranks": "ranks of values",
    "licences": "licences of the occurrences of the graph",
    "sources": "sources of the occurrences of the graph",
    "models": "models of the occurrences of the graph",
}


def croissant(out: str, schema: Any, licences: Counter[str]) -> str:
    """Returns the text of croissant.json for an export: its files with their SHA-256, and the
    columns that have a type there. Bytes and structures have none."""
    files = []
    for name in sorted(os.listdir(os.path.join(out, "data"))):
        path = os.path.join(out, "data", name)
        files.append(
            {
                "@type": "cr:FileObject",
                "@id": f"data/{name}",
                "name": name,
                "contentUrl": f"data/{name}",
                "contentSize": f"{os.path.getsize(path)} B",
                "encodingFormat": "application/x-parquet",
                "sha256": _sha256(path),
            }
        )
    fields = [made for field in schema if (made := _field(field)) is not None]
    return (
        json.dumps(
            {
                "@context": _CONTEXT,
                "@type": "sc:Dataset",
                "name": _TITLE,
                "description": "Computation graphs of PyTorch programs, each once, with the places and "
                "licences of their occurrences. README.md describes all columns.",
                "conformsTo": "http://mlcommons.org/croissant/1.0",
                "license": sorted(map(printable, licences)),
                "distribution": [
                    *files,
                    {
                        "@type": "cr:FileSet",
                        "@id": "files",
                        "name": "files",
                        "includes": FILES,
                        "encodingFormat": "application/x-parquet",
                    },
                ],
                "recordSet": [
                    {
                        "@type": "cr:RecordSet",
                        "@id": "graphs",
                        "name": "graphs",
                        "description": "A row for each graph",
                        "key": {"@id": "graphs/hash"},
                        "field": fields,
                    }
                ],
            },
            indent=2,
        )
        + "\n"
    )


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _field(field: Any) -> dict[str, Any] | None:
    repeated = bool(pa.types.is_list(field.type))
    value = field.type.value_type if repeated else field.type
    kinds = (
        (pa.types.is_boolean, "sc:Boolean"),
        (pa.types.is_integer, "sc:Integer"),
        (pa.types.is_floating, "sc:Float"),
        (pa.types.is_string, "sc:Text"),
    )
    kind = next((name for fits, name in kinds if fits(value)), None)
    if kind is None:
        return None
    return {
        "@type": "cr:Field",
        "@id": f"graphs/{field.name}",
        "name": field.name,
        "description": _MEANINGS.get(field.name, "what a job found"),
        "dataType": kind,
        **({"repeated": True} if repeated else {}),
        "source": {"fileSet": {"@id": "files"}, "extract": {"column": field.name}},
    }


def card(manifest: dict[str, Any], graphs: int, licences: Counter[str]) -> str:
    """Returns the text of README.md."""
    told = json.dumps(
        {key: manifest[key] for key in ("version", "hash_version", "feature_version")}
    )
    lines = "".join(
        f"| `{_cell(licence)}` | {count:,} |\n" for licence, count in sorted(licences.items())
    )
    return f"""\
---
pretty_name: {_TITLE}
license: {json.dumps(_identifiers(licences))}
size_categories: [{_size(graphs)}]
tags: [computation-graphs, compilers, pytorch]
configs:
- config_name: default
  data_files:
  - split: train
    path: {FILES}
---
# {_TITLE}

{graphs:,} computation graphs of PyTorch programs, each once, with {sum(licences.values()):,}
occurrences. `{FILES}` has a row for each graph. `blob` is the graph in the protobuf
form of graphnet (`graphnet_ir.load_bytes` reads it), `hash` is what `graphnet hash --metas` prints,
and `occurrences` says where the graph comes from and under which licence, with a `blob` of its own where
names of values or draw specs are others, and the hash of its weights if they are there, which are
`weights/ab/ab….safetensors`. `licences`, `sources` and `models` have the values of
all occurrences once each. The versions are {told}. `croissant.json` describes the columns for programs.

| licence | occurrences |
|---|---|
{lines}"""


def _cell(text: str) -> str:
    return printable(text).replace("|", "/").replace("`", "'")[:200]


def _identifiers(licences: Counter[str]) -> list[str]:
    """Returns the licences as hubs write them; one that is no identifier is "other"."""
    made = {
        name.lower() if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*", name) else "other"
        for name in licences
    }
    return sorted(made)


def _size(graphs: int) -> str:
    """Returns the category of a number of rows, in the words of the Hub."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B"]
    place = next((place for place, power in enumerate(range(3, 10)) if graphs < 10**power), None)
    if place is None:
        return '"n>1B"'
    return '"n<1K"' if place == 0 else f'"{bounds[place - 1]}<n<{bounds[place]}"'
