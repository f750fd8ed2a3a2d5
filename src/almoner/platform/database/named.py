"""Statements whose values have names: parts of one statement are written in different modules, each with its own."""

import re
from collections.abc import Mapping
from typing import Final

_NAME: Final = re.compile(r"(?<!:):([a-z][a-z_]*)")


class NamedStatement:
    """``sql`` has ``$n`` in place of each ``:name``; a repeated name is one parameter."""

    __slots__ = ("_names", "sql")

    def __init__(self, text: str) -> None:
        numbers: dict[str, int] = {}
        self.sql = _NAME.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", text)
        self._names = tuple(numbers)

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in their order. Raises KeyError for one that is not given."""
        return [values[name] for name in self._names]
