"""graphnet: computation graphs of PyTorch programs, from Python.

    import graphnet_ir

    sample = graphnet_ir.load("model.pt2")
    for node in sample.graph.nodes:
        print(node.format_node())
    graphnet_ir.opt(sample, "dce,cse").sample.save("smaller.pb")

Importing it does not import torch. Functions that run operators import it when first called.
"""

from typing import Any

from graphnet_ir._core import (
    Device,
    DType,
    Error,
    Graph,
    Layout,
    MemoryFormat,
    Module,
    Node,
    NodeList,
    Place,
    Sample,
    SymExpr,
    Tensor,
    TensorMeta,
    __version__,
    canonical_hash,
    find_matches,
    find_samples,
    folder_files,
    formats,
    load,
    load_bytes,
    normal_form,
    page,
    parse,
    passes,
    save,
    show,
    to_bytes,
)
from graphnet_ir._graphs import ArgsKwargsPair, Argument
from graphnet_ir.choosing import Choice, choose
from graphnet_ir.identity import GraphDiff, diff
from graphnet_ir.loading import load_samples
from graphnet_ir.pieces import Decomposition, Validation, compose, decompose, load_pieces, validate
from graphnet_ir.ranges import Recurrence, Recurring, recurring
from graphnet_ir.rewriting import OptResult, opt, register_pass, rewrite
from graphnet_ir.rounding import RoundingFinding, explain
from graphnet_ir.running import prepare, run, set_num_threads, shapes
from graphnet_ir.verbs import add_to_samples
from graphnet_ir.viewing import Page, viz

add_to_samples()
hash = canonical_hash  # its earlier name, which is not in __all__: it would hide Python's hash

_LAZY = {
    "Benchmark": "graphnet_ir.evaluation",
    "Capture": "graphnet_ir.live.capture",
    "Corpus": "graphnet_ir.corpus.store",
    "Gradients": "graphnet_ir.gradients",
    "Scores": "graphnet_ir.evaluation",
    "bench": "graphnet_ir.evaluation",
    "capture": "graphnet_ir.live.wrapping",
    "captured": "graphnet_ir.live.backend",
    "Report": "graphnet_ir.report",
    "Catalogued": "graphnet_ir.corpus.catalogue",
    "catalogue": "graphnet_ir.corpus.catalogue",
    "coverage": "graphnet_ir.corpus.covering",
    "differentiate": "graphnet_ir.gradients",
    "extract": "graphnet_ir.live.wrapping",
    "from_fx": "graphnet_ir.fx",
    "to_fx": "graphnet_ir.fx",
    "from_exported": "graphnet_ir.exported",
    "score": "graphnet_ir.evaluation",
    "smallest": "graphnet_ir.corpus.covering",
    "to_exported": "graphnet_ir.exported",
    "torch_dataset": "graphnet_ir.corpus.torch_data",
}


def __getattr__(name: str) -> Any:
    # Modules that import torch, or many others, are imported when they are first used.
    import importlib

    if name == "commands":
        return importlib.import_module("graphnet_ir.commands")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'graphnet_ir' has no attribute '{name}'")


__all__ = [
    "ArgsKwargsPair",
    "Argument",
    "Benchmark",
    "Capture",
    "Catalogued",
    "Choice",
    "Corpus",
    "DType",
    "Decomposition",
    "Device",
    "Error",
    "Gradients",
    "Graph",
    "GraphDiff",
    "Layout",
    "MemoryFormat",
    "Module",
    "Node",
    "NodeList",
    "OptResult",
    "Page",
    "Place",
    "Recurrence",
    "Recurring",
    "Report",
    "RoundingFinding",
    "Sample",
    "Scores",
    "SymExpr",
    "Tensor",
    "TensorMeta",
    "Validation",
    "__version__",
    "bench",
    "canonical_hash",
    "capture",
    "captured",
    "catalogue",
    "choose",
    "compose",
    "coverage",
    "decompose",
    "diff",
    "differentiate",
    "explain",
    "find_matches",
    "find_samples",
    "folder_files",
    "formats",
    "from_exported",
    "from_fx",
    "load",
    "load_bytes",
    "load_pieces",
    "load_samples",
    "normal_form",
    "opt",
    "page",
    "parse",
    "passes",
    "prepare",
    "recurring",
    "register_pass",
    "rewrite",
    "run",
    "save",
    "score",
    "set_num_threads",
    "shapes",
    "show",
    "smallest",
    "to_bytes",
    "to_exported",
    "to_fx",
    "torch_dataset",
    "validate",
    "viz",
]
