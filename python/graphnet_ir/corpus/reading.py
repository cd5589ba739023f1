"""Gives the graphs of a corpus to graphnet's C++ library, which starts this module as a program:

    python -P -m graphnet_ir.corpus.reading CORPUS

Standard input is a socket. A request is a line:

    list SELECTION              the names of the graphs, a line each
    graph SELECTION/NAME        a graph as a protobuf sample
    weights SELECTION/NAME      the same with the values of its weights

A selection is empty, or '#TAG', '#view=VIEW' or both. answering.py says what an answer is.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.answering import answer, send

_DIGITS = 16
"""How many hexadecimal digits of its hash the name of a graph has."""
_AHEAD = 64
"""How many graphs are read at a time. What asks for one mostly asks for the next, too."""


class Selection:
    """The graphs that are selected, in their order, each with a name."""

    def __init__(self, path: str, selection: str):
        # The engines are imported here, so that one that is missing is an answer.
        from graphnet_ir.corpus.store import Corpus

        tag = view = None
        for part in selection.split("#")[1:]:
            if part.startswith("view="):
                view = part[len("view=") :]
            else:
                tag = part
        self.corpus = Corpus(path)
        if tag is not None:
            if tag not in self.corpus.tags():
                raise made_error("not_found", f"there is no tag {tag}")
            self.corpus = Corpus(path, version=tag)
        self._hashes = [bytes.fromhex(hash) for hash in self.corpus]
        if view is not None:
            chosen = set(bytes.fromhex(hash) for hash in self.corpus.view(view))
            self._hashes = [hash for hash in self._hashes if hash in chosen]
        self._places: dict[str, list[int]] = {}
        for place, hash in enumerate(self._hashes):
            self._places.setdefault(hash.hex()[:_DIGITS], []).append(place)
        self._read: dict[bytes, Any] = {}

    def names(self) -> list[str]:
        """Returns the names, each with the beginning of a hash."""
        named: dict[bytes, tuple[str, str]] = {}
        for batch in self.corpus.sources.rows(["hash", "path", "name"]):
            columns = (batch.column(name).to_pylist() for name in ("hash", "path", "name"))
            for hash, path, name in zip(*columns):
                named[hash] = min(named.get(hash, (path, name)), (path, name))
        return [_name(*named.get(hash, ("", "")), hash) for hash in self._hashes]

    def place(self, name: str) -> int:
        """Returns the place of a graph in the order."""
        found = re.search(rf"(?:^|-)([0-9a-f]{{{_DIGITS},64}})$", name)
        places = (
            [
                place
                for place in self._places.get(found[1][:_DIGITS], [])
                if self._hashes[place].hex().startswith(found[1])
            ]
            if found
            else []
        )
        if len(places) != 1:
            raise made_error("not_found", "there is no such graph")
        return places[0]

    def hash(self, name: str) -> bytes:
        """Returns the hash of a graph."""
        return self._hashes[self.place(name)]

    def graph(self, name: str, weights: bool) -> bytes:
        """Returns the bytes of a graph."""
        place = self.place(name)
        hash = self._hashes[place]
        if weights:
            return self._bytes(self.corpus[hash], True)
        if hash not in self._read:
            ahead = self._hashes[place : place + _AHEAD]
            self._read = dict(self.corpus._stored(ahead))
        sample = self._read.pop(hash)
        if isinstance(sample, Error):
            raise sample
        return self._bytes(sample, False)

    @staticmethod
    def _bytes(sample: Sample, weights: bool) -> bytes:
        if not weights:
            for name in list(sample.weights):
                sample.erase_weight(name)
        return _core.to_bytes(sample)


def _name(path: str, name: str, hash: bytes) -> str:
    """Returns a name that can be that of a file."""
    name = name or os.path.splitext(os.path.basename(path))[0]
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "_", name)[:80].lstrip(".")
    digits = hash.hex()[:_DIGITS]
    return f"{plain}-{digits}" if plain else digits


def asked(path: str, selections: dict[str, Selection], request: str) -> bytes:
    """Returns what a request asks for."""
    what, _, wanted = request.partition(" ")
    selection, _, name = wanted.partition("/")
    if what == "list" or selection not in selections:
        selections[selection] = Selection(path, selection)
    chosen = selections[selection]
    if what == "list":
        return "\n".join(chosen.names()).encode()
    return chosen.graph(name, what == "weights")


def main() -> None:
    """Answers requests until the socket is closed."""
    selections: dict[str, Selection] = {}
    with socket.socket(fileno=sys.stdin.fileno()) as channel:
        for line in channel.makefile("r", encoding="utf-8", errors="surrogateescape"):
            send(channel, *answer(lambda: asked(sys.argv[1], selections, line.rstrip("\n"))))


if __name__ == "__main__":
    main()
