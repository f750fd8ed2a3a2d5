"""Who is compared with the watch lists, and what comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from almoner.screening.matching.domain import Part, Party
from almoner.screening.watchlists.domain import CATEGORIES, Category, Version

SubjectKind = Literal["organisation", "person"]
SubjectType = Literal["organisation", "agent_verification"]
"""Of which record a subject is: bodies are compared with bodies, applicants with persons."""
MatchDecision = Literal["open", "confirmed", "cleared"]

HOME: Final = frozenset(("AUS", "CAN", "FRA", "GBR", "IRL", "NLD", "NZL", "USA"))
"""Countries whose registers are read: so many bodies are there that to be there too tells little."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is compared: all names, the principal one first; ``countries`` of three letters each."""

    kind: SubjectKind
    names: Sequence[str]
    countries: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    address: Party | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that may be who was asked for. ``parts`` add up to the score; ``asked``, ``listed``: the names."""

    list: str
    version: str
    load: UUID
    category: Category
    entry_key: str
    score: float
    parts: Sequence[Part]
    asked: str
    listed: str


@dataclass(frozen=True, slots=True)
class Screened:
    """What comparing somebody with all lists gave: hits, best first, and the lists that were looked into."""

    hits: Sequence[Hit]
    lists: Sequence[Version]

    @property
    def checked(self) -> Mapping[Category, bool]:
        """Whether at least one list of each category was looked into (settled 4)."""
        held = {category for version in self.lists for category in version.load.categories}
        return {category: category in held for category in CATEGORIES}
