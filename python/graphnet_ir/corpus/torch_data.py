"""A corpus as a data set of torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from torch.utils.data import Dataset

from graphnet_ir._core import Sample
from graphnet_ir.corpus.sampling import order
from graphnet_ir.corpus.store import Corpus, _hash_bytes


class CorpusDataset(Dataset[Any]):
    """The graphs of a corpus by number, for torch.utils.data.DataLoader (torch_dataset).

    It can be pickled: each process opens the corpus when it first reads.
    """

    def __init__(
        self,
        path: str,
        version: str | None,
        hashes: list[bytes],
        transform: Callable[[Sample], Any] | None,
    ):
        self._path = path
        self._version = version
        self._hashes = b"".join(hashes)
        self._transform = transform
        self._opened: tuple[int, Corpus] | None = None  # with the process that opened it

    def __len__(self) -> int:
        return len(self._hashes) // 32

    def __getitem__(self, index: int) -> Any:
        place = range(len(self))[index]
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), Corpus(self._path, version=self._version)
        sample = self._opened[1][self._hashes[32 * place : 32 * place + 32]]
        return sample if self._transform is None else self._transform(sample)

    @property
    def hashes(self) -> list[str]:
        """The hash of each graph, in the order of the data set."""
        return [self._hashes[begin : begin + 32].hex() for begin in range(0, len(self._hashes), 32)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}


def torch_dataset(
    corpus: Corpus | str | os.PathLike[str],
    *,
    graphs: Iterable[str | bytes] | None = None,
    seed: int | None = None,
    transform: Callable[[Sample], Any] | None = None,
) -> CorpusDataset:
    """Returns the graphs of a corpus as a map-style data set of torch.

    graphs: only these hashes, in their order. seed: puts them into a random order that depends on
    the graphs and the seed alone. transform: makes an item of each Sample; otherwise items are the
    samples, which need a collate_fn of their own. A DataLoader with workers needs
    multiprocessing_context='spawn', and then a transform that can be pickled.
    """
    opened = corpus if isinstance(corpus, Corpus) else Corpus(corpus)
    hashes = [_hash_bytes(hash) for hash in (opened if graphs is None else graphs)]
    if seed is not None:
        hashes.sort(key=lambda hash: order(hash, seed))
    return CorpusDataset(os.path.abspath(opened.path), opened.version, hashes, transform)
