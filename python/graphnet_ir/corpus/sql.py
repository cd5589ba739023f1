"""Answers queries of SQL about a corpus, by DuckDB over the tables as they lie on disk.

A query may come from a stranger. So it is one SELECT, and DuckDB runs without files, network,
extensions and variables of Python.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from graphnet_ir._errors import made_error
from graphnet_ir.corpus.engines import pa
from graphnet_ir.corpus.tables import Table

_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",  # It writes nothing to disk.
}

_datasets: Any = importlib.import_module("pyarrow.dataset")


class _Scanned(_datasets.Dataset):  # type: ignore[misc]
    """A table as DuckDB scans it: only the columns that a query needs are read.

    Lance cannot take DuckDB's filters, which refer to columns of fixed width, so Arrow applies
    them.
    """

    def __init__(self, table: Table):
        self._table = table
        fields = [field.remove_metadata() for field in table.dataset.schema]
        self._schema = pa.schema(
            [
                field.with_type(pa.binary()) if pa.types.is_fixed_size_binary(field.type) else field
                for field in fields
            ]
        )

    @property
    def schema(self) -> Any:
        return self._schema

    def scanner(self, columns: list[str] | None = None, filter: Any = None, **options: Any) -> Any:
        """What DuckDB calls for each scan."""
        shown = self._schema.names if columns is None else columns
        read = [*shown, *(name for name in self._filtered(filter) if name not in shown)]
        schema = pa.schema([self._schema.field(name) for name in read])

        def batches() -> Iterator[Any]:
            for batch in self._table.rows(read):
                yield batch.cast(schema)

        return _datasets.Scanner.from_batches(
            batches(), schema=schema, columns=shown, filter=filter, **options
        )

    def _filtered(self, filter: Any) -> list[str]:
        """Returns the columns that a filter needs: those without which it does not apply."""
        found: list[str] = []
        if filter is None:
            return found
        empty = self._schema.empty_table()
        for name in self._schema.names:
            try:
                empty.drop_columns([name]).filter(filter)
            except pa.ArrowInvalid:
                found.append(name)
        return found


def _duckdb() -> Any:
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise made_error(
            "failed_precondition",
            f"this needs duckdb: pip install 'graphnet_ir[corpus-sql]' ({error})",
        ) from error


def answer(
    corpus: Any, query: str, values: Sequence[Any] | None, seconds: float, memory: int
) -> Any:
    """Returns the result of a query as a pyarrow.Table."""
    duckdb = _duckdb()
    with duckdb.connect(":memory:", config={**_SETTINGS, "memory_limit": f"{memory}B"}) as engine:
        engine.register("graphs", _Scanned(corpus.graphs))
        engine.register("sources", _Scanned(corpus.sources))
        engine.execute("SET lock_configuration = true")
        late = threading.Event()

        def stop() -> None:
            late.set()
            engine.interrupt()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            statements = engine.extract_statements(query)
            if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                raise made_error("invalid_argument", "a query of a corpus is one SELECT")
            return engine.sql(statements[0], params=values).to_arrow_table()
        except duckdb.Error as error:
            text = " ".join(str(error).split())
            raise made_error(
                "invalid_argument",
                f"the query took more than {seconds:g} s" if late.is_set() else text[:500],
            ) from error
        finally:
            timer.cancel()
