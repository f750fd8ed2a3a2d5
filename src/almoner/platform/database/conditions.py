"""Builds the WHERE clause of a filtered list."""

from collections.abc import Sequence


class SqlConditions:
    """SQL conditions joined by AND, with their parameters numbered after ``bound`` existing ones."""

    def __init__(self, *fixed: str, bound: int) -> None:
        self._conditions = list(fixed)
        self._bound = bound
        self.values: list[object] = []

    @property
    def sql(self) -> str:
        """The expression for the WHERE clause."""
        return " and ".join(self._conditions)

    def add(self, condition: str, value: object) -> None:
        """Add a condition; ``{}`` or ``{0}`` is replaced by the value's parameter."""
        self.values.append(value)
        self._conditions.append(condition.format(f"${self._bound + len(self.values)}"))

    def add_without_value(self, condition: str) -> None:
        """Add a condition without a value."""
        self._conditions.append(condition)

    def require_words(self, column: str, words: Sequence[str], *, max_indexed_words: int) -> None:
        """Require every word in the column; only the first ``max_indexed_words`` use its index."""
        for word in words[:max_indexed_words]:
            self.add(f"{column} like {{}}", f"%{word}%")
        if further := words[max_indexed_words:]:
            self.add(f"({column} || '') like all({{}}::text[])", [f"%{word}%" for word in further])
