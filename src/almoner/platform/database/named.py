"""SQL statements with named parameters, so that parts from several modules can be combined."""

import re
from collections.abc import Mapping
from typing import Final

_NAME: Final = re.compile(r"(?<!:):([a-z][a-z_]*)")


class NamedParameterStatement:
    """A statement with ``:name`` parameters; ``sql`` has ``$n`` in their place."""

    __slots__ = ("_names", "sql")

    def __init__(self, text: str) -> None:
        numbers: dict[str, int] = {}
        self.sql = _NAME.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", text)
        self._names = tuple(numbers)

    def ordered_arguments(self, values_by_name: Mapping[str, object]) -> list[object]:
        """The values in parameter order. Raises KeyError for a missing one."""
        return [values_by_name[name] for name in self._names]
