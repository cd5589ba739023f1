"""The journal of a harvest: the progress of each model, in SQLite.

A model goes through STAGES, one transaction each, after its files are in place. So a harvest that
was killed at any moment continues with the stage after the last one that is recorded here.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from graphnet_ir._errors import made_error
from graphnet_ir.harvest.failures import writable

STAGES = (
    "listed",
    "fetched",
    "analysed",
    "captured",
    "verified",
    "hashed",
    "deduplicated",
    "published",
)
"""The stages of a model, in order."""
ENDS = ("published", "duplicate", "withheld", "failed")
"""The stages at which a model may end."""


@dataclass
class Row:
    """The journal's row of a model."""

    number: int  # its place in the order of the sources, from 0
    id: str
    place: str  # the name of its folders
    source: str
    stage: str  # one of STAGES or ENDS
    facts: dict[str, Any]  # results of its stages
    failed_at: str | None  # the stage that it did not reach
    failure: str | None  # a class of failures.CLASSES
    message: str | None
    seconds: float  # of work, over all attempts
    repairs: int

    @property
    def ended(self) -> bool:
        """Returns whether nothing is left to do."""
        return self.stage in ENDS


class Journal:
    """The journal in SQLite. One thread may use it; each method that writes is one transaction."""

    def __init__(self, path: str):
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._create()
        except sqlite3.DatabaseError as error:
            raise made_error("data_loss", f"{path} is not a harvest's journal: {error}") from error

    def _create(self) -> None:
        self._db.executescript("""
            CREATE TABLE IF NOT EXISTS models(
              number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, place TEXT UNIQUE NOT NULL,
              source TEXT NOT NULL, stage TEXT NOT NULL, facts TEXT NOT NULL,
              failed_at TEXT, failure TEXT, message TEXT,
              seconds REAL NOT NULL DEFAULT 0, repairs INTEGER NOT NULL DEFAULT 0,
              ended_at REAL);
            CREATE TABLE IF NOT EXISTS graphs(
              hash TEXT PRIMARY KEY, model INTEGER NOT NULL, place TEXT NOT NULL);
            """)

    def close(self) -> None:
        self._db.close()

    def add(self, id: str, place: str, source: str) -> None:
        """Adds a model, whose id and place no other has, behind all others."""
        self._db.execute(
            "INSERT INTO models(number, id, place, source, stage, facts) SELECT "
            "COALESCE(MAX(number) + 1, 0), ?, ?, ?, 'listed', '{}' FROM models",
            (id, place, source),
        )

    def rows(self) -> list[Row]:
        """Returns all models in their order."""
        found = self._db.execute(
            "SELECT number, id, place, source, stage, facts, failed_at, failure, message, seconds, "
            "repairs FROM models ORDER BY number"
        )
        return [
            Row(
                number,
                id,
                place,
                source,
                stage,
                _writable(json.loads(facts)),
                failed_at,
                failure,
                message,
                seconds,
                repairs,
            )
            for (
                number,
                id,
                place,
                source,
                stage,
                facts,
                failed_at,
                failure,
                message,
                seconds,
                repairs,
            ) in found
        ]

    def reach(
        self, row: Row, stage: str, facts: dict[str, Any] | None = None, seconds: float = 0
    ) -> None:
        """Records that row has reached `stage`, and adds facts to it."""
        row.stage = stage
        row.facts.update(_writable(facts or {}))
        row.seconds += seconds
        self._write(row)

    def fail(self, row: Row, failure: str, message: str, seconds: float = 0) -> None:
        """Records that row failed at its next stage."""
        row.failed_at = STAGES[STAGES.index(row.stage) + 1]
        row.stage, row.failure, row.message = "failed", failure, writable(message)
        row.seconds += seconds
        self._write(row)

    def reopen(self, row: Row, stage: str) -> None:
        """Records that row continues from `stage`."""
        row.stage, row.failed_at, row.failure, row.message = stage, None, None, None
        self._write(row)

    def count_repair(self, row: Row) -> None:
        row.repairs += 1
        self._write(row)

    def _write(self, row: Row) -> None:
        self._db.execute(
            "UPDATE models SET stage = ?, facts = ?, failed_at = ?, failure = ?, message = ?, "
            "seconds = ?, repairs = ?, ended_at = ? WHERE number = ?",
            (
                row.stage,
                json.dumps(row.facts),
                row.failed_at,
                row.failure,
                row.message,
                row.seconds,
                row.repairs,
                time.time() if row.ended else None,
                row.number,
            ),
        )

    # Published graphs, each by the first model that has it, under two hashes: of its structure,
    # and with the sizes.

    def owner(self, hash: str) -> str | None:
        """Returns the place of the published graph with one of its hashes."""
        found = self._db.execute("SELECT place FROM graphs WHERE hash = ?", (hash,)).fetchone()
        return None if found is None else str(found[0])

    def publish(self, row: Row, stage: str, graphs: dict[str, str]) -> None:
        """Records that row ends, and adds its new graphs (places by hash)."""
        self._db.execute("BEGIN")
        try:
            self._db.executemany(
                "INSERT OR IGNORE INTO graphs VALUES(?, ?, ?)",
                [(hash, row.number, place) for hash, place in graphs.items()],
            )
            row.stage = stage
            self._write(row)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _writable(value: Any) -> Any:
    """Returns facts in which all texts can be written to a file. Raises what json raises for facts
    that it cannot hold."""
    return json.loads(
        json.dumps(value),
        object_pairs_hook=lambda pairs: {writable(key): _text_of(item) for key, item in pairs},
    )


def _text_of(value: Any) -> Any:
    if isinstance(value, str):
        return writable(value)
    return [_text_of(item) for item in value] if isinstance(value, list) else value
