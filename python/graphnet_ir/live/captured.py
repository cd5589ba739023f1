"""What a capture holds: its graphs and their inputs, the calls in order, and what was verified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphnet_ir._core import Sample
from graphnet_ir.live.guards import (
    GraphBreak,
    GuardRecord,
    RawGuard,
    SkippedFrame,
    raw_guard,
    read_guard,
)


@dataclass
class GraphInput:
    """An input of a captured graph, and where it came from."""

    name: str
    source: str  # Dynamo's name: L['x']
    attribute: str | None  # the path of a parameter or buffer
    shape: list[int | str]
    example: list[Any]
    dtype: str
    device: str
    strides: list[int | str] | None = None
    requires_grad: bool = False


@dataclass
class CapturedGraph:
    """A graph that Dynamo, or AOTAutograd below it, handed over."""

    index: int
    compile_id: str  # frame/recompilation, as Dynamo counts them
    kind: str  # 'graph'; with backward=True also 'forward' and 'backward', of AOTAutograd
    function: str
    ended: GraphBreak
    num_ops: int
    inputs: list[GraphInput]
    sample: Sample | None = None
    why_not: str | None = None  # the reason if there is no sample
    is_foreign: bool = False  # an input is sparse, quantised, nested or of a class of its own
    of: int | None = None  # for 'forward' and 'backward', the graph that they were made from
    calls: int = 0
    recompiled: str | None = None  # the guard whose failure led to this graph
    merged_into: int | None = None  # the graph of which this one is a case
    apart: str | None = None  # why it is not merged with an earlier graph of its frame
    modes: dict[str, Any] = field(default_factory=dict)  # gradients and autocast where it ran
    relations: list[str] = field(default_factory=list)
    symbols: dict[str, int] = field(default_factory=dict)
    _raw_guards: list[Any] = field(default_factory=list, repr=False)
    _read_guards: list[GuardRecord] | None = field(default=None, repr=False)

    def finish_guards(self) -> None:
        """Releases Dynamo's guards, which are complete when the graph first runs."""
        if self._raw_guards and not isinstance(self._raw_guards[0], RawGuard):
            self._raw_guards = [raw_guard(guard) for guard in self._raw_guards]

    @property
    def guards(self) -> list[GuardRecord]:
        """The guards, once Dynamo has finished with the frame."""
        if self._read_guards is None:
            tensors = {
                given.source: {
                    "dtype": given.dtype,
                    "device": given.device,
                    "shape": given.shape,
                    "strides": given.strides,
                    "requires_grad": given.requires_grad,
                }
                for given in self.inputs
                if given.device
            }
            self.finish_guards()
            self._read_guards = [read_guard(guard, tensors) for guard in self._raw_guards]
            self._raw_guards = []
        return self._read_guards

    @property
    def frame(self) -> str:
        """The number of the frame, which all recompilations of a function share."""
        return self.compile_id.partition("/")[0]


@dataclass(frozen=True)
class Step:
    """One call of a graph: numbers of the tensors that it took and made."""

    graph: int
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]


@dataclass(frozen=True)
class Verified:
    """One call that was verified."""

    equal: bool  # True if graphs ran in the interpreter, and every bit is that of eager
    equal_to_dynamo: bool  # to Dynamo's graphs in their own code, where these differ from eager
    num_parts: int  # tensors and numbers that were compared: results, arguments, state
    runs: int  # runs of graphs by the interpreter
    notes: list[str]  # graphs that ran in their own code, with the reason
    differences: list[str]
    unproven: list[str] = field(default_factory=list)  # why nothing is called equal


class CaptureData:
    """The graphs of all calls of one function or module, in the order in which they came."""

    def __init__(self, name: str, to: str):
        self.name = name
        self.to = to  # 'graphnet' or 'protobuf': how samples are written
        self.graphs: list[CapturedGraph] = []  # all, in the order in which they came
        self.steps: list[Step] = []  # the first calls of graphs, in order
        self.arguments: list[tuple[str, Any]] = []
        self.tensors: list[
            dict[str, Any]
        ] = []  # that went between graphs, as the manifest has them
        self.skipped: list[SkippedFrame] = []  # functions that Dynamo left to Python
        self.verified: list[Verified] = []  # a row for each call that was replayed
        self.raised: str | None = None  # the exception that ended a call

    def kept(self) -> list[CapturedGraph]:
        """Returns the graphs that are written: those with a sample that are no other's case."""
        return [
            graph for graph in self.graphs if graph.sample is not None and graph.merged_into is None
        ]

    def __iter__(self) -> Iterator[CapturedGraph]:
        return iter(self.graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> CapturedGraph:
        return self.graphs[index]
