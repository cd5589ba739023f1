"""What the reader and the writer of torch.fx's graphs share: names under which facts travel along."""

from __future__ import annotations

from typing import Any

from graphnet_ir._core import Error, Sample
from graphnet_ir._errors import made_error

FILE = "torch_fx.json"  # the packing and defaults of inputs, and other facts of fx alone
META = "graphnet"  # the key of fx's node.meta and gm.meta under which ours travel along
PARAMETER = "torch.nn.parameter.Parameter"  # the written type of an attribute that is one


def refuse(message: str) -> Error:
    """Makes the error for what the IR or torch.fx cannot hold."""
    return made_error("unimplemented", message)


class Origin:
    """The sample that a graph module was made from. Copies of the module share it."""

    def __init__(self, sample: Sample | None = None) -> None:
        self.sample = sample

    def __deepcopy__(self, memo: Any) -> Origin:
        return self

    def __reduce__(self) -> Any:
        return Origin, ()  # A pickled module does not take it along.
