"""Forward and backward graphs of samples, as a training step computes them.

    gradients = graphnet_ir.differentiate(sample)
    gradients.train_backward.save("backward.pb")

The command `graphnet differentiate` does it for many samples, each in a process with limits.
AOTAutograd traces the graph that to_fx makes of a sample, so no text of a sample runs as Python.
"""

from __future__ import annotations

from graphnet_ir._core import Sample
from graphnet_ir._errors import made_error, require_sample
from graphnet_ir.gradients.made import Compared, Gradients
from graphnet_ir.gradients.refusal import Refusal

__all__ = ["Compared", "Gradients", "differentiate"]


def differentiate(sample: Sample, *, seed: int = 0, inputs: bool = False) -> Gradients:
    """Makes the forward and backward graphs of a sample, and proves them.

    Parameters of floating-point dtypes require gradients; inputs: so do all other inputs of such
    dtypes. Symbols of the sample stay sizes of the graphs where they can, and the graphs are then
    proven at the example and two other sizes; otherwise sizes are those of the example, and `fixed`
    says why. The graphs run in graphnet's interpreter on inputs drawn
    with the seed, and must yield the results and gradients of PyTorch's eager autograd: in bits, or
    within rounding (docs/gradients.md).

    Raises Error of kind 'unimplemented' for a sample that has no gradients, names the operator
    without a derivative, and refuses with 'internal' what differs from eager autograd.
    """
    from graphnet_ir.gradients.differentiating import differentiate_sample

    require_sample(sample)
    try:
        return differentiate_sample(sample, seed, inputs)
    except Refusal as refusal:
        kind = "internal" if refusal.cause == "differs" else "unimplemented"
        raise made_error(kind, f"{refusal.cause}: {refusal}") from refusal
