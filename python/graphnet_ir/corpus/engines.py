"""The packages behind a corpus, which `pip install 'graphnet_ir[corpus]'` brings.

They are `Any` for type checkers, since pyarrow has no types.
"""

from __future__ import annotations

import importlib
from typing import Any

from graphnet_ir._errors import made_error

_WANTED = "pylance >= 14, < 15 and pyarrow: pip install 'graphnet_ir[corpus]'"


def _engine(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise made_error("failed_precondition", f"a corpus needs {_WANTED} ({error})") from error


pa: Any = _engine("pyarrow")
pc: Any = _engine("pyarrow.compute")
parquet: Any = _engine("pyarrow.parquet")
lance: Any = _engine("lance")

if not str(lance.__version__).startswith("14."):
    raise made_error(
        "failed_precondition", f"a corpus needs {_WANTED}; pylance {lance.__version__} is installed"
    )
