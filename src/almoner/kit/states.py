"""States and the moves between them: one table per resource drives check, SQL guard and history (architecture 5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The allowed status transitions of a record type."""

    resource: str
    target_states_by_source_state: Mapping[str, frozenset[str]]

    def allows_transition(self, source: str, target: str) -> bool:
        """Whether ``source`` may become ``target``."""
        return target in self.target_states_by_source_state.get(source, frozenset())

    def source_states_of(self, target: str) -> tuple[str, ...]:
        """The states from which ``target`` may be entered, for ``WHERE status = ANY($n)``."""
        return tuple(source for source, targets in self.target_states_by_source_state.items() if target in targets)

    def states(self) -> frozenset[str]:
        """Every state named in the table."""
        return frozenset(self.target_states_by_source_state) | frozenset(
            target for targets in self.target_states_by_source_state.values() for target in targets
        )

    def transitions(self) -> Iterator[tuple[str, str]]:
        """All (from, to) pairs, sorted, as the database's ``lifecycle_transition`` rows must show them."""
        return iter(
            sorted(
                (source, target) for source, targets in self.target_states_by_source_state.items() for target in targets
            )
        )
