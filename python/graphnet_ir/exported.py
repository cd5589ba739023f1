"""Converts programs of torch.export to samples, and samples to programs of torch.export."""

from __future__ import annotations

import io

import torch
import torch.export

from graphnet_ir import _core
from graphnet_ir._core import Sample


def from_exported(program: torch.export.ExportedProgram, *, name: str = "exported") -> Sample:
    """Makes a sample of a program of torch.export, as reading its .pt2 file gives it.

    Parameters, buffers and constants come with their values. name: the name of the sample. Raises
    Error if a sample cannot hold the program.
    """
    file = io.BytesIO()
    torch.export.save(program, file)
    sample = _core.load_bytes(file.getvalue(), f"{name}.pt2")
    sample.name = name
    return sample


def to_exported(sample: Sample) -> torch.export.ExportedProgram:
    """Makes a program of torch.export that computes the same as a sample.

    Raises Error if a .pt2 file cannot hold the sample: a call that is not an operator of PyTorch, a
    value that is not known, an input of unknown shape.
    """
    return torch.export.load(io.BytesIO(_core.to_bytes(sample, "pt2")))
