"""Converts programs of torch.export to samples, and samples to programs of torch.export."""

from __future__ import annotations

import io

import torch
import torch.export
from torch.utils._pytree import SERIALIZED_TYPE_TO_PYTHON_TYPE

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir._errors import require_sample


def from_exported(program: torch.export.ExportedProgram, *, name: str = "exported") -> Sample:
    """Makes a sample of a program of torch.export, as reading its .pt2 file gives it.

    Parameters, buffers and constants come with their values. name: the name of the sample. Raises
    Error if a sample cannot hold the program.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(
            f"the program must be a torch.export.ExportedProgram, not {type(program).__name__}"
        )
    file = io.BytesIO()
    torch.export.save(program, file)
    sample = _core.load_bytes(file.getvalue(), f"{name}.pt2")
    sample.name = name
    return sample


def to_exported(sample: Sample) -> torch.export.ExportedProgram:
    """Makes a program of torch.export that computes the same as a sample.

    In place of a class that this process has not registered with torch's pytree, such as a result
    of transformers before transformers is imported, the program takes or returns a tuple. Raises
    Error if a .pt2 file cannot hold the sample: a call that is not an operator of PyTorch, a value
    that is not known, an input of unknown shape.
    """
    require_sample(sample)
    known = [name for name in SERIALIZED_TYPE_TO_PYTHON_TYPE if isinstance(name, str)]
    return torch.export.load(io.BytesIO(_core._exported_bytes(sample, known)))
