"""Says whether rounding explains the difference of two results (docs/rounding.md). This needs torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir.running import _given, _need_torch, _tensors, as_tensor


@dataclasses.dataclass(frozen=True)
class RoundingFinding:
    """Says of one output whether rounding explains its difference.

    verdict: "equal" in bits; "rounding"; "decision", if a comparison, a sort or the like falls
    otherwise and rounding explains the rest; "blind", if it would explain a wrong answer, too;
    "beyond"; or "other_form". ratio: the difference, as a part of what rounding explains. beyond: how many
    elements differ by more. decision: the call that fell otherwise, such as "aten::topk at %topk".
    text: all of it in a few words.
    """

    verdict: str
    ratio: float
    beyond: int
    decision: str
    text: str

    @property
    def explained(self) -> bool:
        """Whether the output is right: equal, or explained by rounding or by a decision within it."""
        return self.verdict in ("equal", "rounding", "decision")


def explain(
    sample: Sample, outputs: Any, *tensors: Any, values: dict[str, Any] | None = None, seed: int = 0
) -> list[RoundingFinding]:
    """Judges the outputs that another program, such as a compiled one, has computed for the same
    inputs: a tensor, or a list or tuple of them, as run returns them for the sample. tensors and values
    are those of run. Runs the sample some 17 to 33 times with random rounding and once in float64, on
    the CPU, unless all outputs are equal in bits. Error if there are more or fewer outputs."""
    _need_torch()
    if not isinstance(outputs, Sequence):
        outputs = [outputs]
    given = _tensors(_given(sample, tensors, values or {}))
    others = {f"o{i}": as_tensor(output) for i, output in enumerate(outputs)}
    return [
        RoundingFinding(verdict, ratio, beyond, decision, text)
        for verdict, ratio, beyond, decision, text in _core._explain(sample, given, others, seed)
    ]
