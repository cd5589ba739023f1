"""Verified calls: each graph of a call is compared with graphnet's interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from graphnet_ir._errors import made_error
from graphnet_ir.live.captured import CaptureData, CapturedGraph, Verified
from graphnet_ir.live.replay import PieceRunner, differences, leaves
from graphnet_ir.live.state import State

_disable: Any = torch._dynamo.disable
# A call that is verified puts back what it reaches, so that only one at a time can do it.
_VERIFYING = threading.RLock()
# Seconds after which a call gives up to wait: it may itself be waited for by the other one.
VERIFY_PATIENCE = 60.0


class Verification:
    """Makes calls of a captured function twice, and compares them."""

    def __init__(self, data: CaptureData, warn: Callable[[str], None]):
        self._data = data
        self._warn = warn
        self.replay: Replay | None = None  # set while graphs are to be compared

    def call(
        self,
        function: Callable[..., Any],
        compiled: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Calls the function as it is, puts everything back, and calls it again, with each graph
        compared with graphnet's interpreter."""
        if not _VERIFYING.acquire(timeout=VERIFY_PATIENCE):
            return self._call_unproven(
                compiled, args, kwargs, ["another thread verifies a call for too long"]
            )
        try:
            try:
                state = State(function, args, kwargs)
            except Exception as error:  # of any kind: the user's program must run in any case
                return self._call_unproven(
                    compiled,
                    args,
                    kwargs,
                    [f"the state cannot be kept: {type(error).__name__}: {error}"],
                )
            if state.used_up:  # A second call would find it used up.
                return self._call_unproven(compiled, args, kwargs, state.used_up)
            return self._compare_calls(state, function, compiled, args, kwargs)
        finally:
            _VERIFYING.release()

    def _call_unproven(
        self,
        compiled: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        why: list[str],
    ) -> Any:
        """Calls the compiled function once. Nothing is compared."""
        self._add_verified(Verified(False, False, 0, 0, [], [], why))
        return compiled(*args, **kwargs)

    def _add_verified(self, row: Verified) -> None:
        self._data.verified.append(row)
        if row.unproven:
            self._warn("this call is not verified: " + "; ".join(row.unproven[:3]))

    def _compare_calls(
        self,
        state: Any,
        function: Callable[..., Any],
        compiled: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        expected: list[Any] = []
        raised: Exception | None = None
        try:
            # Run without Dynamo, even where the function calls compiled code.
            expected = leaves(_disable(function)(*args, **kwargs))
        except Exception as error:
            raised = error
        after = state.values()
        state.restore()
        outer, replay = self.replay, Replay()
        self.replay = replay
        found: list[str] = []
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
            self.replay = outer
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
        self._add_verified(
            Verified(
                not found and not unproven,
                (not found or is_dynamos) and not unproven,
                len(expected) + len(after),
                replay.runs,
                notes,
                found,
                unproven,
            )
        )
        if raised is not None and not found:
            raise raised
        lost = [
            graph
            for graph in self._data.graphs
            if graph.calls and graph.sample is None and not graph.is_foreign
        ]
        if lost:
            raise made_error(
                "unimplemented",
                f"graph {lost[0].index} of {self._data.name} ran and is "
                f"not kept: {lost[0].why_not}",
            )
        if replay.differences or (found and not is_dynamos and not unproven):
            raise made_error(
                "internal",
                f"the replay of {self._data.name} differs from eager: " + "; ".join(found[:3]),
            )
        return result


class Replay:
    """Compares graphs with the interpreter, and records which it could not run."""

    def __init__(self) -> None:
        self.runs = 0
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.unproven: list[str] = []
        self._runners: dict[int, Any] = {}

    def run(
        self,
        graph: CapturedGraph,
        gm: torch.fx.GraphModule,
        function: Callable[..., Any],
        args: Sequence[Any],
    ) -> Any:
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
