"""A table of a corpus in Lance: opened at one version, and added to by key."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphnet_ir import Error
from graphnet_ir._errors import made_error
from graphnet_ir.corpus import layout
from graphnet_ir.corpus.durable import SyncedFolder
from graphnet_ir.corpus.engines import lance, pa, pc
from graphnet_ir.corpus.schema import INDEXES, STORAGE

ROW_ID = "_rowid"
"""The column in which the engine numbers rows. `where` takes it, too."""

# A filter with more keys takes longer than a few filters.
_KEYS_A_FILTER = 1000
# To look for a key by the index takes as long as to look at so many rows.
_ROWS_A_KEY = 300
_ROWS_A_LOOK = 65_536
# The engine compares a key with all keys of a page, which would have 4,096.
_SMALL_PAGES = lance.indices.IndexConfig("btree", {"zone_size": 512})
# Compaction holds several batches of rows at a time.
_ROWS_A_COMPACTED_BATCH = 1024
# Rows behind the indexes are scanned, which these many do not feel.
_ROWS_BEHIND = 4096


def quoted(value: object) -> str:
    """Returns a value as a literal of a filter."""
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    raise made_error("invalid_argument", f"a filter cannot compare with {value!r}")


def any_of(column: str, values: Iterable[object]) -> str:
    """Returns the condition that a column has one of the values."""
    return f"{column} IN ({', '.join(map(quoted, values))})"


@contextlib.contextmanager
def engine_errors(path: str) -> Iterator[None]:
    """Makes the engine's exceptions Errors of one line."""
    try:
        yield
    except (Error, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # A panic in Rust is not an Exception.
        kind = type(error).__name__
        known = isinstance(error, (OSError, ValueError, RuntimeError, pa.ArrowException))
        if not known and kind != "PanicException":
            raise
        # The engine's messages end with places in its own sources.
        text = re.sub(r", (/|rust/|src/|<)\S+\.rs:\d+(:\d+)?", "", " ".join(str(error).split()))
        raise made_error(
            "invalid_argument" if "Invalid user input" in text else "data_loss",
            f"{path}: {text[:500] or kind}",
        ) from error


@contextlib.contextmanager
def _alone(version: int) -> Iterator[None]:
    """Is the engine's lock for a folder of which nobody else knows. Without a lock it needs hard
    links."""
    yield


class Table:
    """One version of a table; `key` is the column that tells rows apart."""

    def __init__(
        self, path: str, kind: str, key: str, schema: Any, version: int | str | None = None
    ):
        self.path = path
        self.schema = schema
        self.columns: list[str] = schema.names
        self._kind = kind
        self._key = key
        self._folder = SyncedFolder(path)
        torn, before = layout.cut_off(path)
        with engine_errors(path):
            self.dataset = lance.dataset(
                path,
                version=before if torn and version is None else version,
                commit_lock=self._before_commit,
            )
            if self.dataset.base_paths():
                # Its manifest could name any file of this machine or of the network.
                raise made_error("failed_precondition", f"{path} has files outside of its folder")
        for field in schema:
            place = self.dataset.schema.get_field_index(field.name)
            if place < 0 or not self.dataset.schema.field(place).equals(field):
                raise made_error("data_loss", f"{path} has no column {field.name} of its type")

    @staticmethod
    def create(path: str, kind: str, schema: Any) -> None:
        """Makes an empty table with its indexes."""
        with engine_errors(path):
            dataset = lance.write_dataset(
                schema.empty_table(),
                path,
                schema=schema,
                mode="create",
                data_storage_version=STORAGE,
                enable_stable_row_ids=True,
                commit_lock=_alone,
            )
            for column, index in INDEXES[kind].items():
                dataset.create_scalar_index(column, _SMALL_PAGES if index == "BTREE" else index)
        SyncedFolder(path).settle()

    @staticmethod
    def newest(path: str, kind: str, key: str, schema: Any) -> tuple[Table, str | None]:
        """Opens the newest version that can be opened, for a repair. Returns it and, if it is not
        the newest, why."""
        torn, before = layout.cut_off(path)
        try:
            return Table(path, kind, key, schema), (
                f"version {before} is taken, and what came later is lost: {torn[0]} was cut off"
                if torn
                else None
            )
        except Error as error:
            for version, _ in layout.manifests(path)[1:]:
                with contextlib.suppress(Error):
                    return (
                        Table(path, kind, key, schema, version),
                        f"version {version} is taken, and what came later is lost: {error}",
                    )
            raise error

    def __len__(self) -> int:
        with engine_errors(self.path):
            return int(self.dataset.count_rows())

    def refresh(self) -> None:
        """Goes on to the newest version."""
        torn, before = layout.cut_off(self.path)
        with engine_errors(self.path):
            if torn:
                self.dataset = self.dataset.checkout_version(before)
            else:
                self.dataset.checkout_latest()

    def settle(self) -> None:
        """Makes all that is in the table outlive a power cut."""
        self._folder.settle()

    @contextlib.contextmanager
    def _before_commit(self, version: int) -> Iterator[None]:
        """Is around each commit of the engine, which takes it for a lock (that is
        layout.committing). A manifest must not be on the disk before the files that it names."""
        self.settle()
        yield

    def insert(self, rows: Any, columns: Sequence[str] = ()) -> tuple[int, Any]:
        """Adds the rows whose key the table has not. Returns how many these are, and of the others
        the key and some columns as the table has them. Nobody else may commit meanwhile
        (layout.committing)."""
        self.refresh()
        keys = rows.column(self._key)
        known = self._with_keys([self._key, *columns], keys)
        if known.num_rows:
            rows = rows.filter(pc.invert(pc.is_in(keys, known.column(self._key).combine_chunks())))
        if rows.num_rows:
            with engine_errors(self.path):
                self.dataset = lance.write_dataset(
                    rows, self.dataset, mode="append", commit_lock=self._before_commit
                )
        return int(rows.num_rows), known

    def _with_keys(self, columns: list[str], keys: Any) -> Any:
        """Returns the rows that have one of the keys. For many keys it looks at all rows, which
        then takes less time than to ask the index."""
        if len(keys) * _ROWS_A_KEY < len(self):
            return self.where(columns, self._key, keys.to_pylist())
        wanted, found = keys.combine_chunks(), [self._none(columns)]
        for batch in self.rows(columns, batch=_ROWS_A_LOOK):
            batch = batch.filter(pc.is_in(batch.column(self._key), wanted))
            if batch.num_rows:
                found.append(pa.Table.from_batches([batch]))
        return pa.concat_tables(found)

    def _none(self, columns: list[str]) -> Any:
        return pa.schema([self.dataset.schema.field(name) for name in columns]).empty_table()

    def set_columns(self, rows: Any) -> None:
        """Gives rows values of columns that are not those of the table itself, by key. Columns that
        are there already keep the values of other rows."""
        with engine_errors(self.path):
            self.dataset.checkout_latest()
            there = self.dataset.schema.names
            new = [name for name in rows.column_names if name not in there]
            for field in map(rows.schema.field, rows.column_names):
                if field.name in there and self.dataset.schema.field(field.name).type != field.type:
                    raise made_error(
                        "failed_precondition",
                        f"column {field.name} is there already and has another type",
                    )
            if new:
                self.dataset.add_columns([rows.schema.field(name) for name in new])
            if rows.num_rows and len(rows.column_names) > 1:
                self.dataset.merge_insert(self._key).when_matched_update_all().execute(rows)
        self.settle()

    def delete(self, column: str, values: Iterable[object]) -> int:
        """Deletes the rows with one of these values, and returns how many these were."""
        values, deleted = list(values), 0
        with engine_errors(self.path):
            for begin in range(0, len(values), _KEYS_A_FILTER):
                told = self.dataset.delete(any_of(column, values[begin : begin + _KEYS_A_FILTER]))
                deleted += int(told["num_deleted_rows"])
        return deleted

    def rows(
        self,
        columns: list[str],
        filter: str | None = None,
        *,
        indexed: bool = True,
        batch: int = 1024,
        ids: bool = False,
    ) -> Iterator[Any]:
        """Yields the rows that satisfy a filter, as batches in their order, and with `ids` with the
        column ROW_ID."""
        with engine_errors(self.path):
            yield from self.dataset.scanner(
                columns=columns,
                filter=filter,
                batch_size=batch,
                use_scalar_index=indexed,
                with_row_id=ids,
            ).to_batches()

    def table(self, columns: list[str], filter: str | None = None) -> Any:
        """Returns the rows that satisfy a filter."""
        with engine_errors(self.path):
            return self.dataset.to_table(columns=columns, filter=filter)

    def where(self, columns: list[str], column: str, values: Iterable[object]) -> Any:
        """Returns the rows in which a column has one of the values."""
        values = list(values)
        found = [
            self.table(columns, any_of(column, values[begin : begin + _KEYS_A_FILTER]))
            for begin in range(0, len(values), _KEYS_A_FILTER)
        ]
        return pa.concat_tables(found) if found else self._none(columns)

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns the keys that the table has."""
        found = self.where([self._key], self._key, keys)
        return set(found.column(self._key).to_pylist())

    def kept(self, column: str) -> set[Any]:
        """Returns the values of a column in all versions that are kept."""
        found: set[Any] = set()
        with engine_errors(self.path):
            for version in self.dataset.versions():
                there = lance.dataset(self.path, version=version["version"])
                if column in there.schema.names:
                    found.update(
                        there.to_table(columns=[column], filter=f"{column} IS NOT NULL")
                        .column(column)
                        .to_pylist()
                    )
        return found

    def index(self, *, all: bool = False) -> None:
        """Brings rows that came after the indexes into them, if these are many, or with `all`."""
        with engine_errors(self.path):
            self.dataset.checkout_latest()
            if all or any(
                self._behind(f"{column}_idx") >= _ROWS_BEHIND for column in INDEXES[self._kind]
            ):
                self.dataset.optimize.optimize_indices()

    def _behind(self, index: str) -> int:
        return int(self.dataset.stats.index_stats(index).get("num_unindexed_rows", 0))

    def tags(self) -> dict[str, Any]:
        """Returns what Lance knows of each tag."""
        with engine_errors(self.path):
            return dict(self.dataset.tags.list())

    def log(self) -> list[dict[str, Any]]:
        """Returns a dict for each version that is kept: version, time and tags."""
        names: dict[int, list[str]] = {}
        for name, told in self.tags().items():
            names.setdefault(told["version"], []).append(name)
        with engine_errors(self.path):
            return [
                {
                    "version": row["version"],
                    "time": row["timestamp"],
                    "tags": sorted(names.get(row["version"], [])),
                }
                for row in self.dataset.versions()
            ]

    def tag(self, name: str) -> None:
        """Names the version that is open. Raises Error if a version has the name already."""
        with engine_errors(self.path):
            self.dataset.tags.create(name, self.dataset.version)
        self.settle()

    def compact(self) -> None:
        """Joins small files in their order, indexes all, and forgets versions older than a week
        without a tag. Files of others that are not a week old stay."""
        with engine_errors(self.path):
            self.dataset.checkout_latest()
            self.dataset.optimize.compact_files(batch_size=_ROWS_A_COMPACTED_BATCH)
        self.index(all=True)
        with engine_errors(self.path):
            self.dataset.cleanup_old_versions(
                older_than=datetime.timedelta(days=7), error_if_tagged_old_versions=False
            )
