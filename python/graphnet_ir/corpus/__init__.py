"""Corpora: many graphs stored once each, found by an index (docs/corpus.md).

    corpus = graphnet_ir.Corpus.create("corpus")
    corpus.add("samples")
    for hit in corpus.find("conv2d(groups>1)"):
        print(hit.hash, hit.matches, hit.names)

It needs pylance and pyarrow: pip install 'graphnet_ir[corpus]'.
"""

from typing import Any

_LAZY = {
    "Added": "adding",
    "Corpus": "store",
    "Finding": "verifying",
    "Found": "finding",
    "Hit": "finding",
}


def __getattr__(name: str) -> Any:
    # So that the command can say in one line that a package is missing.
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(f"graphnet_ir.corpus.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'graphnet_ir.corpus' has no attribute '{name}'")


__all__ = ["Added", "Corpus", "Finding", "Found", "Hit"]
