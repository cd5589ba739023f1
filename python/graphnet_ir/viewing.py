"""Shows graphs as pages, in a notebook or in a file."""

from __future__ import annotations

import os
import pathlib

from graphnet_ir import _core
from graphnet_ir._core import Graph, Module, Sample
from graphnet_ir._notebook import page_in_notebook


class Page:
    """A page of HTML. A notebook displays it, and `save` writes it to a file."""

    def __init__(self, html: str, height: int):
        self.html: str = html  # the whole page
        self.height: int = height  # in a notebook, in pixels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, which a browser shows without a network."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return page_in_notebook(self.html, self.height)


def viz(
    shown: Sample | Module | Graph,
    *,
    title: str = "",
    depth: int = -1,
    module: str = "",
    height: int = 500,
) -> Page:
    """Makes a page that shows a sample, with pan, zoom, search and modules that fold.

    Of a graph or module it shows the whole module. title: by default the name of the sample.
    depth: modules that are deeper are folded at first; -1 chooses one. module: the path of a
    submodule, which is then shown alone. height: of the page in a notebook, in pixels.
    """
    if isinstance(shown, Graph):
        shown = shown.owning_module
    sample = shown if isinstance(shown, Sample) else Sample(shown)
    return Page(_core.page(sample, title or sample.name, depth, module), height)
