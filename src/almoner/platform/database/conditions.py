"""The conditions of a filtered list, put together from what its caller asked for."""

from collections.abc import Sequence


class Conditions:
    """Conditions joined by AND, with the values that they bind after the ``bound`` parameters of the statement."""

    def __init__(self, *fixed: str, bound: int) -> None:
        self._conditions = list(fixed)
        self._bound = bound
        self.values: list[object] = []

    @property
    def sql(self) -> str:
        """The expression for WHERE."""
        return " and ".join(self._conditions)

    def add(self, condition: str, value: object) -> None:
        """A condition in which ``{}``, or each ``{0}``, is the parameter of the value."""
        self.values.append(value)
        self._conditions.append(condition.format(f"${self._bound + len(self.values)}"))

    def add_fixed(self, condition: str) -> None:
        """A condition without a value."""
        self._conditions.append(condition)

    def add_words(self, column: str, words: Sequence[str], *, most_indexed: int) -> None:
        """The column contains every word; those beyond ``most_indexed`` are compared without its index."""
        for word in words[:most_indexed]:
            self.add(f"{column} like {{}}", f"%{word}%")
        if further := words[most_indexed:]:
            self.add(f"({column} || '') like all({{}}::text[])", [f"%{word}%" for word in further])
