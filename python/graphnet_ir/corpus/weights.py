"""The values of weights: files of safetensors below weights/, each named by the SHA-256 of its bytes.

Equal weights give equal bytes, so that samples which have the same weights share a file. Strides are
in the file, too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Container, Iterator

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.durable import sync

_ENDING = ".safetensors"


class Weights:
    """The folder of weights of a corpus, which is only there if there are some."""

    def __init__(self, corpus: str):
        self._corpus = corpus
        self._folder = os.path.join(corpus, "weights")

    def path(self, id: bytes) -> str:
        return os.path.join(self._folder, id.hex()[:2], id.hex() + _ENDING)

    def keep(self, sample: Sample) -> bytes:
        """Stores the weights of a sample, so that they outlive a power cut, and returns their id.
        Raises Error for a dtype that safetensors lacks."""
        return self._keep(lambda aside: _core._write_weights(sample, aside))

    def copy(self, id: bytes, other: Weights) -> None:
        """Stores weights that another folder has. Raises Error if they are damaged or gone."""
        problem = other.problem(id)
        if (
            problem is None
            and self._keep(lambda aside: shutil.copyfile(other.path(id), aside)) != id
        ):
            problem = "their hash differs"
        if problem is not None:
            raise made_error("data_loss", f"weights {id.hex()}: {problem}")

    def _keep(self, write: Callable[[str], object]) -> bytes:
        if not os.path.isdir(self._folder):
            os.makedirs(self._folder, exist_ok=True)
            sync(self._corpus)
        aside = os.path.join(self._folder, f"{uuid.uuid4().hex}.new")
        try:
            write(aside)
            id = _digest(aside)
            path = self.path(id)
            if not os.path.isdir(os.path.dirname(path)):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                sync(self._folder)
            os.replace(aside, path)  # This mends a file that was damaged.
        finally:
            if os.path.exists(aside):
                os.unlink(aside)
        sync(path)
        sync(os.path.dirname(path))
        return id

    def give(self, sample: Sample, id: bytes) -> None:
        """Gives a sample its weights. Raises Error if they are damaged or gone."""
        problem = self.problem(id)
        if problem is not None:
            raise made_error("data_loss", f"weights {id.hex()}: {problem}")
        _core._read_weights(sample, self.path(id))

    def problem(self, id: bytes) -> str | None:
        """Returns what is wrong with weights, or None."""
        if not os.path.isfile(self.path(id)):
            return "they are not there"
        try:
            return None if _digest(self.path(id)) == id else "their hash differs"
        except OSError as error:
            return str(error)

    def files(self) -> Iterator[tuple[bytes | None, str]]:
        """Yields all files, each with its id, or None if it has no name of weights."""
        for folder, _, names in os.walk(self._folder):
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    id = bytes.fromhex(name[: -len(_ENDING)])
                except ValueError:
                    id = b""
                yield (id if len(id) == 32 and self.path(id) == path else None), path

    def free(self, named: Container[bytes]) -> int:
        """Deletes files that are none of these weights, and returns how many these were. Nobody may
        add to the corpus meanwhile."""
        freed = 0
        for id, path in list(self.files()):
            if id is None or id not in named:
                os.unlink(path)
                freed += 1
        return freed

    def __bool__(self) -> bool:
        return os.path.isdir(self._folder)


def _digest(path: str) -> bytes:
    made = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            made.update(part)
    return made.digest()
