"""The folder of a corpus and its corpus.json."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from typing import Any, Dict

from graphnet_ir import _core
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.durable import write_file
from graphnet_ir.corpus.schema import FORMAT, NEAR_AT

MANIFEST = "corpus.json"
TABLES = ("jsons", "graphs", "sources")
"""The tables in the order in which they are written, behind weights. They are opened in the other
order, so that what a source names is there."""

_MAX_MANIFEST = 1 << 20


def table_path(corpus: str, table: str) -> str:
    return os.path.join(corpus, f"{table}.lance")


def is_corpus(path: str) -> bool:
    """Returns whether a folder is a corpus, of whatever version."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def write_manifest(corpus: str) -> None:
    told = {"format": "graphnet corpus", "version": FORMAT, "hash_version": _core.HASH_VERSION,
            "feature_version": _core.FEATURE_VERSION, "near_at": NEAR_AT,
            "created_by": f"graphnet {_core.__version__}"}
    write_file(os.path.join(corpus, MANIFEST), (json.dumps(told, indent=2) + "\n").encode())


def read_manifest(corpus: str) -> Dict[str, Any]:
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
        raise made_error("failed_precondition",
                         f"{corpus} is a corpus of version {version}, and this graphnet reads "
                         f"version {FORMAT} and earlier ones: use a newer graphnet")
    return dict(told)


def check_links(path: str) -> None:
    """Raises Error if the file system of a file has no hard links, by which the engine commits."""
    link = f"{path}.{secrets.token_hex(8)}"
    try:
        os.link(path, link)
    except OSError as error:
        raise made_error("failed_precondition",
                         f"{path}: a corpus can only be written on a file system with hard links "
                         f"({error.strerror})") from error
    os.unlink(link)


@contextlib.contextmanager
def at_work(corpus: str, *, alone: bool = False) -> Iterator[None]:
    """Keeps removals apart from additions, of which there may be many at a time."""
    with open(os.path.join(corpus, "work.lock"), "ab") as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise made_error("failed_precondition",
                             f"{corpus} is at work: another process changes it" if alone else
                             f"{corpus} is at work: another process removes graphs") from error
        yield


@contextlib.contextmanager
def committing(corpus: str) -> Iterator[None]:
    """Waits until no other process commits. Lance alone would let two processes that look for a key
    at the same time both add it."""
    path = os.path.join(corpus, "commit.lock")
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        check_links(path)
        yield
