"""Passes of other packages: functions that they name as entry points of the group graphnet.passes.

    # pyproject.toml of a package
    [project.entry-points."graphnet.passes"]
    no-dropout = "mine.passes:no_dropout"

    graphnet opt samples --passes no-dropout,dce -o rewritten

A function is what graphnet_ir.register_pass takes. `graphnet opt` runs it in processes of their own
(pass_worker.py).
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "graphnet.passes"


def found() -> dict[str, EntryPoint]:
    """Returns the entry points by name. Nothing of their packages is imported.

    Raises ValueError if two packages have a pass of one name.
    """
    by_name: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        other = by_name.setdefault(point.name, point)
        if other.value != point.value:
            raise ValueError(
                f"two packages have a pass {point.name}: {other.value} and {point.value}"
            )
    return by_name
