"""What a command of the program graphnet found (graphnet_ir.commands)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphnet_ir._notebook import table


class Report(Mapping[str, Any]):
    """What a command found: a mapping with the members that docs/commands.md names.

    code: 0 for success, 1 if a check failed or nothing was found, 2 if one of many inputs cannot be
    used. notes: what the program prints on the standard error.
    """

    def __init__(self, members: dict[str, Any], code: int = 0, notes: str = "") -> None:
        self._members = members
        self.code = code
        self.notes = notes

    def __getitem__(self, name: str) -> Any:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"<graphnet_ir.Report {', '.join(self._members)}>"

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each row of the first member that is a list of rows, such as samples;
        without one, a dict of all members."""
        for member in self._members.values():
            if isinstance(member, list) and member and all(isinstance(row, dict) for row in member):
                return [dict(row) for row in member]
        return [dict(self._members)]

    def _repr_html_(self) -> str:
        return table(self.records())
