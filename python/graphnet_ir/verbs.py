"""What can be done with a sample, as methods of it: sample.opt("cse,dce").decompose(pieces=4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir.identity import diff
from graphnet_ir.pieces import decompose
from graphnet_ir.rewriting import PassFunction, opt, rewrite
from graphnet_ir.running import prepare, run, shapes


class Verbs:
    """The methods that graphnet_ir adds to Sample: its functions that take a sample first."""

    decompose = decompose  # graphnet_ir.decompose of the sample
    diff = diff  # graphnet_ir.diff of the sample
    prepare = prepare  # graphnet_ir.prepare of the sample
    run = run  # graphnet_ir.run of the sample
    shapes = shapes  # graphnet_ir.shapes of the sample

    def opt(
        self,
        pipeline: str | PassFunction | Sequence[str | PassFunction],
        *,
        verify_each: bool = True,
    ) -> Sample:
        """Returns the sample that graphnet_ir.opt makes, which also says what each pass did."""
        return opt(cast(Sample, self), pipeline, verify_each=verify_each).sample

    def rewrite(self, rules: str, *, name: str = "<rules>") -> Sample:
        """Returns the sample that graphnet_ir.rewrite makes, which also counts the rules."""
        return rewrite(cast(Sample, self), rules, name=name)[0]

    def canonical_hash(self, *, metas: bool = False, weights: bool = False) -> str:
        """Returns graphnet_ir.canonical_hash of the sample."""
        return _core.canonical_hash(cast(Sample, self), metas=metas, weights=weights)

    def show(self, *, complete: bool = False) -> str:
        """Returns graphnet_ir.show of the sample."""
        return _core.show(cast(Sample, self), complete=complete)

    def page(self, title: str = "", depth: int = -1) -> str:
        """Returns graphnet_ir.page of the sample."""
        return _core.page(cast(Sample, self), title, depth)


def add_to_samples() -> None:
    """Makes the methods those of Sample, which a type checker sees as derived from Verbs."""
    for name, verb in vars(Verbs).items():
        if not name.startswith("_"):
            setattr(Sample, name, verb)
