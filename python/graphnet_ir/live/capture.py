"""A capture: keeps, explains and verifies every graph that Dynamo makes of a call."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._guards import CompileContext, TracingContext

from graphnet_ir import _core
from graphnet_ir._core import Error
from graphnet_ir.fx import from_fx
from graphnet_ir.live.arguments import (
    TensorNumbers,
    named_arguments,
    origin_of_input,
    origin_of_result,
)
from graphnet_ir.live.captured import CaptureData, CapturedGraph, Step
from graphnet_ir.live.folder import write_capture
from graphnet_ir.live.guards import SkippedFrame, read_reason, short_path
from graphnet_ir.live.inputs import concrete_value, is_foreign, read_input, sizes
from graphnet_ir.live.report import capture_html, capture_records, explain_capture
from graphnet_ir.live.variants import merge_variants
from graphnet_ir.live.verifying import Verification

# Number of calls of graphs that are remembered in order; all calls are counted.
MAX_STEPS = 10_000

# The clock of Capture.seconds. If other programs run, time.process_time is more reliable.
clock = time.perf_counter


def _need_engine() -> None:
    """Raises Error if the interpreter cannot run."""
    from graphnet_ir.running import _need_torch

    _need_torch()
    _core._libtorch_version()


class Capture(CaptureData):
    """The graphs of all calls of one function or module, in the order in which they came."""

    def __init__(
        self,
        name: str,
        workspace: str | os.PathLike[str] | None = None,
        *,
        backward: bool = False,
        weights: bool = False,
        statistics: bool = True,
        verify: bool = False,
        to: str | None = None,
    ):
        if not name or os.path.basename(name) != name or name.startswith("."):
            raise ValueError("the name of a capture must be a valid name of a folder")
        if to not in (None, "graphnet", "protobuf"):
            raise ValueError("to must be 'graphnet' or 'protobuf'")
        super().__init__(name, to or ("protobuf" if weights else "graphnet"))
        self.workspace = None if workspace is None else os.fspath(workspace)
        self.backward, self.weights, self.statistics = backward, weights, statistics
        self.verify = verify
        self.seconds = 0.0  # time of capturing without Dynamo's own work
        self._lock = threading.RLock()
        self._numbers = TensorNumbers(self.tensors)
        self._verification = Verification(self, self._warn)
        self._begin_us = time.time_ns() // 1000
        self._process = os.getpid()
        self._saved_count = -1
        self._finished = 0  # graphs whose guards are complete
        self._last_metrics: Any = None
        self._warned: set[str] = set()

    # --- Called by Dynamo -------------------------------------------------------------------------

    def compile(
        self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any], **_: Any
    ) -> Callable[..., Any]:
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

        made = aot_autograd(
            fw_compiler=lower("forward"),
            bw_compiler=lower("backward"),
            inference_compiler=lower("forward"),
        )(gm, example_inputs)

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

    def _add(
        self, gm: torch.fx.GraphModule, kind: str, of: CapturedGraph | None = None
    ) -> CapturedGraph:
        compile_id = CompileContext.current_compile_id()
        context = TracingContext.try_get()
        reason = getattr(gm, "compile_subgraph_reason", None)
        ended = of.ended if of is not None else read_reason(reason)
        stack = ended.stack
        with self._lock:
            graph = CapturedGraph(
                len(self.graphs),
                of.compile_id if of is not None else str(compile_id),
                kind,
                stack[0].function if stack else "",
                ended,
                sum(
                    node.op not in ("placeholder", "output", "get_attr") for node in gm.graph.nodes
                ),
                [],
                of=None if of is None else of.index,
            )
            self.graphs.append(graph)
        graph.modes = {"grad": torch.is_grad_enabled(), "autocast": _autocast()}
        if of is None and context is not None:
            graph._raw_guards = list(context.guards_context.dynamo_guards)
            if context.fake_mode is not None and context.fake_mode.shape_env is not None:
                graph.relations = [str(guard.expr) for guard in context.fake_mode.shape_env.guards]
        for node in gm.graph.find_nodes(op="placeholder"):
            graph.inputs.append(read_input(node))
        self._read_metrics()
        return graph

    def _keep(self, graph: CapturedGraph, gm: torch.fx.GraphModule, values: Sequence[Any]) -> None:
        """Makes the sample. An error is recorded, and the program goes on without a sample."""
        name = f"{self.name}_{graph.index}"
        try:
            concrete = [concrete_value(value) for value in values]
            graph.is_foreign = any(map(is_foreign, concrete))
            for given, value in zip(graph.inputs, concrete):
                if isinstance(value, int) and not given.example:
                    graph.symbols[given.name] = int(value)
                elif isinstance(value, torch.Tensor):
                    given.example = sizes(value)
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                # A copy does not have fx's metas, which hold the inputs and Dynamo's own objects.
                graph.sample = from_fx(
                    gm, concrete, name=name, weights=self.weights, statistics=self.statistics
                ).copy()
            for node in graph.sample.graph.nodes:
                if node.location is not None:
                    node.location = (short_path(node.location[0]), node.location[1])
        except Exception as error:  # the user's program must run in any case
            graph.why_not = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"graph {graph.index} of {self.name} is not kept: {graph.why_not}", stacklevel=2
            )

    def _runner(
        self, graph: CapturedGraph, gm: torch.fx.GraphModule, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            self._count(graph)
            replay = self._verification.replay
            outputs = function(*args) if replay is None else replay.run(graph, gm, function, args)
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
            number = self._numbers.number
            taken = tuple(
                [number(value, origin_of_input, graph, i) for i, value in enumerate(args)]
            )
            made = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            given = tuple([number(value, origin_of_result, step) for value in made])
            self.steps.append(Step(graph.index, taken, given))

    # --- Calls ------------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        compiled: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Makes one call of the captured function, and saves the graphs that are new then."""
        tls = torch._dynamo.eval_frame.dynamo_tls
        outer = getattr(tls, "skip_reasons", None)
        begin = clock()
        if not self.arguments:
            self.arguments = named_arguments(function, args, kwargs, self._numbers)
        self.seconds += clock() - begin
        if self.verify:
            _need_engine()
        tls.skip_reasons = []
        try:
            if self.verify:
                return self._verification.call(function, compiled, args, kwargs)
            return compiled(*args, **kwargs)
        except Exception as error:
            self.raised = f"{type(error).__name__}: {error}"
            raise
        finally:
            begin = clock()
            self._read_skips(tls.skip_reasons or [])
            tls.skip_reasons = outer
            self._read_metrics()
            for graph in self.graphs[self._finished :]:
                graph.finish_guards()
            self._finished = len(self.graphs)
            self._save_what_is_new()
            if not self.graphs and self.raised is None:
                self._warn(
                    "no graph was captured: Dynamo left the call to Python"
                    + "".join(f"; {skip.function}: {skip.reason}" for skip in self.skipped[:1])
                )
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

    def _read_skips(self, reasons: Sequence[str]) -> None:
        """Returns the frames that Dynamo did not trace: 'name (file:line): why'."""
        if not reasons:
            return  # Most calls have none.
        # Functions of PyTorch and of Python itself do not belong to the user's program.
        others = tuple(
            os.path.dirname(os.path.abspath(file)) + os.sep
            for file in (torch.__file__, _core.__file__)
        )
        library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        for text in reasons:
            head, _, why = text.partition("): ")
            function, _, place = head.partition(" (")
            path, _, line = place.rpartition(":")
            is_python = path.startswith(library) and "-packages" not in path[len(library) :]
            if not path.startswith(others) and not is_python and line.isdigit():
                why = why.splitlines()[0].removeprefix(
                    "Dynamo decided to skip the frame while tracing: "
                )
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
                self._add_skip(
                    SkippedFrame(
                        row.co_name or "",
                        short_path(row.co_filename or ""),
                        row.co_firstlineno or 0,
                        " ".join((row.fail_reason or row.fail_type).split("\n")[0].split()),
                    )
                )

    # --- Results ----------------------------------------------------------------------------------

    def merge(self) -> None:
        """Finds recompilations that are cases of one graph (docs/capture.md)."""
        merge_variants(self.graphs)

    @property
    def folder(self) -> str | None:
        """The folder that is written after each call, or None without a workspace."""
        return None if self.workspace is None else os.path.join(self.workspace, self.name)

    def save(self, workspace: str | os.PathLike[str] | None = None) -> str:
        """Writes the folder, whole or not at all, and returns its path."""
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
        return explain_capture(self)

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each graph, with the facts of the table of explain and more."""
        return capture_records(self)

    def _repr_html_(self) -> str:
        return capture_html(self)

    def explain(self) -> None:
        """Prints the graphs: how often each ran, why and where it ended, and what there would be
        without the break."""
        print(self.report())


def _autocast() -> dict[str, str]:
    """Returns the dtype of autocast for each device on which it is on."""
    return {
        device: str(torch.get_autocast_dtype(device))[len("torch.") :]
        for device in ("cpu", "cuda")
        if torch.is_autocast_enabled(device)
    }
