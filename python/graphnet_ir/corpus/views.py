"""Views: sets of graphs of a corpus, under names."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable

from graphnet_ir._errors import made_error
from graphnet_ir.corpus.durable import sync, write_file
from graphnet_ir.corpus.engines import pa, parquet
from graphnet_ir.corpus.schema import HASH

_SCHEMA = pa.schema([pa.field("hash", HASH, nullable=False)])
_FOLDER = "views"
_ENDING = ".parquet"


def save(corpus: str, name: str, hashes: Iterable[bytes]) -> None:
    """Writes a view over the one that has the name."""
    path = _path(corpus, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = io.BytesIO()
    parquet.write_table(
        pa.table([pa.array(list(dict.fromkeys(hashes)), HASH)], schema=_SCHEMA), data
    )
    write_file(path, data.getvalue())
    sync(corpus)


def load(corpus: str, name: str) -> list[bytes]:
    """Returns the hashes of a view, in their order."""
    path = _path(corpus, name)
    if not os.path.isfile(path):
        raise made_error("not_found", f"{corpus} has no view {name}")
    try:
        table = parquet.read_table(path)
        if not table.schema.equals(_SCHEMA):
            raise ValueError("it has other columns")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise made_error("data_loss", f"{path} cannot be read: {error}") from error
    return list(table.column("hash").to_pylist())


def names(corpus: str) -> list[str]:
    """Returns the names of all views."""
    try:
        there = os.listdir(os.path.join(corpus, _FOLDER))
    except FileNotFoundError:
        return []
    return sorted(name[: -len(_ENDING)] for name in there if name.endswith(_ENDING))


def _path(corpus: str, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
        raise made_error("invalid_argument", f"'{name}' is no name for a view")
    return os.path.join(corpus, _FOLDER, name + _ENDING)
