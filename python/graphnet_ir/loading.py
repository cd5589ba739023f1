"""Loads many samples, in their order and ahead of their use."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Union

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample
from graphnet_ir._notebook import Bar

Path = Union[str, "os.PathLike[str]"]

if sys.executable:  # It is empty where Python is part of another program.
    _core._set_python_of_corpora(sys.executable, os.path.dirname(os.path.dirname(_core.__file__)))


def load_samples(
    paths: Path | Sequence[Path], *, errors: str = "raise", progress: bool | None = None
) -> Iterator[Sample]:
    """Loads all samples below files and folders, in their order.

    While the caller works on one sample, threads load the next ones, with one thread for each
    processor core of this process. Samples that are no longer needed are given up.

        for sample in graphnet_ir.load_samples("corpus"):
            print(sample.name, len(sample.graph))

    errors: 'raise', or 'warn', which leaves out a sample that cannot be read and warns. progress:
    shows a bar, by tqdm; None: in a notebook.
    """
    if errors not in ("raise", "warn"):
        raise ValueError("errors must be 'raise' or 'warn'")
    many = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    return _loaded(
        _core.find_samples([os.fspath(path) for path in many]), errors == "raise", progress
    )


def _loaded(files: Sequence[str], raises: bool, progress: bool | None) -> Iterator[Sample]:
    from concurrent.futures import ThreadPoolExecutor  # Importing it takes long.

    window = min(os.cpu_count() or 1, len(os.sched_getaffinity(0)))
    pool = ThreadPoolExecutor(window, "graphnet_ir.load_samples")
    with Bar("load", len(files), progress) as bar:
        try:
            rest = ((file, pool.submit(_core.load, file)) for file in files)
            ahead = deque(itertools.islice(rest, window))
            while ahead:
                file, loading = ahead.popleft()
                try:
                    sample = loading.result()
                except Error as error:
                    if raises:
                        raise
                    warnings.warn(f"{file} is left out: {error}", stacklevel=2)
                    sample = None
                ahead.extend(itertools.islice(rest, 1))
                del loading  # It refers to the sample, too.
                if sample is not None:
                    yield sample
                bar.advance()
        finally:
            # A thread ends after its current sample; the program does not wait for it.
            pool.shutdown(wait=False, cancel_futures=True)


def read_list(path: Path) -> list[str]:
    """Reads a file of names or paths, one a line. What follows a # is a comment."""
    with open(path, encoding="utf-8") as file:
        lines = (line.partition("#")[0].strip() for line in file)
        return [line for line in lines if line]
