"""Tables, pages and bars that a notebook shows."""

from __future__ import annotations

import html
import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

MAX_ROWS = 1000  # of a table that is shown


def page_in_notebook(page: str, height: int = 500) -> str:
    """A page of HTML inside of another one, which its scripts and styles do not affect."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="{height}" '
        'style="border:1px solid #ccc" sandbox="allow-scripts"></iframe>'
    )


def table(
    records: Sequence[dict[str, Any]],
    columns: Sequence[str] | None = None,
    *,
    colour: Callable[[dict[str, Any]], str] | None = None,
) -> str:
    """Returns an HTML table with one row for each record.

    columns: the keys to show, in order; by default all keys of the first record. colour: a row's.
    """
    if columns is None:
        columns = list(records[0]) if records else []
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in columns) + "</tr>"]
    for record in records[:MAX_ROWS]:
        style = f' style="color:{colour(record)}"' if colour else ""
        lines.append(
            f"<tr{style}>"
            + "".join(
                f'<td style="text-align:left">{_cell(record.get(name))}</td>' for name in columns
            )
            + "</tr>"
        )
    lines.append("</table>")
    if len(records) > MAX_ROWS:
        lines.append(f"<p>These are the first {MAX_ROWS} of {len(records)} rows.</p>")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "<br>".join(_cell(element) for element in value)
    return html.escape(str(value))


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find() if find is not None else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Bar:
    """Shows the progress of long work, by tqdm.

        with Bar("loading", len(paths), progress) as bar:
            for path in paths:
                ...
                bar.advance()

    total: the number of steps, or a function that counts them and is called only if there is a bar.
    progress: whether there is a bar; by default there is one in a notebook, if tqdm is installed.
    """

    def __init__(self, what: str, total: int | Callable[[], int], progress: bool | None):
        self._bar: Any = None
        if progress is False or (progress is None and not in_notebook()):
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tqdm warns that it would like widgets.
                tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            if progress:
                warnings.warn("a bar needs tqdm: pip install 'graphnet_ir[notebook]'", stacklevel=3)
            return
        self._bar = tqdm(desc=what, total=total() if callable(total) else total)

    @property
    def is_shown(self) -> bool:
        """Returns whether there is a bar."""
        return self._bar is not None

    def advance(self, steps: int = 1) -> None:
        """Counts more steps as done."""
        if self._bar is not None and steps:
            self._bar.update(steps)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
