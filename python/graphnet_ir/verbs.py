"""What can be done with a sample, as methods of it: sample.opt("cse,dce").decompose(pieces=4)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from typing import cast as cast_to

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir._errors import made_error
from graphnet_ir.identity import diff
from graphnet_ir.pieces import decompose
from graphnet_ir.report import Report
from graphnet_ir.rewriting import PassFunction, opt, rewrite
from graphnet_ir.rounding import explain
from graphnet_ir.running import as_tensor, prepare, run, shapes


class Verbs:
    """The methods that graphnet_ir adds to Sample: its functions that take a sample first."""

    decompose = decompose  # graphnet_ir.decompose of the sample
    explain = explain  # graphnet_ir.explain of the sample
    diff = diff  # graphnet_ir.diff of the sample
    prepare = prepare  # graphnet_ir.prepare of the sample
    run = run  # graphnet_ir.run of the sample
    shapes = shapes  # graphnet_ir.shapes of the sample

    def load_weights(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        cast: bool = False,
        partial: bool = False,
    ) -> Report:
        """Puts the values of a checkpoint into the sample by name, as load_state_dict does.

        source: a file that `graphnet run --weights` takes (docs/models.md), or a state_dict of
        tensors of torch or numpy. cast: converts floats to the dtype of the sample. partial: takes
        what fits; otherwise a weight that is missing or has another shape is an error, and nothing
        is changed. Returns the names that are missing, kept, unused, or of another form.
        """
        if isinstance(source, Mapping):
            source = {name: as_tensor(value) for name, value in source.items()}
        text, refusal = _core._put_weights(cast_to(Sample, self), source, cast, partial)
        if refusal:
            raise made_error("failed_precondition", refusal)
        return Report(json.loads(text))

    def opt(
        self,
        pipeline: str | PassFunction | Sequence[str | PassFunction],
        *,
        verify_each: bool = True,
    ) -> Sample:
        """Returns the sample that graphnet_ir.opt makes, which also says what each pass did."""
        return opt(cast_to(Sample, self), pipeline, verify_each=verify_each).sample

    def rewrite(self, rules: str, *, name: str = "<rules>") -> Sample:
        """Returns the sample that graphnet_ir.rewrite makes, which also counts the rules."""
        return rewrite(cast_to(Sample, self), rules, name=name)[0]

    def canonical_hash(self, *, metas: bool = False, weights: bool = False) -> str:
        """Returns graphnet_ir.canonical_hash of the sample."""
        return _core.canonical_hash(cast_to(Sample, self), metas=metas, weights=weights)

    def show(self, *, complete: bool = False) -> str:
        """Returns graphnet_ir.show of the sample."""
        return _core.show(cast_to(Sample, self), complete=complete)

    def page(self, title: str = "", depth: int = -1, module: str = "") -> str:
        """Returns graphnet_ir.page of the sample."""
        return _core.page(cast_to(Sample, self), title, depth, module)


def add_to_samples() -> None:
    """Makes the methods those of Sample, which a type checker sees as derived from Verbs."""
    for name, verb in vars(Verbs).items():
        if not name.startswith("_"):
            setattr(Sample, name, verb)
