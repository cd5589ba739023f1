"""Cuts samples into pieces, joins pieces, and validates that they are the whole."""

from __future__ import annotations

import collections.abc
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir._errors import require_sample
from graphnet_ir._notebook import table
from graphnet_ir.running import has_torch


@dataclass(frozen=True)
class Decomposition:
    """Pieces of a sample, and the configuration that describes and replays how it was cut."""

    pieces: list[Sample]
    config: dict[str, Any] | None
    notes: list[str]

    @property
    def is_chain(self) -> bool:
        """Returns whether each piece takes what the one before it returns."""
        return bool(self.config is None or self.config.get("chain_style", True))

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, i: int) -> Sample:
        return self.pieces[i]

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each piece: name, operators, inputs, outputs, and its range of
        operators of the whole, if the configuration has it."""
        ranges = (self.config or {}).get("subgraphs") or [{}] * len(self.pieces)
        made = []
        for piece, known in zip(self.pieces, ranges):
            nodes = list(piece.graph.nodes)
            result = piece.graph.output_node().args[0]
            made.append(
                {
                    "name": piece.name,
                    "start": known.get("start"),
                    "end": known.get("end"),
                    "operators": sum(node.op.startswith("call_") for node in nodes),
                    "inputs": len(piece.graph.placeholders),
                    "outputs": len(result) if isinstance(result, (list, tuple)) else 1,
                }
            )
        return made

    def _repr_html_(self) -> str:
        return table(self.records())


class Validation(dict[str, Any]):
    """The report of validate: 'valid', 'findings' and what was counted."""

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each finding: class, check, piece, where and message."""
        return [dict(finding) for finding in self["findings"]]

    def _repr_html_(self) -> str:
        counted = (
            f"{self['original_operators']} = "
            f"{' + '.join(map(str, self['piece_operators']))} operators"
        )
        head = f"<p>{'valid' if self['valid'] else 'not valid'}: {counted}</p>"
        findings = table(self.records(), ("class", "check", "piece", "where", "message"))
        return head + (findings if self["findings"] else "")


def decompose(
    sample: Sample,
    config: dict[str, Any] | None = None,
    *,
    pieces: int | None = None,
    positions: Sequence[int] | None = None,
    size: int | None = None,
    depth: int | None = None,
    single_op: bool = False,
    blocks: bool = False,
    balanced: bool = False,
    style: str = "chain",
    folder: str | os.PathLike[str] | None = None,
    to: str = "protobuf",
    layout: str = "plain",
) -> Decomposition:
    """Cuts the main graph into ranges of operators, each a sample of its own.

    One of these says where: pieces (the number of pieces of equal size; with balanced=True those
    with the least traffic between them), positions (before these operators), size (the number of
    operators of each piece), depth (where the first components of module paths change), single_op,
    blocks (at the borders of repeated blocks), or a configuration in the form of
    decompose_config.json (docs/decompose.md).

    style: 'chain', in which each piece takes what the one before it returns, or 'dag'. folder: the
    folder to which the pieces are written, whole or not at all, as to='protobuf' or 'graphnet'
    folders, in the layout 'plain' or that of Python GraphNet, 'python'.
    """
    require_sample(sample)
    asked: list[dict[str, Any]] = []
    if config is not None:
        asked.append(dict(config))
    if pieces is not None:
        asked.append({"mode": "balanced" if balanced else "equal", "pieces": pieces})
    if positions is not None:
        asked.append({"mode": "positions", "split_positions": list(positions)})
    if size is not None:
        asked.append({"mode": "fixed_size", "size": size})
    if depth is not None:
        asked.append({"mode": "module_path", "depth": depth})
    if single_op:
        asked.append({"mode": "single_op"})
    if blocks:
        asked.append({"mode": "blocks"})
    if len(asked) != 1:
        raise ValueError(
            "say where to cut in one way: config, pieces, positions, size, depth, "
            "single_op or blocks"
        )
    if style not in ("chain", "dag"):
        raise ValueError("style must be 'chain' or 'dag'")
    if to not in ("protobuf", "graphnet") or layout not in ("plain", "python"):
        raise ValueError("to must be 'protobuf' or 'graphnet', and layout 'plain' or 'python'")
    made = asked[0]
    made.setdefault("version", 2)
    if config is None:
        made["chain_style"] = style == "chain"
    text, parts, notes = _core._decompose(
        sample,
        json.dumps(made),
        None if folder is None else os.fspath(folder),
        to == "graphnet",
        layout == "python",
        folder is not None and has_torch(),
    )
    return Decomposition(parts, json.loads(text), notes)


def load_pieces(folder: str | os.PathLike[str], *, weights: bool = True) -> Decomposition:
    """Loads the pieces in a folder, as decompose, the tool or Python GraphNet wrote them."""
    text, parts = _core._load_pieces(os.fspath(folder), weights)
    return Decomposition(parts, None if text is None else json.loads(text), [])


def _samples_of(pieces: Decomposition | Sequence[Sample], style: str) -> tuple[bool, list[Sample]]:
    """Returns whether pieces form a chain, and the pieces."""
    chain = style == "chain"
    if isinstance(pieces, Decomposition):
        chain, pieces = pieces.is_chain, pieces.pieces
    elif not isinstance(pieces, collections.abc.Sequence):
        raise TypeError(f"the pieces must be a sequence of samples, not a {type(pieces).__name__}")
    samples = list(pieces)
    for piece in samples:
        require_sample(piece, "a piece")
    return chain, samples


def compose(
    pieces: Decomposition | Sequence[Sample], *, style: str = "chain", like: Sample | None = None
) -> Sample:
    """Joins pieces into one sample. like: a sample that gives the order of inputs, symbols and
    attributes."""
    chain, samples = _samples_of(pieces, style)
    if like is not None:
        require_sample(like, "like")
    return _core._compose(samples, chain, like)


def validate(
    original: Sample,
    pieces: str | os.PathLike[str] | Decomposition | Sequence[Sample],
    *,
    style: str = "chain",
    config: str = "",
) -> Validation:
    """Checks, without running anything, that pieces are the whole (docs/validate.md).

    pieces: samples, a Decomposition, or a folder of them, for which the configuration is checked,
    too. Returns the report: 'valid', 'findings' and what was counted.
    """
    require_sample(original, "the original")
    if isinstance(pieces, (str, os.PathLike)):
        return Validation(json.loads(_core._validate_stored(original, os.fspath(pieces), config)))
    chain, samples = _samples_of(pieces, style)
    return Validation(json.loads(_core._validate_pieces(original, samples, chain)))
