"""The folder of a corpus and its corpus.json."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from graphnet_ir import _core
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.durable import sync, write_file
from graphnet_ir.corpus.schema import FORMAT, NEAR_AT

MANIFEST = "corpus.json"
TABLES = ("jsons", "graphs", "sources")
"""The tables in the order in which they are written, behind weights. They are opened in the other
order, so that what a source names is there."""

_MAX_MANIFEST = 1 << 20


def table_path(corpus: str, table: str) -> str:
    return os.path.join(corpus, f"{table}.lance")


def is_corpus(path: str) -> bool:
    """Returns whether a folder is a corpus, of whatever version. It has a file corpus.json and at
    least one of its tables, since the others may be lost. IsCorpusFolder in C++ says the same."""
    return os.path.isfile(os.path.join(path, MANIFEST)) and any(
        os.path.isdir(table_path(path, table)) for table in TABLES
    )


def write_manifest(corpus: str) -> None:
    told = {
        "format": "graphnet corpus",
        "version": FORMAT,
        "hash_version": _core.HASH_VERSION,
        "feature_version": _core.FEATURE_VERSION,
        "near_at": NEAR_AT,
        "created_by": f"graphnet {_core.__version__}",
    }
    write_file(os.path.join(corpus, MANIFEST), (json.dumps(told, indent=2) + "\n").encode())


def read_manifest(corpus: str) -> dict[str, Any]:
    """Reads corpus.json. Raises Error for a folder that is no corpus or has a newer version."""
    path = os.path.join(corpus, MANIFEST)
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_MANIFEST + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise made_error("not_found", f"{corpus} is not a corpus: it has no {MANIFEST}") from error
    try:
        if len(data) > _MAX_MANIFEST:
            raise ValueError(f"it has more than {_MAX_MANIFEST} bytes")
        told = json.loads(data)
        version = told["version"]
        if told["format"] != "graphnet corpus" or type(version) is not int:
            raise ValueError("it names another format")
        if version < 1:
            raise ValueError(f"there is no version {version}")
        if version <= FORMAT:
            for key in ("hash_version", "feature_version"):
                if type(told[key]) is not int:
                    raise ValueError(f"{key} is not a number")
            if type(told["near_at"]) is not float or not 0 < told["near_at"] <= 1:
                raise ValueError("near_at is not a similarity")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise made_error("data_loss", f"{path} cannot be read: {why}") from error
    if version > FORMAT:
        raise made_error(
            "failed_precondition",
            f"{corpus} is a corpus of version {version}, and this graphnet reads "
            f"version {FORMAT} and earlier ones: use a newer graphnet",
        )
    return dict(told)


def manifests(table: str) -> list[tuple[int, str]]:
    """Returns the versions of a table and the paths of their manifests, the newest first."""
    folder = os.path.join(table, "_versions")
    found: list[tuple[int, str]] = []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if match := re.fullmatch(r"(\d+)\.manifest", name):
                # A number of 20 digits is the smaller, the newer the version is.
                number = int(match[1])
                version = 2**64 - 1 - number if len(match[1]) == 20 else number
                found.append((version, os.path.join(folder, name)))
    return sorted(found, reverse=True)


def cut_off(table: str) -> tuple[list[str], int]:
    """Returns the manifests of a table that a power cut left without their content, which are the
    newest ones, and the version before them.

    The engine gives a manifest its name before its content is synced. What was acknowledged was
    synced, so that such versions are of commits that nobody knows.
    """
    torn: list[str] = []
    with contextlib.suppress(OSError):
        for version, path in manifests(table):
            with open(path, "rb") as file:
                file.seek(-min(4, os.path.getsize(path)), os.SEEK_END)
                if file.read() == b"LANC":
                    return torn, version
            torn.append(path)
    return [], 0


def _remove_cut_off(table: str) -> None:
    torn, _ = cut_off(table)
    tags = os.path.join(table, "_refs", "tags")
    if os.path.isdir(tags):
        torn += [
            path
            for path in (os.path.join(tags, name) for name in os.listdir(tags))
            if os.path.getsize(path) == 0
        ]
    for path in torn:
        os.unlink(path)
    for folder in sorted(set(map(os.path.dirname, torn))):
        sync(folder)


@contextlib.contextmanager
def at_work(corpus: str, *, alone: bool = False) -> Iterator[None]:
    """Keeps removals apart from additions, of which there may be many at a time."""
    with open(os.path.join(corpus, "work.lock"), "ab") as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise made_error(
                "failed_precondition",
                f"{corpus} is at work: another process changes it"
                if alone
                else f"{corpus} is at work: another process removes graphs",
            ) from error
        yield


@contextlib.contextmanager
def committing(corpus: str) -> Iterator[None]:
    """Waits until no other process commits. Lance alone would let two processes that look for a key
    at the same time both add it."""
    with open(os.path.join(corpus, "commit.lock"), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for table in TABLES:
            _remove_cut_off(table_path(corpus, table))
        yield
