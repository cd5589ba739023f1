"""Live capture: keeps, explains and verifies every graph that Dynamo makes of a call.

    import graphnet_ir

    model = graphnet_ir.extract(name="net", workspace="out")(model)
    model(x)                # out/net holds the graphs
    model.capture.explain()

torch.compile(model, backend="graphnet", options={"name": "net", "workspace": "out"}) does the same
for a program that calls torch.compile itself.
"""

from __future__ import annotations

import atexit
import copy
import copyreg
import functools
import os
import sys
import threading
import time
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

import torch
from torch._guards import CompileContext, TracingContext

from graphnet_ir import _core, fx
from graphnet_ir._core import Error, Sample
from graphnet_ir._errors import made_error
from graphnet_ir.guards import (GraphBreak, GuardRecord, RawGuard, SkippedFrame, attribute_of,
                                raw_guard, read_guard, read_reason, short_path)

# Number of calls of graphs that are remembered in order; all calls are counted.
MAX_STEPS = 10_000
# Larger arguments are recorded by their type.
MAX_DEPTH = 50
MAX_ITEMS = 10_000

# The clock of Capture.seconds. If other programs run, time.process_time is more reliable.
clock = time.perf_counter

_disable: Any = torch._dynamo.disable


def _need_engine() -> None:
    """Raises Error if the interpreter cannot run."""
    from graphnet_ir.running import _need_torch

    _need_torch()
    _core._libtorch_version()


@dataclass
class GraphInput:
    """An input of a captured graph, and where it came from."""

    name: str
    source: str  # Dynamo's name: L['x']
    attribute: Optional[str]  # the path of a parameter or buffer
    shape: List[Union[int, str]]
    example: List[Any]
    dtype: str
    device: str
    strides: Optional[List[Union[int, str]]] = None
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
    inputs: List[GraphInput]
    sample: Optional[Sample] = None
    why_not: Optional[str] = None  # the reason if there is no sample
    is_foreign: bool = False  # an input is sparse, quantised, nested or of a class of its own
    of: Optional[int] = None  # for 'forward' and 'backward', the graph that they were made from
    calls: int = 0
    recompiled: Optional[str] = None  # the guard whose failure led to this graph
    merged_into: Optional[int] = None  # the graph of which this one is a case
    apart: Optional[str] = None  # why it is not merged with an earlier graph of its frame
    modes: Dict[str, Any] = field(default_factory=dict)  # gradients and autocast where it ran
    relations: List[str] = field(default_factory=list)
    symbols: Dict[str, int] = field(default_factory=dict)
    _raw_guards: List[Any] = field(default_factory=list, repr=False)
    _read_guards: Optional[List[GuardRecord]] = field(default=None, repr=False)

    def finish_guards(self) -> None:
        """Releases Dynamo's guards, which are complete when the graph first runs."""
        if self._raw_guards and not isinstance(self._raw_guards[0], RawGuard):
            self._raw_guards = [raw_guard(guard) for guard in self._raw_guards]

    @property
    def guards(self) -> List[GuardRecord]:
        """The guards, once Dynamo has finished with the frame."""
        if self._read_guards is None:
            tensors = {given.source: {
                "dtype": given.dtype, "device": given.device, "shape": given.shape,
                "strides": given.strides, "requires_grad": given.requires_grad}
                for given in self.inputs if given.device}
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
    inputs: Tuple[Optional[int], ...]
    outputs: Tuple[Optional[int], ...]


@dataclass(frozen=True)
class Verified:
    """One call that was verified."""

    equal: bool  # True if graphs ran in the interpreter, and every bit is that of eager
    equal_to_dynamo: bool  # to Dynamo's graphs in their own code, where these differ from eager
    num_parts: int  # tensors and numbers that were compared: results, arguments, state
    runs: int  # runs of graphs by the interpreter
    notes: List[str]  # graphs that ran in their own code, with the reason
    differences: List[str]
    unproven: List[str] = field(default_factory=list)  # why nothing is called equal


# A call that is verified puts back what it reaches, so that only one at a time can do it.
_VERIFYING = threading.RLock()
# Seconds after which a call gives up to wait: it may itself be waited for by the other one.
VERIFY_PATIENCE = 60.0


class Capture:
    """The graphs of all calls of one function or module, in the order in which they came."""

    def __init__(self, name: str, workspace: Optional[Union[str, os.PathLike[str]]] = None, *,
                 backward: bool = False, weights: bool = False, statistics: bool = True,
                 verify: bool = False, to: Optional[str] = None):
        if not name or os.path.basename(name) != name or name.startswith("."):
            raise ValueError("the name of a capture must be a valid name of a folder")
        if to not in (None, "graphnet", "protobuf"):
            raise ValueError("to must be 'graphnet' or 'protobuf'")
        self.name = name
        self.workspace = None if workspace is None else os.fspath(workspace)
        self.backward, self.weights, self.statistics = backward, weights, statistics
        self.verify = verify
        self.to = to or ("protobuf" if weights else "graphnet")
        self.graphs: List[CapturedGraph] = []  # all, in the order in which they came
        self.steps: List[Step] = []  # the first calls of graphs, in order
        self.arguments: List[Tuple[str, Any]] = []
        self.skipped: List[SkippedFrame] = []  # functions that Dynamo left to Python
        self.verified: List[Verified] = []  # a row for each call that was replayed
        self.raised: Optional[str] = None  # the exception that ended a call
        self.seconds = 0.0  # time of capturing without Dynamo's own work
        self._lock = threading.RLock()
        self._tensors = _TensorNumbers()
        self._replay: Optional[_Replay] = None
        self._begin_us = time.time_ns() // 1000
        self._process = os.getpid()
        self._saved_count = -1
        self._finished = 0  # graphs whose guards are complete
        self._last_metrics: Any = None
        self._warned: Set[str] = set()

    # --- Called by Dynamo -------------------------------------------------------------------------

    def compile(self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any],
                **_: Any) -> Callable[..., Any]:
        """Keeps a graph, as the backend of torch.compile, and returns the code that runs for it."""
        begin = clock()
        graph = self._add(gm, "graph")
        self._keep(graph, gm, example_inputs)
        self.seconds += clock() - begin
        if not self.backward:
            return self._runner(graph, gm, gm.forward)
        from torch._dynamo.backends.common import aot_autograd

        def lower(kind: str) -> Callable[..., Any]:
            def compile_part(part: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
                return self._compile_part(part, graph, kind)

            return compile_part

        made = aot_autograd(fw_compiler=lower("forward"), bw_compiler=lower("backward"),
                            inference_compiler=lower("forward"))(gm, example_inputs)

        def run(*args: Any) -> Any:
            self._count(graph)
            return made(*args)

        return run

    def _compile_part(self, gm: torch.fx.GraphModule, of: CapturedGraph, kind: str) -> Any:
        """Keeps a forward or backward graph of AOTAutograd."""
        from torch._functorch._aot_autograd.utils import make_boxed_func

        begin = clock()
        part = self._add(gm, kind, of)
        self.seconds += clock() - begin
        run = self._runner(part, gm, gm.forward)

        def first(*args: Any) -> Any:
            # The inputs that AOTAutograd compiles for have no data, unlike those of the first call.
            if part.sample is None and part.why_not is None:
                begin = clock()
                self._keep(part, gm, args)
                self.seconds += clock() - begin
            return run(*args)

        return make_boxed_func(first)

    def _add(self, gm: torch.fx.GraphModule, kind: str,
             of: Optional[CapturedGraph] = None) -> CapturedGraph:
        compile_id = CompileContext.current_compile_id()
        context = TracingContext.try_get()
        reason = getattr(gm, "compile_subgraph_reason", None)
        ended = of.ended if of is not None else read_reason(reason)
        stack = ended.stack
        with self._lock:
            graph = CapturedGraph(
                len(self.graphs),
                of.compile_id if of is not None else str(compile_id), kind,
                stack[0].function if stack else "", ended,
                sum(node.op not in ("placeholder", "output", "get_attr")
                    for node in gm.graph.nodes),
                [], of=None if of is None else of.index)
            self.graphs.append(graph)
        graph.modes = {"grad": torch.is_grad_enabled(), "autocast": _autocast()}
        if of is None and context is not None:
            graph._raw_guards = list(context.guards_context.dynamo_guards)
            if context.fake_mode is not None and context.fake_mode.shape_env is not None:
                graph.relations = [str(guard.expr)
                                   for guard in context.fake_mode.shape_env.guards]
        for node in gm.graph.find_nodes(op="placeholder"):
            graph.inputs.append(_read_input(node))
        self._read_metrics()
        return graph

    def _keep(self, graph: CapturedGraph, gm: torch.fx.GraphModule, values: Sequence[Any]) -> None:
        """Makes the sample. An error is recorded, and the program goes on without a sample."""
        name = f"{self.name}_{graph.index}"
        try:
            concrete = [_concrete(value) for value in values]
            graph.is_foreign = any(map(_is_foreign, concrete))
            for given, value in zip(graph.inputs, concrete):
                if isinstance(value, int) and not given.example:
                    graph.symbols[given.name] = int(value)
                elif isinstance(value, torch.Tensor):
                    given.example = _sizes(value)
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                # A copy does not have fx's metas, which hold the inputs and Dynamo's own objects.
                graph.sample = fx.from_fx(gm, concrete, name=name, weights=self.weights,
                                          statistics=self.statistics).copy()
            for node in graph.sample.graph.nodes:
                if node.location is not None:
                    node.location = (short_path(node.location[0]), node.location[1])
        except Exception as error:  # the user's program must run in any case
            graph.why_not = f"{type(error).__name__}: {error}"
            warnings.warn(f"graph {graph.index} of {self.name} is not kept: {graph.why_not}",
                          stacklevel=2)

    def _runner(self, graph: CapturedGraph, gm: torch.fx.GraphModule,
                function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            self._count(graph)
            replay = self._replay
            outputs = (function(*args) if replay is None
                       else replay.run(graph, gm, function, args))
            self._record_step(graph, args, outputs)
            return outputs

        return run

    def _count(self, graph: CapturedGraph) -> None:
        with self._lock:
            graph.calls += 1
            if graph.calls == 1:
                begin = clock()
                graph.finish_guards()
                self.seconds += clock() - begin

    def _record_step(self, graph: CapturedGraph, args: Sequence[Any], outputs: Any) -> None:
        with self._lock:
            if len(self.steps) >= MAX_STEPS:
                return
            step = len(self.steps)
            number = self._tensors.number
            taken = tuple([number(value, _origin, graph, i) for i, value in enumerate(args)])
            made = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            given = tuple([number(value, _step, step) for value in made])
            self.steps.append(Step(graph.index, taken, given))

    # --- Calls ------------------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], compiled: Callable[..., Any],
             args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Makes one call of the captured function, and saves the graphs that are new then."""
        tls = torch._dynamo.eval_frame.dynamo_tls
        outer = getattr(tls, "skip_reasons", None)
        begin = clock()
        if not self.arguments:
            self.arguments = _named_arguments(function, args, kwargs, self._tensors)
        self.seconds += clock() - begin
        if self.verify:
            _need_engine()
        tls.skip_reasons = []
        try:
            if self.verify:
                return self._call_and_verify(function, compiled, args, kwargs)
            return compiled(*args, **kwargs)
        except Exception as error:
            self.raised = f"{type(error).__name__}: {error}"
            raise
        finally:
            begin = clock()
            self._read_skips(tls.skip_reasons or [])
            tls.skip_reasons = outer
            self._read_metrics()
            for graph in self.graphs[self._finished:]:
                graph.finish_guards()
            self._finished = len(self.graphs)
            self._save_what_is_new()
            if not self.graphs and self.raised is None:
                self._warn("no graph was captured: Dynamo left the call to Python"
                           + "".join(f"; {skip.function}: {skip.reason}"
                                     for skip in self.skipped[:1]))
            self.seconds += clock() - begin

    def _warn(self, text: str) -> None:
        """Warns once for each text."""
        if text not in self._warned:
            self._warned.add(text)
            warnings.warn(f"{self.name}: {text}", stacklevel=4)

    def _save_what_is_new(self) -> None:
        if self.workspace is None or self._saved_count == len(self.graphs):
            return
        try:
            self.save()
        except Error as error:
            if self.raised is None:
                raise
            # The program's own exception is raised.
            warnings.warn(f"{self.name} was not saved: {error}", stacklevel=3)

    def _call_and_verify(self, function: Callable[..., Any], compiled: Callable[..., Any],
                         args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Calls the function as it is, puts everything back, and calls it again, with each graph
        compared with graphnet's interpreter."""
        from graphnet_ir.capture_state import State

        if not _VERIFYING.acquire(timeout=VERIFY_PATIENCE):
            return self._call_unproven(compiled, args, kwargs,
                                       ["another thread verifies a call for too long"])
        try:
            try:
                state = State(function, args, kwargs)
            except Exception as error:  # of any kind: the user's program must run in any case
                return self._call_unproven(compiled, args, kwargs, [
                    f"the state cannot be kept: {type(error).__name__}: {error}"])
            if state.used_up:  # A second call would find it used up.
                return self._call_unproven(compiled, args, kwargs, state.used_up)
            return self._compare_calls(state, function, compiled, args, kwargs)
        finally:
            _VERIFYING.release()

    def _call_unproven(self, compiled: Callable[..., Any], args: Tuple[Any, ...],
                       kwargs: Dict[str, Any], why: List[str]) -> Any:
        """Calls the compiled function once. Nothing is compared."""
        self._add_verified(Verified(False, False, 0, 0, [], [], why))
        return compiled(*args, **kwargs)

    def _add_verified(self, row: Verified) -> None:
        with self._lock:
            self.verified.append(row)
        if row.unproven:
            self._warn("this call is not verified: " + "; ".join(row.unproven[:3]))

    def _compare_calls(self, state: Any, function: Callable[..., Any], compiled: Callable[..., Any],
                       args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        from graphnet_ir.capture_replay import differences, leaves

        expected: List[Any] = []
        raised: Optional[Exception] = None
        try:
            # Run without Dynamo, even where the function calls compiled code.
            expected = leaves(_disable(function)(*args, **kwargs))
        except Exception as error:
            raised = error
        after = state.values()
        state.restore()
        outer, replay = self._replay, _Replay()
        self._replay = replay
        found: List[str] = []
        try:
            result = compiled(*args, **kwargs)
            got = leaves(result)
        except Exception as error:
            if raised is None or type(error) is not type(raised):
                raise
            got = []
        else:
            if raised is not None:
                found.append(f"eager raises {type(raised).__name__}, and the replay does not")
        finally:
            self._replay = outer
        unproven = list(dict.fromkeys([*state.unkept, *replay.unproven]))
        for name, one, other in (("result", expected, got), ("state", after, state.values())):
            more, unknown = differences(name, one, other)
            found += more
            unproven += unknown
        notes = sorted(set(replay.notes))
        if replay.runs == 0 and raised is None:
            unproven.append("no graph ran in the interpreter")
        # Dynamo itself may compute differently from eager, as in optimisers.
        is_dynamos = not replay.differences and raised is None
        found = replay.differences + found
        self._add_verified(Verified(
            not found and not unproven, (not found or is_dynamos) and not unproven,
            len(expected) + len(after), replay.runs, notes, found, unproven))
        if raised is not None and not found:
            raise raised
        lost = [graph for graph in self.graphs
                if graph.calls and graph.sample is None and not graph.is_foreign]
        if lost:
            raise made_error("unimplemented", f"graph {lost[0].index} of {self.name} ran and is "
                             f"not kept: {lost[0].why_not}")
        if replay.differences or (found and not is_dynamos and not unproven):
            raise made_error("internal", f"the replay of {self.name} differs from eager: "
                             + "; ".join(found[:3]))
        return result

    def _read_skips(self, reasons: Sequence[str]) -> None:
        """Returns the frames that Dynamo did not trace: 'name (file:line): why'."""
        if not reasons:
            return  # Most calls have none.
        # Functions of PyTorch and of Python itself do not belong to the user's program.
        others = tuple(os.path.dirname(os.path.abspath(file)) + os.sep
                       for file in (torch.__file__, __file__))
        library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        for text in reasons:
            head, _, why = text.partition("): ")
            function, _, place = head.partition(" (")
            path, _, line = place.rpartition(":")
            is_python = path.startswith(library) and "-packages" not in path[len(library):]
            if not path.startswith(others) and not is_python and line.isdigit():
                why = why.splitlines()[0].removeprefix("Dynamo decided to skip the frame while "
                                                       "tracing: ")
                self._add_skip(SkippedFrame(function, short_path(path), int(line), why))

    def _add_skip(self, skip: SkippedFrame) -> None:
        if skip not in self.skipped:
            self.skipped.append(skip)

    def _read_metrics(self) -> None:
        """Collects why frames were compiled again, and which could not be compiled."""
        metrics = torch._dynamo.utils.get_compilation_metrics()
        if not metrics or metrics[-1] is self._last_metrics:
            return  # Nothing was compiled since.
        self._last_metrics = metrics[-1]
        by_id = {graph.compile_id: graph for graph in self.graphs if graph.of is None}
        for row in reversed(metrics):
            if (getattr(row, "start_time_us", None) or 0) < self._begin_us:
                break
            graph = by_id.get(row.compile_id or "")
            if graph is not None and row.recompile_reason and graph.recompiled is None:
                text = str(row.recompile_reason).splitlines()[0]
                graph.recompiled = text.partition("#")[0].strip().partition(": ")[2]
            if graph is not None and row.co_name:
                graph.function = row.co_name
            if row.fail_type and graph is None:
                self._add_skip(SkippedFrame(
                    row.co_name or "", short_path(row.co_filename or ""), row.co_firstlineno or 0,
                    " ".join((row.fail_reason or row.fail_type).split("\n")[0].split())))

    # --- Results ----------------------------------------------------------------------------------

    def merge(self) -> None:
        """Finds recompilations that are cases of one graph (docs/capture.md)."""
        from graphnet_ir.capture_variants import merge_variants

        merge_variants(self.graphs)

    def kept(self) -> List[CapturedGraph]:
        """Returns the graphs that are written: those with a sample that are no other's case."""
        return [graph for graph in self.graphs
                if graph.sample is not None and graph.merged_into is None]

    def __iter__(self) -> Iterator[CapturedGraph]:
        return iter(self.graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> CapturedGraph:
        return self.graphs[index]

    @property
    def tensors(self) -> List[Dict[str, Any]]:
        """Returns a dict for each tensor that went between graphs, as the manifest has them."""
        return self._tensors.rows

    @property
    def folder(self) -> Optional[str]:
        """The folder that is written after each call, or None without a workspace."""
        return None if self.workspace is None else os.path.join(self.workspace, self.name)

    def save(self, workspace: Optional[Union[str, os.PathLike[str]]] = None) -> str:
        """Writes the folder, whole or not at all, and returns its path."""
        from graphnet_ir.capture_folder import write_capture

        where = self.workspace if workspace is None else os.fspath(workspace)
        if where is None:
            raise ValueError("no workspace was given to save to")
        with self._lock:
            self.merge()
            path = write_capture(self, where)
            self._saved_count = len(self.graphs)
        return path

    def report(self) -> str:
        """Returns the table that explain prints."""
        from graphnet_ir.capture_folder import explain_capture

        return explain_capture(self)

    def records(self) -> List[Dict[str, Any]]:
        """Returns a dict for each graph, with the facts of the table of explain and more."""
        from graphnet_ir.capture_report import capture_records

        return capture_records(self)

    def _repr_html_(self) -> str:
        from graphnet_ir.capture_report import capture_html

        return capture_html(self)

    def explain(self) -> None:
        """Prints the graphs: how often each ran, why and where it ended, and what there would be
        without the break."""
        print(self.report())


class _Replay:
    """Compares graphs with the interpreter, and records which it could not run."""

    def __init__(self) -> None:
        self.runs = 0
        self.notes: List[str] = []
        self.differences: List[str] = []
        self.unproven: List[str] = []
        self._runners: Dict[int, Any] = {}

    def run(self, graph: CapturedGraph, gm: torch.fx.GraphModule, function: Callable[..., Any],
            args: Sequence[Any]) -> Any:
        from graphnet_ir.capture_replay import PieceRunner

        if graph.sample is None:
            self.unproven.append(f"graph {graph.index} is not kept: {graph.why_not}")
            return function(*args)
        if graph.index not in self._runners:
            self._runners[graph.index] = PieceRunner(graph.sample, gm, function)
        runner = self._runners[graph.index]
        runs = runner.runs
        outputs, found, unknown = runner.run(args)
        self.notes += [f"graph {graph.index}: {note}" for note in runner.notes]
        self.runs += runner.runs > runs
        self.differences += [f"{text} (graph {graph.index})" for text in found]
        self.unproven += [f"{text} (graph {graph.index})" for text in unknown]
        return outputs


class _TensorNumbers:
    """The numbers of tensors, by identity, that the manifest uses."""

    def __init__(self) -> None:
        # By the addresses of tensors, with references that say whether they are still there.
        self._numbers: Dict[int, Tuple[Any, int]] = {}
        self.rows: List[Dict[str, Any]] = []

    def number(self, value: Any, origin: Callable[..., Dict[str, Any]], *of: Any) -> Optional[int]:
        """Returns the number of a tensor. A new one is said to come from origin(*of)."""
        if value is None:
            return None
        known = self._numbers.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        if not isinstance(value, torch.Tensor):
            return None
        number = len(self.rows)
        self._numbers[id(value)] = (weakref.ref(value), number)
        shape = _sizes(value)
        self.rows.append({"tensor": number, "from": origin(*of),
                          "dtype": str(value.dtype)[len("torch."):],
                          "device": str(value.device), "shape": shape, "example": shape})
        return number


def _input(name: str) -> Dict[str, Any]:
    return {"input": name}


def _step(step: int) -> Dict[str, Any]:
    return {"step": step}


def _origin(graph: CapturedGraph, i: int) -> Dict[str, Any]:
    """Returns the origin of an input that no earlier graph made."""
    if graph.kind != "graph" or i >= len(graph.inputs):
        return {"local": None}
    given = graph.inputs[i]
    if given.attribute is not None:
        return {"attribute": given.attribute}
    return {"local": given.source or given.name}


def _read_input(node: torch.fx.Node) -> GraphInput:
    argument = node.meta.get("grapharg")
    try:
        source = str(argument.source.name) if argument is not None else ""
    except Exception:  # some sources have no name
        source = ""
    fake: Any = node.meta.get("example_value", node.meta.get("val"))
    is_tensor = isinstance(fake, torch.Tensor)
    is_strided = is_tensor and fake.layout == torch.strided
    shape = [_size(size) for size in fake.shape] if is_tensor else []
    return GraphInput(str(node.target), source, attribute_of(source), shape, [],
                      str(fake.dtype)[len("torch."):] if is_tensor else type(fake).__name__,
                      str(fake.device) if is_tensor else "",
                      [_size(size) for size in fake.stride()] if is_strided else None,
                      is_tensor and fake.requires_grad)


def _autocast() -> Dict[str, str]:
    """Returns the dtype of autocast for each device on which it is on."""
    return {device: str(torch.get_autocast_dtype(device))[len("torch."):]
            for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)}


def _size(size: Any) -> Union[int, str]:
    return size if isinstance(size, int) else str(size)


def _sizes(tensor: torch.Tensor) -> List[Any]:
    """Returns the sizes as numbers; those of nested tensors that are not numbers as texts."""
    try:
        return [int(size) for size in tensor.shape]
    except (AttributeError, RuntimeError):
        return [str(size) for size in getattr(tensor, "shape", ())]


def _is_foreign(value: Any) -> bool:
    """Returns whether a value is a tensor of a kind that the IR does not have."""
    return isinstance(value, torch.Tensor) and (
        value.layout != torch.strided or value.is_quantized or value.is_nested
        or type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer))


def _concrete(value: Any) -> Any:
    """Returns an input with the numbers of this call in the place of symbols."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        hint = value.node.hint
        return value if hint is None else hint
    return value


def _named_arguments(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any],
                     numbers: _TensorNumbers) -> List[Tuple[str, Any]]:
    """Returns the arguments of a call as the manifest has them: name and value."""
    import inspect

    plain = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        bound = dict(inspect.signature(plain).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        bound = {f"args_{i}": value for i, value in enumerate(args)} | kwargs

    above: Set[int] = set()  # containers that hold the value

    def tree(value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            return {"tensor": numbers.number(value, _input, name)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        kind = {"python": f"{type(value).__module__}.{type(value).__qualname__}"}
        if (not isinstance(value, (list, tuple, dict)) or id(value) in above
                or len(above) >= MAX_DEPTH or len(value) > MAX_ITEMS):
            return kind  # an object; or a container that holds itself, or is large
        above.add(id(value))
        try:
            if isinstance(value, list):
                return {"list": [tree(item, f"{name}[{i}]") for i, item in enumerate(value)],
                        "type": "List"}
            if isinstance(value, tuple):
                return {"tuple": [tree(item, f"{name}[{i}]") for i, item in enumerate(value)]}
            return {"dict": [[_text_of(key), tree(item, f"{name}[{_text_of(key, repr)}]")]
                             for key, item in value.items()], "type": "Dict"}
        finally:
            above.remove(id(value))

    return [(name, tree(value, name)) for name, value in bound.items()]


def _text_of(value: Any, form: Callable[[Any], str] = str) -> str:
    """Returns the text of a key; the name of its type if it has none."""
    try:
        return form(value)
    except Exception:  # of any kind: it is the user's code
        return type(value).__qualname__


class Extracted:
    """The result of extract for what is no module of Python: calls go through its capture; all else
    is the wrapped object's, also what is set."""

    _OWN = frozenset(("capture", "__wrapped__", "_compiled", "_call", "_how",
                      *functools.WRAPPER_ASSIGNMENTS))

    def __init__(self, target: Callable[..., Any], capture: Capture, *, dynamic: Optional[bool],
                 fullgraph: bool):
        self.capture = capture
        self.__wrapped__ = target
        if not isinstance(target, torch.nn.Module):
            functools.update_wrapper(self, target, updated=())
        self._how: Dict[str, Any] = {"dynamic": dynamic, "fullgraph": fullgraph}
        self._compiled = torch.compile(target, backend=capture.compile, dynamic=dynamic,
                                       fullgraph=fullgraph)

        # Inside of another compiled program, Dynamo does not trace this.
        self._call = _disable(capture.call, recursive=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self.__wrapped__, self._compiled, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Binds a decorated method to its object."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name in self._OWN:
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Extracted":
        """Copies the wrapped object; the copy goes on with the same capture."""
        return Extracted(copy.deepcopy(self.__wrapped__, memo), self.capture, **self._how)

    def __copy__(self) -> "Extracted":
        return Extracted(copy.copy(self.__wrapped__), self.capture, **self._how)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Is stored as its name if that names it, and otherwise as the wrapped object."""
        if _named(self) is self:
            return self.__qualname__
        return _stored, (self.__wrapped__,)

    def __repr__(self) -> str:
        return f"<graphnet_ir.extract of {self.__wrapped__!r}>"


def _stored(value: Any) -> Any:
    """Returns what a file has in the place of an Extracted."""
    return value


def _named(value: Any) -> Any:
    """Returns what the program has under the name of a function or class; None if nothing."""
    try:
        return functools.reduce(getattr, value.__qualname__.split("."),
                                sys.modules[value.__module__])
    except (AttributeError, KeyError):
        return None


def extract(target: Any = None, *, name: Optional[str] = None,
            workspace: Optional[Union[str, os.PathLike[str]]] = None,
            dynamic: Optional[bool] = None, fullgraph: bool = False, backward: bool = False,
            weights: bool = False, statistics: bool = True, verify: bool = False,
            to: Optional[str] = None) -> Any:
    """Captures the graphs of each call of a function, a module or the modules of a class.

        model = graphnet_ir.extract(name="resnet18", workspace="out")(model)

        @graphnet_ir.extract(workspace="out")
        def step(x): ...

    The result is called as before, and its attribute `capture` is a Capture. Each call that makes
    new graphs writes WORKSPACE/NAME (docs/capture.md). Nothing is written without a workspace and
    without the variable GRAPH_NET_EXTRACT_WORKSPACE.

    dynamic, fullgraph: as in torch.compile. backward: also keeps AOTAutograd's forward and backward
    graphs. weights: keeps the values of parameters and inputs, with to='protobuf'; by default,
    to='graphnet' writes GraphNet folders, which hold no weights. statistics: describes the values.
    verify: makes each call twice, once as it is and once with graphnet's interpreter in the place
    of each graph, and raises Error if a bit differs, or if a graph that ran was not kept.
    """
    if target is None:
        return functools.partial(extract, name=name, workspace=workspace, dynamic=dynamic,
                                 fullgraph=fullgraph, backward=backward, weights=weights,
                                 statistics=statistics, verify=verify, to=to)
    if workspace is None:
        workspace = os.environ.get("GRAPH_NET_EXTRACT_WORKSPACE") or None
    title = name or getattr(target, "__name__", None) or type(target).__name__
    capture = Capture(title.strip("<>"), workspace, backward=backward, weights=weights,
                      statistics=statistics, verify=verify, to=to)
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _extracting_class(target, capture, dynamic, fullgraph)
    if not callable(target):
        raise TypeError(f"extract takes a function, a module or a class of modules, "
                        f"not {type(target).__name__}")
    if isinstance(target, torch.nn.Module) and not isinstance(target, torch.jit.ScriptModule):
        made: Any = object.__new__(_extracting_class(type(target), capture, dynamic, fullgraph))
        made.__dict__ = target.__dict__  # One module with two classes: what one sets, both have.
        return made
    return Extracted(target, capture, dynamic=dynamic, fullgraph=fullgraph)


def _extracting_class(cls: Any, capture: Capture, dynamic: Optional[bool],
                      fullgraph: bool) -> Any:
    """Returns a class of the same name, whose modules capture their calls."""

    class Extracting(cls):  # type: ignore[misc]
        # Not in __dict__, which the module of the original class shares.
        __slots__ = ("_graphnet_through",)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            through = getattr(self, "_graphnet_through", None)
            if through is None:
                through = Extracted(_plain(self), capture, dynamic=dynamic, fullgraph=fullgraph)
                object.__setattr__(self, "_graphnet_through", through)
            return through(*args, **kwargs)

        def __deepcopy__(self, memo: Dict[int, Any]) -> Any:
            made = object.__new__(type(self))
            memo[id(self)] = made
            object.__setattr__(made, "__dict__", copy.deepcopy(_plain(self), memo).__dict__)
            return made

        def __copy__(self) -> Any:
            made = object.__new__(type(self))
            object.__setattr__(made, "__dict__", copy.copy(_plain(self)).__dict__)
            return made

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Is stored as a module of the class that the program has under the name."""
            plain = _plain(self)
            kind = type(self) if _named(type(self)) is type(self) else cls
            # As pickle does it; its usual function refuses an object of another class.
            return copyreg._reconstructor, (kind, object, None), (  # type: ignore[attr-defined]
                plain.__getstate__() if hasattr(plain, "__getstate__") else plain.__dict__)

    def _plain(module: Any) -> Any:
        """Returns the module of the original class with the same attributes."""
        plain = object.__new__(cls)
        plain.__dict__ = module.__dict__
        return plain

    Extracting.__name__, Extracting.__qualname__ = cls.__name__, cls.__qualname__
    Extracting.__module__, Extracting.__doc__ = cls.__module__, cls.__doc__
    Extracting.capture = capture
    return Extracting


_captures: Dict[Tuple[str, Optional[str]], Capture] = {}


def backend(gm: torch.fx.GraphModule, example_inputs: Sequence[Any],
            options: Optional[Dict[str, Any]] = None, **_: Any) -> Callable[..., Any]:
    """torch.compile(…, backend="graphnet", options={"name": …, "workspace": …}).

    Options are those of Capture except verify, since a backend never sees a whole call. Everything
    that is compiled under one name is one capture. captured(name) returns it, and it is saved when
    Python ends, or by its save().
    """
    options = dict(options or {})
    name = options.pop("name", "graphnet")
    workspace = options.pop("workspace", None) or os.environ.get("GRAPH_NET_EXTRACT_WORKSPACE")
    if options.pop("verify", False):
        raise made_error("unimplemented", "backend='graphnet' sees no whole call to verify: use "
                     "graphnet_ir.extract")
    key = (name, None if workspace is None else os.path.abspath(workspace))
    if key not in _captures:
        _captures[key] = Capture(name, workspace, **options)
    return _captures[key].compile(gm, example_inputs)


def captured(name: str = "graphnet") -> Capture:
    """Returns the capture that backend="graphnet" fills under a name."""
    found = [capture for (known, _), capture in _captures.items() if known == name]
    if not found:
        raise KeyError(f"nothing was compiled under the name {name}")
    return found[-1]


@atexit.register
def _save_all() -> None:
    for capture in _captures.values():
        # A forked process leaves the folder to its parent.
        if capture.workspace is not None and capture._process == os.getpid():
            try:
                capture.save()
            except (Error, OSError) as error:
                warnings.warn(f"{capture.name} was not saved: {error}", stacklevel=1)
