"""A capture on disk: samples, and the manifest stitch.json that says how they are joined."""

from __future__ import annotations

import ctypes
import fcntl
import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.live.captured import CaptureData, CapturedGraph
from graphnet_ir.live.guards import as_dict

MANIFEST = "stitch.json"
FORMAT = "graphnet live capture"
_ASIDE = ".partial"
# A capture writes its manifest, and samples as folders or as protobuf files with their weights.
# Python leaves folders of compiled files where a model.py was run.
_SAMPLE = (
    r"(model|weight_meta|input_meta|input_tensor_constraints)\.py|graph_net\.json|"
    r"graph_hash\.txt|torch_fx\.json|__pycache__/(model|weight_meta|input_meta|"
    r"input_tensor_constraints)\.[^/]*pyc"
)
_OWN_FILES = re.compile(rf"stitch\.json|subgraph_\d+\.(pb|safetensors)|(subgraph_\d+/)?({_SAMPLE})")
_OWN_FOLDERS = re.compile(r"subgraph_\d+|(subgraph_\d+/)?__pycache__")


def write_capture(capture: CaptureData, workspace: str) -> str:
    """Writes WORKSPACE/NAME and returns its path. A reader sees the old folder or the new one."""
    path = os.path.join(workspace, capture.name)
    try:
        os.makedirs(workspace, exist_ok=True)
        with _locked(workspace):
            _check_replaceable(path)
            for name in os.listdir(workspace):
                if name.startswith(f".{capture.name}{_ASIDE}"):
                    shutil.rmtree(os.path.join(workspace, name), ignore_errors=True)
            aside = os.path.join(workspace, f".{capture.name}{_ASIDE}-{os.getpid()}")
            try:
                os.mkdir(aside)
                _write_files(capture, aside)
                _put_in_place(aside, path)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise made_error("failed_precondition", f"cannot write {path}: {error.strerror}") from error
    return path


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Lets in one process at a time, even after another one was killed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_replaceable(path: str) -> None:
    """Raises if something other than an earlier capture, or an empty folder, is at path."""
    is_capture = True
    if os.path.isdir(path) and os.listdir(path):
        try:
            with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
                is_capture = json.load(file).get("format") == FORMAT
        except (OSError, ValueError, AttributeError, RecursionError):
            is_capture = False
    if os.path.islink(path):
        raise made_error("already_exists", f"{path} is a link, not a capture")
    _core._check_replaceable(path, is_own_entry if is_capture else lambda path, is_folder: False)


def is_own_entry(path: str, is_folder: bool) -> bool:
    """Returns whether a capture writes an entry of this kind at path, relative to its folder."""
    return (_OWN_FOLDERS if is_folder else _OWN_FILES).fullmatch(path) is not None


def _put_in_place(aside: str, path: str) -> None:
    if not os.path.lexists(path):
        os.rename(aside, path)
        return
    # If the system can do that, both names change at once; aside is removed afterwards.
    exchange, here = 2, -100
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        hasattr(libc, "renameat2")
        and libc.renameat2(here, os.fsencode(aside), here, os.fsencode(path), exchange) == 0
    ):
        return
    old = f"{aside}-old"
    os.rename(path, old)
    os.rename(aside, path)
    shutil.rmtree(old, ignore_errors=True)


def _write_files(capture: CaptureData, folder: str) -> None:
    kept = capture.kept()
    places: dict[int, str] = {}
    # The only graph is the folder itself, and its graph_net.json is written last.
    alone = len(kept) == 1 and capture.to == "graphnet"
    for i, graph in enumerate(kept):
        ending = ".pb" if capture.to == "protobuf" else ""
        places[graph.index] = "." if alone else f"subgraph_{i}{ending}"
    if not alone:
        for graph in kept:
            _save(capture, graph, os.path.join(folder, places[graph.index]))
    text = manifest_text(manifest(capture, places))
    if alone:
        _save(capture, kept[0], folder, {MANIFEST: text})
    else:
        with open(os.path.join(folder, MANIFEST), "w", encoding="utf-8") as file:
            file.write(text)


def _save(
    capture: CaptureData, graph: CapturedGraph, path: str, files: dict[str, str] | None = None
) -> None:
    assert graph.sample is not None
    sample = graph.sample.copy()
    sample.graph_net_json = json.dumps(
        {
            "framework": "torch",
            "num_devices_required": 1,
            "num_nodes_required": 1,
            "dynamic": bool(graph.symbols),
            "model_name": capture.name,
        },
        indent=4,
    )
    if files:
        sample.extra_files = {**sample.extra_files, **files}
    try:
        if capture.to == "graphnet":
            sample.graph_hash = _core.canonical_hash(sample)
            for name, content in _core.folder_files(sample).items():
                target = os.path.join(path, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(content if isinstance(content, bytes) else content.encode())
        else:
            _core.save(sample, path)
    except Error as error:
        raise made_error(error.kind, f"graph {graph.index} of {capture.name}: {error}") from error


# --- The manifest ---------------------------------------------------------------------------------


def manifest(capture: CaptureData, places: dict[int, str]) -> dict[str, Any]:
    """Returns the content of stitch.json (docs/capture.md). places: those of written graphs."""
    kept = [graph.index for graph in capture.kept()]
    numbers = {index: i for i, index in enumerate(kept)}
    hashes: dict[str, int] = {}
    rows = []
    for graph in capture.graphs:
        row = _subgraph(graph, places)
        if graph.index in numbers:
            row["duplicate_of"] = hashes.get(row["hash"])
            hashes.setdefault(row["hash"], graph.index)
        rows.append(row)
    attributes: dict[str, dict[str, Any]] = {}
    for graph in capture.graphs:
        for given in graph.inputs:
            if given.attribute is not None:
                attributes.setdefault(
                    given.attribute,
                    {
                        "name": given.attribute,
                        "file": None,
                        "dtype": given.dtype,
                        "shape": given.example or given.shape,
                        "strides": given.strides,
                        "requires_grad": given.requires_grad,
                    },
                )
    return {
        "format": FORMAT,
        "version": 1,
        "name": capture.name,
        "archive": None,
        "symbols": [],
        "relations": [],
        "inputs": [
            {"name": name, "value": value, "after": None} for name, value in capture.arguments
        ],
        "states": [],
        "tensors": capture.tensors,
        "attributes": [attributes[name] for name in sorted(attributes)],
        "objects": [],
        "subgraphs": rows,
        "steps": [
            {
                "subgraph": step.graph,
                "inputs": _tensors(step.inputs),
                "outputs": _tensors(step.outputs),
            }
            for step in capture.steps
        ],
        "result": None,
        "skipped": [as_dict(skip) for skip in capture.skipped],
        "verified": [
            {
                "equal": call.equal,
                "equal_to_dynamo": call.equal_to_dynamo,
                "parts": call.num_parts,
                "runs": call.runs,
                "notes": call.notes,
                "differences": call.differences,
                "unproven": call.unproven,
            }
            for call in capture.verified
        ],
        "raised": capture.raised,
    }


def _tensors(numbers: Any) -> list[Any]:
    return [None if number is None else {"tensor": number} for number in numbers]


def _subgraph(graph: CapturedGraph, places: dict[int, str]) -> dict[str, Any]:
    place = places.get(graph.index)
    return {
        "name": f"graph_{graph.index}"
        if place is None
        else "subgraph_0"
        if place == "."
        else place.removesuffix(".pb"),
        "hash": None if graph.sample is None else _core.canonical_hash(graph.sample),
        "duplicate_of": None,
        "calls": graph.num_ops,
        "sample": place,
        "python": None,
        "why_not": graph.why_not,
        "kind": graph.kind,
        "of": graph.of,
        "compile_id": graph.compile_id,
        "function": graph.function,
        "runs": graph.calls,
        "inputs": [
            {
                "name": given.name,
                "source": given.source or None,
                "attribute": given.attribute,
                "dtype": given.dtype,
                "device": given.device or None,
                "shape": given.shape,
                "example": given.example,
            }
            for given in graph.inputs
        ],
        "symbols": [{"name": name, "example": example} for name, example in graph.symbols.items()],
        "relations": [{"text": text, "file": None, "line": None} for text in graph.relations],
        "modes": graph.modes,
        "ended": as_dict(graph.ended),
        "recompiled": graph.recompiled,
        "merged_into": graph.merged_into,
        "apart": graph.apart,
        "guards": [as_dict(guard) for guard in graph.guards],
    }


def manifest_text(manifest: dict[str, Any]) -> str:
    """Returns JSON in which each row of a list is a line."""
    parts = []
    for key, value in manifest.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(_json(row, (",", ":")) for row in value)
            parts.append(f' "{key}": [\n  {rows}\n ]')
        else:
            parts.append(f' "{key}": {_json(value, (", ", ": "))}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any, separators: tuple[str, str]) -> str:
    """Returns JSON that every reader takes and every file can hold."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=separators)
    # Halves of letters are no text, but JSON has escapes for them.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _plain(value: Any) -> Any:
    """Returns a value with texts in the place of what JSON does not have: "nan", "inf", "-inf", and
    the text of any other object."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, (bool, int)):
        return value
    return str(value)
