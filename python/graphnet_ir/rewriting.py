"""Passes and patterns: those of the library, by name, and Python functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core, package_passes
from graphnet_ir._core import Graph, Sample
from graphnet_ir._errors import require_sample
from graphnet_ir._notebook import table

# A function that changes a graph and returns whether it did; None counts as True.
PassFunction = Callable[[Graph], Any]

_registered: dict[str, PassFunction] = {}


@dataclass(frozen=True)
class OptResult:
    """A rewritten sample, and a dict for each pass, with pass, changed, seconds, nodes_before,
    nodes_after and notes."""

    sample: Sample
    steps: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        """Returns whether any pass changed the sample."""
        return any(step["changed"] for step in self.steps)

    def records(self) -> list[dict[str, Any]]:
        """Returns the steps, a dict for each pass that ran."""
        return [dict(step) for step in self.steps]

    def _repr_html_(self) -> str:
        return table(self.steps)


def register_pass(name: str) -> Callable[[PassFunction], PassFunction]:
    """Registers a function under a name for the pipelines of this process.

    @graphnet_ir.register_pass("no-dropout")
    def no_dropout(graph):
        for node in graph.find_nodes(op="call_function", target="torch.dropout"):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)

    graphnet_ir.opt(sample, "no-dropout,dce")
    """
    if not name or not all(c.isalnum() or c in "-_" for c in name):
        raise ValueError("the name of a pass may only have letters, digits, '-' and '_'")
    if any(row["name"] == name for row in _core.passes()):
        raise ValueError(f"a pass {name} already exists")

    def register(function: PassFunction) -> PassFunction:
        _registered[name] = function
        return function

    return register


def _function_of(word: str) -> PassFunction | None:
    """Returns the function that a word of a pipeline names: a registered one, or one of a package."""
    if word in _registered:
        return _registered[word]
    if "{" in word or any(row["name"] == word for row in _core.passes()):
        return None
    point = package_passes.found().get(word)
    if point is None:
        return None
    function: PassFunction = point.load()
    return _registered.setdefault(word, function)


def _steps(
    pipeline: str | PassFunction | Sequence[str | PassFunction],
) -> list[tuple[str, str | PassFunction]]:
    """Returns the steps of a pipeline: a name for reports, and the text or function to run."""
    if isinstance(pipeline, str):
        steps: list[tuple[str, str | PassFunction]] = []
        # A name of a function has no braces, so commas separate it from the others.
        chunk: list[str] = []
        for word in _split(pipeline):
            function = _function_of(word)
            if function is None:
                chunk.append(word)
                continue
            if chunk:
                steps += [(s, s) for s in _core._split_pipeline(",".join(chunk))]
            chunk = []
            steps.append((word, function))
        if chunk:
            steps += [(s, s) for s in _core._split_pipeline(",".join(chunk))]
        return steps
    if callable(pipeline):
        return [(getattr(pipeline, "__name__", repr(pipeline)), pipeline)]
    if not isinstance(pipeline, Iterable):
        raise TypeError(
            "a pipeline is a text, a function, or a sequence of both, not "
            f"{type(pipeline).__name__}"
        )
    return [step for part in pipeline for step in _steps(part)]


def _split(text: str) -> list[str]:
    """Splits the text at commas outside of braces."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts + [text[begin:].strip()]


def opt(
    sample: Sample,
    pipeline: str | PassFunction | Sequence[str | PassFunction],
    *,
    verify_each: bool = True,
) -> OptResult:
    """Runs passes one after the other on a copy of a sample, which does not change itself.

    pipeline: text such as 'stabilize{allow=linear},dce' (graphnet_ir.passes() lists the names; others are
    those of register_pass and of packages, entry points of the group graphnet.passes), a function
    that takes a graph, or a sequence of both. A function is called for each graph of the module, and
    its exceptions are passed on. verify_each: verifies the module after each pass.
    """
    require_sample(sample)
    steps = _steps(pipeline)
    made = sample.copy()
    results: list[dict[str, Any]] = []
    for name, step in steps:
        if isinstance(step, str):
            results += _core._run_passes(made, step, verify_each)
            continue
        begin, before = time.perf_counter(), sum(len(graph) for graph in made.module.graphs)
        changed = False
        for graph in made.module.graphs:
            changed |= step(graph) is not False
        if verify_each:
            made.graph.lint()
        results.append(
            {
                "pass": name,
                "changed": changed,
                "seconds": time.perf_counter() - begin,
                "nodes_before": before,
                "nodes_after": sum(len(graph) for graph in made.module.graphs),
                "notes": [],
            }
        )
    return OptResult(made, results)


def rewrite(sample: Sample, rules: str, *, name: str = "<rules>") -> tuple[Sample, dict[str, int]]:
    """Applies rewrite rules (docs/optimising.md) to a copy of a sample until none matches. Returns
    it, and how often each rule was applied."""
    require_sample(sample)
    made = sample.copy()
    counts: dict[str, int] = {}
    for rule, count in _core._apply_rules(made, rules, name):
        counts[rule] = counts.get(rule, 0) + count
    return made, counts
