"""Many samples, one after the other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Optional, Sequence, Union

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample
from graphnet_ir._notebook import Bar

Path = Union[str, "os.PathLike[str]"]


def load_samples(paths: Union[Path, Sequence[Path]], *, errors: str = "raise",
                 progress: Optional[bool] = None) -> Iterator[Sample]:
    """Loads all samples below files and folders, each when it is asked for.

        for sample in graphnet_ir.load_samples("corpus"):
            print(sample.name, len(sample.graph))

    errors: 'raise', or 'warn', which leaves out a sample that is refused and says so. progress:
    shows a bar, by tqdm; None: in a notebook.
    """
    if errors not in ("raise", "warn"):
        raise ValueError("errors is 'raise' or 'warn'")
    many = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    return _loaded(_core.find_samples([os.fspath(path) for path in many]), errors == "raise",
                   progress)


def _loaded(files: Sequence[str], raises: bool, progress: Optional[bool]) -> Iterator[Sample]:
    with Bar("load", len(files), progress) as bar:
        for file in files:
            try:
                sample = _core.load(file)
            except Error as error:
                if raises:
                    raise
                warnings.warn(f"{file} is left out: {error}", stacklevel=3)
            else:
                yield sample
            bar.advance()
