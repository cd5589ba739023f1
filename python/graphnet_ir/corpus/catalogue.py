"""A catalogue of samples as one SQLite file, with the tables that GraphNet's scripts read.

The tables, their columns and what stands in them are in docs/corpus.md. Rows follow from the samples and
their paths alone, so a catalogue that is made again differs in its times only.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample
from graphnet_ir._errors import made_error

TYPES = ("full_graph", "typical_graph", "fusible_graph", "sole_op_graph")
"""What a sample can be: a whole model, or a piece of one."""

_HEAD = b"SQLite format 3\0"
SOURCES = "subgraph_sources.json"
_ENDINGS = (".pb", ".pt", ".pt2", ".txt", ".gn")
_STEPS = ("eval_forward", "train_forward", "train_backward")
_DTYPES = ("float16", "bfloat16", "float32", "float64", "fp16", "bf16", "fp32", "fp64")
_EVERY = 16  # each such sample of a bucket is a group of its own
_NUM_DTYPES = 3  # of one shape that the second policy takes

_TIMES = "create_at DATETIME, deleted BOOLEAN DEFAULT FALSE, delete_at DATETIME"
_SAMPLE = "VARCHAR(255) NOT NULL REFERENCES graph_sample(uuid)"
_TABLES = {
    "repo": "repo_uid VARCHAR(255) NOT NULL PRIMARY KEY, repo_type VARCHAR(50) NOT NULL, "
    "repo_name VARCHAR(255) NOT NULL, repo_url TEXT",
    "graph_sample": "uuid VARCHAR(255) NOT NULL PRIMARY KEY, "
    "repo_uid VARCHAR(255) NOT NULL REFERENCES repo(repo_uid), relative_model_path TEXT NOT NULL, "
    "sample_type VARCHAR(50) NOT NULL, is_subgraph BOOLEAN DEFAULT FALSE, num_ops INTEGER DEFAULT -1, "
    f"graph_hash VARCHAR(255) NOT NULL, order_value INTEGER, {_TIMES}, "
    "UNIQUE (relative_model_path, repo_uid, sample_type)",
    "subgraph_source": f"subgraph_uuid {_SAMPLE} PRIMARY KEY, full_graph_uuid {_SAMPLE}, "
    f"range_start INTEGER NOT NULL, range_end INTEGER NOT NULL, {_TIMES}",
    "dimension_generalization_source": f"generalized_graph_uuid {_SAMPLE} PRIMARY KEY, "
    f"original_graph_uuid {_SAMPLE}, total_element_size INTEGER NOT NULL, {_TIMES}",
    "datatype_generalization_source": f"generalized_graph_uuid {_SAMPLE} PRIMARY KEY, "
    f"original_graph_uuid {_SAMPLE}, data_type VARCHAR(50) NOT NULL, {_TIMES}",
    "backward_graph_source": f"forward_graph_uuid {_SAMPLE} PRIMARY KEY, "
    f"backward_graph_uuid {_SAMPLE}, original_graph_uuid {_SAMPLE}, {_TIMES}",
    "sample_op_name": f"sample_uuid {_SAMPLE}, op_name VARCHAR(255) NOT NULL, "
    f"op_idx INTEGER NOT NULL, op_size INTEGER NOT NULL, {_TIMES}, PRIMARY KEY (sample_uuid, op_idx)",
    "sample_op_name_list": f"sample_uuid {_SAMPLE} PRIMARY KEY, op_names_json TEXT NOT NULL, {_TIMES}",
    "sample_input_tensor_meta": f"sample_uuid {_SAMPLE}, input_name VARCHAR(255) NOT NULL, "
    f"input_idx INTEGER NOT NULL, shape TEXT NOT NULL, dtype VARCHAR(50) NOT NULL, {_TIMES}, "
    "PRIMARY KEY (sample_uuid, input_name, shape, dtype)",
    "graph_net_sample_buckets": f"sample_uid {_SAMPLE} PRIMARY KEY, op_seq_bucket_id TEXT NOT NULL, "
    f"input_shapes_bucket_id TEXT NOT NULL, input_dtypes_bucket_id TEXT NOT NULL, {_TIMES}",
    "graph_net_sample_groups": f"sample_uid {_SAMPLE}, group_uid VARCHAR(255) NOT NULL, "
    "group_type VARCHAR(50) NOT NULL, group_policy VARCHAR(50) NOT NULL, "
    f"policy_version VARCHAR(20) NOT NULL, {_TIMES}, PRIMARY KEY (sample_uid, group_uid)",
}
_INDEXES = (
    ("graph_sample", "relative_model_path"),
    ("graph_sample", "graph_hash"),
    ("graph_sample", "order_value"),
    ("subgraph_source", "full_graph_uuid"),
    ("dimension_generalization_source", "original_graph_uuid"),
    ("datatype_generalization_source", "original_graph_uuid"),
    ("backward_graph_source", "backward_graph_uuid"),
    ("sample_op_name", "op_name"),
    ("graph_net_sample_buckets", "op_seq_bucket_id"),
    ("graph_net_sample_groups", "group_uid"),
)


@dataclass
class Catalogued:
    """The counts of what a catalogue has."""

    samples: int = 0
    rows: dict[str, int] = field(default_factory=dict)  # by table
    refused: list[tuple[str, str]] = field(default_factory=list)  # paths, each with the reason
    # Paths of pieces whose originals are not among the samples, so that their ranges are left out.
    without_original: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        known = sum(count for table, count in self.rows.items() if table.endswith("_source"))
        return (
            f"{self.samples} samples, {known} sources, "
            f"{self.rows.get('graph_net_sample_groups', 0)} rows of groups; "
            f"{len(self.refused)} refused, {len(self.without_original)} pieces without their original"
        )


@dataclass
class _Entry:
    path: str
    uuid: str
    type: str
    hash: str
    operators: list[str]
    inputs: list[tuple[str, list[int], str]]  # name, shape, dtype
    sources: dict[str, list[tuple[int, int]]]
    dtype: str | None  # to which it was changed, as graph_net.json says

    @property
    def elements(self) -> int:
        return sum(math.prod(shape) for _, shape, _ in self.inputs)

    @functools.cached_property
    def bucket(self) -> tuple[str, str, str]:
        """The sequence of operators, and the classes of sizes and the dtypes of the inputs."""
        classes = [
            [-1 if size <= 0 else (size.bit_length() - 1) // 4 for size in shape]
            for _, shape, _ in self.inputs
        ]
        dtypes = [dtype.removeprefix("torch.") for _, _, dtype in self.inputs]
        return json.dumps(self.operators), json.dumps(classes), json.dumps(dtypes)


def catalogue(
    samples: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    types: Mapping[str, str] | None = None,
    repo: tuple[str, str, str, str] = ("local", "local", "samples", ""),
) -> Catalogued:
    """Writes a catalogue of all samples in a folder as one SQLite file, whole or not at all.

        graphnet_ir.catalogue("out", "out.sqlite", types={"pieces": "typical_graph"})

    The file replaces an earlier one. A sample that cannot be read is left out. types: the type
    (full_graph, typical_graph, fusible_graph, sole_op_graph) of the samples below each of these
    folders; otherwise a sample with sources (subgraph_sources.json, or what decompose knows) is a
    piece: of one operator, or typical, or fusible if a folder above it is called so. repo: repo_uid,
    repo_type, repo_name and repo_url of the data set.
    """
    folder = os.fspath(samples)
    if not os.path.isdir(folder):
        raise made_error("not_found", f"{folder} is not a folder")
    done = Catalogued()

    def each() -> Iterator[tuple[str, Sample, dict[str, Any]]]:
        for place in _core.find_samples([folder]):
            path = _plain(os.path.relpath(place, folder))
            try:
                sample = _core.load(place, weights=False)
                yield path, sample, _sources(sample, place, path)
            except Error as error:
                done.refused.append((path, str(error)))

    return write(each(), os.fspath(file), done, types=types, repo=repo)


def catalogue_of_corpus(
    corpus: Any,
    file: str,
    hashes: Iterable[bytes],
    told: Callable[[str], None] | None = None,
    repo: tuple[str, str, str, str] = ("local", "local", "corpus", ""),
) -> Catalogued:
    """Writes a catalogue of the occurrences of graphs of a corpus."""
    done = Catalogued()
    taken: dict[str, int] = {}

    def each() -> Iterator[tuple[str, Sample, dict[str, Any]]]:
        for hash in hashes:
            for row, sample in corpus._originals([hash], weights=False):
                path = _plain(row["path"]) or hash.hex()
                taken[path] = taken.get(path, 0) + 1
                place = f"{path}~{taken[path]}" if taken[path] > 1 else path
                yield place, sample, _sources(sample, "", path)

    made = write(each(), file, done, repo=repo)
    if told is not None and made.without_original:
        told(f"{len(made.without_original)} pieces have no original in the corpus")
    return made


def write(
    samples: Iterable[tuple[str, Sample, dict[str, Any]]],
    file: str,
    done: Catalogued,
    *,
    types: Mapping[str, str] | None = None,
    repo: tuple[str, str, str, str],
) -> Catalogued:
    """Writes samples, each with its path and its sources."""
    for kind in (types or {}).values():
        if kind not in TYPES:
            raise made_error(
                "invalid_argument", f"a type is one of {', '.join(TYPES)}, not '{kind}'"
            )
    file = os.path.abspath(file)
    if os.path.exists(file):
        with open(file, "rb") as there:
            if there.read(len(_HEAD)) != _HEAD:
                raise made_error("already_exists", f"{file} is there and is not an SQLite file")
    aside = f"{file}.{secrets.token_hex(8)}.new"
    try:
        base = sqlite3.connect(aside)
        try:
            _fill(base, samples, done, types or {}, repo)
            base.commit()
        finally:
            base.close()
        os.replace(aside, file)
    except BaseException:
        if os.path.exists(aside):
            os.unlink(aside)
        raise
    return done


def _plain(path: str) -> str:
    """Returns the path of a sample without its ending."""
    root, ending = os.path.splitext(path)
    return root if ending in _ENDINGS else path


def _sources(sample: Sample, place: str, path: str) -> dict[str, list[tuple[int, int]]]:
    """Returns the ranges of the originals from which a sample was cut: those of its file, or those
    that it knows itself."""
    text = sample.extra_files.get(SOURCES)
    beside = f"{_plain(place)}.{SOURCES}"
    if text is None and os.path.isfile(beside):
        with open(beside, encoding="utf-8") as file:
            text = file.read()
    if text is None:
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for part in sample.provenance:
            found[str(part["parent"])].append((part["start"], part["end"]))
        return dict(found)
    try:
        return {
            str(original): [(int(start), int(end)) for start, end in ranges]
            for original, ranges in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise made_error(
            "invalid_argument", f"{path}: subgraph_sources.json has no lists of ranges ({error})"
        ) from error


def _type(path: str, sources: Any, operators: int, types: Mapping[str, str]) -> str:
    for folder, kind in types.items():
        if path == folder or path.startswith(f"{folder.rstrip('/')}/"):
            return kind
    if not sources:
        return "full_graph"
    parts = path.split("/")
    if operators == 1 or any(part.startswith(("sole_op", "single_op")) for part in parts):
        return "sole_op_graph"
    fusible = any(part.startswith("fusible") for part in parts)
    return "fusible_graph" if fusible else "typical_graph"


def _entry(path: str, sample: Sample, sources: Any, types: Mapping[str, str], repo: str) -> _Entry:
    [operators] = _core._operator_names([sample])
    inputs = []
    for node in sample.graph.placeholders:
        meta = node.tensor_meta
        if meta is None or meta.shape is None:
            continue
        shape = [size if isinstance(size, int) else size.example or 0 for size in meta.shape]
        spec = node.draw_spec or {}
        inputs.append((str(spec.get("original_name") or node.target), shape, f"torch.{meta.dtype}"))
    kind = _type(path, sources, len(operators), types)
    try:
        facts = json.loads(sample.graph_net_json or "{}")
    except ValueError:
        facts = {}
    dtype = facts.get("dtype_generalization_target_dtype") if isinstance(facts, dict) else None
    return _Entry(
        path,
        _uuid(repo, path, kind),
        kind,
        sample.graph_hash.strip() or _core.canonical_hash(sample, metas=True),
        operators,
        inputs,
        sources,
        str(dtype) if dtype else None,
    )


def _uuid(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _fill(
    base: sqlite3.Connection,
    samples: Iterable[tuple[str, Sample, dict[str, Any]]],
    done: Catalogued,
    types: Mapping[str, str],
    repo: tuple[str, str, str, str],
) -> None:
    base.execute("PRAGMA synchronous = OFF")  # The file is not at its place yet.
    for table, columns in _TABLES.items():
        base.execute(f"CREATE TABLE {table} ({columns})")
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    counts = dict.fromkeys(_TABLES, 0)

    def insert(table: str, *values: Any) -> None:
        rest = () if table == "repo" else (now, False, None)
        marks = ", ".join("?" * (len(values) + len(rest)))
        base.execute(f"INSERT INTO {table} VALUES ({marks})", (*values, *rest))
        counts[table] += 1

    insert("repo", *repo)
    entries: list[_Entry] = []
    for path, sample, sources in samples:
        try:
            entry = _entry(path, sample, sources, types, repo[0])
        except (Error, ValueError) as error:
            done.refused.append((path, str(error)))
            continue
        entries.append(entry)
        insert(
            "graph_sample",
            entry.uuid,
            repo[0],
            path,
            entry.type,
            entry.type != "full_graph",
            len(entry.operators),
            entry.hash,
            len(entries) - 1,
        )
        names = [{"op_name": name, "op_idx": place} for place, name in enumerate(entry.operators)]
        insert("sample_op_name_list", entry.uuid, json.dumps(names))
        for place, name in enumerate(entry.operators):
            insert("sample_op_name", entry.uuid, name, place, len(entry.operators))
        seen = set()
        for place, (name, shape, dtype) in enumerate(entry.inputs):
            if (name, str(shape), dtype) not in seen:
                seen.add((name, str(shape), dtype))
                insert("sample_input_tensor_meta", entry.uuid, name, place, str(shape), dtype)
        if entry.type != "full_graph":
            insert("graph_net_sample_buckets", entry.uuid, *entry.bucket)
    _add_sources(entries, insert, done)
    for uuid, group, policy in _groups(entries):
        insert("graph_net_sample_groups", uuid, group, "ai4c", policy, "1.0")
    for table, column in _INDEXES:
        base.execute(f"CREATE INDEX idx_{table}_{column} ON {table} ({column})")
    done.samples, done.rows = len(entries), counts


def _add_sources(entries: list[_Entry], insert: Callable[..., None], done: Catalogued) -> None:
    by_path = {entry.path: entry for entry in entries}
    whole = {entry.path: entry for entry in entries if entry.type == "full_graph"}
    by_name: dict[str, list[_Entry]] = defaultdict(list)
    for entry in whole.values():
        by_name[os.path.basename(entry.path)].append(entry)

    def original_of(name: str, piece: str) -> _Entry | None:
        """The sample with a path, or the one with a name: the only one, or the one beside which
        decompose puts such a piece."""
        name = _plain(name)
        named = by_name[name] if name in by_name else []
        if len(named) > 1:
            named = [
                one
                for one in named
                if f"/{one.path}_decomposed/" in f"/{piece}"
                or f"/{one.path}/_decomposed/" in f"/{piece}"
            ]
        return whole.get(name) or (named[0] if len(named) == 1 else None)

    for entry in entries:
        known = [
            (original, ranges[0])
            for name, ranges in sorted(entry.sources.items())
            if ranges and (original := original_of(name, entry.path)) is not None
        ]
        if known:  # The table has one range of each piece.
            original, (start, end) = known[0]
            insert("subgraph_source", entry.uuid, original.uuid, start, end)
        elif entry.sources:
            done.without_original.append(entry.path)
        first, _, rest = entry.path.partition("/")
        if first in _STEPS:
            backward = by_path.get(f"train_backward/{rest}")
            if first == "train_forward" and backward is not None:
                start_of = by_path.get(rest) or by_path.get(f"eval_forward/{rest}")
                if start_of is not None:
                    insert("backward_graph_source", entry.uuid, backward.uuid, start_of.uuid)
            continue
        # Samples at other sizes and dtypes lie below INDEX/ and DTYPE/.
        dtype, number, left = entry.dtype, False, entry.path
        while left not in by_path or by_path[left] is entry:
            first, _, left = left.partition("/")
            if first.isdigit():
                number = True
            elif first in _DTYPES:
                dtype = dtype or first
            else:
                break
        made_from = by_path.get(left)
        if made_from is None or made_from is entry:
            continue
        if number:
            insert("dimension_generalization_source", entry.uuid, made_from.uuid, entry.elements)
        if dtype is not None:
            insert("datatype_generalization_source", entry.uuid, made_from.uuid, dtype)


def _groups(entries: list[_Entry]) -> Iterator[tuple[str, str, str]]:
    """Yields the rows of groups: a sample, a group and a policy, as GraphNet's rules have them.

    bucket_policy_v1: all heads of the buckets of one sequence of operators are a group; each 16th
    sample of a bucket is a group of its own. bucket_policy_v2, of the others: of each shape of a
    sequence the first samples of three dtypes are a group, and of what is left the first three of
    each 15.
    """
    pieces = sorted(
        (entry for entry in entries if entry.type != "full_graph"), key=lambda entry: entry.uuid
    )
    buckets: dict[tuple[str, str], dict[str, list[_Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in pieces:
        sequence, shapes, _ = entry.bucket
        buckets[entry.type, sequence][shapes].append(entry)
    for (kind, sequence), by_shape in sorted(buckets.items()):
        taken = set()
        heads = [members[0] for _, members in sorted(by_shape.items())]
        for entry in heads:
            taken.add(entry.uuid)
            yield entry.uuid, _uuid("heads", kind, sequence), "bucket_policy_v1"
        for members in by_shape.values():
            for entry in members[_EVERY::_EVERY]:
                taken.add(entry.uuid)
                yield entry.uuid, _uuid("alone", entry.uuid), "bucket_policy_v1"
        left = []
        for _, members in sorted(by_shape.items()):
            dtypes: set[str] = set()
            for entry in members:
                own = entry.bucket[2]
                if entry.uuid in taken:
                    continue
                if own not in dtypes and len(dtypes) < _NUM_DTYPES:
                    dtypes.add(own)
                    yield entry.uuid, _uuid("dtypes", kind, sequence), "bucket_policy_v2"
                else:
                    left.append(entry)
        left.sort(key=lambda entry: entry.uuid)
        for place, entry in enumerate(left):
            if place % (5 * _NUM_DTYPES) < _NUM_DTYPES:
                yield entry.uuid, _uuid("left", kind, sequence), "bucket_policy_v2"
