"""What differentiate returns. This file does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from graphnet_ir._core import Sample


@dataclass(frozen=True)
class Compared:
    """How the results and gradients of the two graphs compare with those of eager autograd."""

    values: int  # number of tensors that were compared
    equal: int  # of which so many have the same bits
    largest: float  # difference, relative to the largest element of its tensor, of the others
    near: int = 0  # and so many, about 0 and all rounding, are as near to float64 as eager's

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            self.values + other.values,
            self.equal + other.equal,
            max(self.largest, other.largest),
            self.near + other.near,
        )

    @property
    def in_bits(self) -> bool:
        """Whether all have the same bits."""
        return self.equal == self.values


@dataclass(frozen=True)
class Gradients:
    """A sample as it is, and as a training step computes it."""

    eval_forward: Sample
    train_forward: Sample
    train_backward: Sample
    saved: list[str]  # results of train_forward, after its own, that train_backward takes first
    tangents: list[int]  # results whose tangents train_backward takes then
    learned: list[str]  # inputs whose gradients train_backward returns
    compared: Compared
    fixed: str = ""  # why the graphs have no symbols, though the sample has

    @property
    def symbols(self) -> list[str]:
        """The symbols that the graphs have as sizes."""
        return list(self.train_forward.module.symbols)
