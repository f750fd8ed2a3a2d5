"""Who is compared with the watch lists, and what comes of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.screening.matching.domain import Part, Party
from almoner.screening.watchlists.domain import CATEGORIES, Category, Version

CHANGED: Final = "internal.screening_changed"
"""Told when what is known of a subject's matches has changed, with a ``ScreeningChanged`` in it."""
COMPARED: Final = "internal.watchlist_compared"
"""Told when all who are watched were compared with a version of a list, with a ``Told`` of watch lists in it."""

Side = Mapping[str, str]
SubjectKind = Literal["organisation", "person"]
SubjectType = Literal["organisation", "agent_verification"]
"""Of which record a subject is: bodies are compared with bodies, applicants with persons."""
MatchDecision = Literal["open", "confirmed", "cleared"]
"""``open``: a person has to decide whether the two are the same."""

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
    """An entry that may be who was asked for. ``parts`` add up to the score; ``asked``, ``listed``: the names.

    ``load`` is the current one of the list, ``version`` its name for people; ``since`` is the load that brought the
    entry as it is. The sides are what mattered of each of the two, by what it is.
    """

    list: str
    version: str
    load: UUID
    since: UUID
    category: Category
    entry_key: str
    score: float
    parts: Sequence[Part]
    asked: str
    listed: str
    subject_side: "Side"
    entry_side: "Side"


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


@dataclass(frozen=True, slots=True)
class Who:
    """Of which record a subject is, and for which partner it is compared first."""

    type: SubjectType
    id: UUID
    partner_id: UUID


@dataclass(frozen=True, slots=True)
class ScreeningChanged:
    """Of which record a subject's matches have changed. ``decided``: by a person."""

    type: SubjectType
    id: UUID
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A subject as it looked when it was compared last. ``watched``: it is compared again when a list changes."""

    id: UUID
    who: Who
    asked: Asked
    watched: bool
    screened_at: datetime


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed of a match that was decided: on which side, what, from what, to what."""

    side: Literal["subject", "entry"]
    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Match:
    """One subject and one entry that may be the same. ``current``: they still agree.

    ``since``: the load that brought the entry as it is. ``difference``: why it was opened again.
    """

    id: UUID
    subject: UUID
    who: Who
    list: str
    entry_key: str
    category: Category
    since: UUID
    score: float
    parts: Sequence[Part]
    subject_side: Side
    entry_side: Side
    difference: Sequence[Difference]
    decision: MatchDecision
    current: bool
    found_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """What comparing a subject with all lists gave and left: ``matches`` are the current ones, best first.

    ``opened`` have to be decided by a person, from now on or again; of ``ended`` nobody need decide any more.
    """

    lists: Sequence[Version]
    matches: Sequence[Match]
    opened: Sequence[Match] = ()
    ended: Sequence[Match] = ()
    changed: bool = False

    def status(self, category: Category) -> MatchDecision | Literal["clear"] | None:
        """The gravest that is known in a category: ``confirmed``, ``open``, ``clear``; None if no list of it is loaded.

        A match that was cleared counts for nothing.
        """
        found = {match.decision for match in self.matches if match.category == category}
        if "confirmed" in found:
            return "confirmed"
        if "open" in found:
            return "open"
        held = any(category in version.load.categories for version in self.lists)
        return "clear" if held else None


def differences(before: tuple[Side, Side], after: tuple[Side, Side]) -> Iterator[Difference]:
    """What two looks at a match tell apart, in both of its sides: the subject's, the entry's."""
    sides: Iterable[Literal["subject", "entry"]] = ("subject", "entry")
    for side, old, new in zip(sides, before, after, strict=True):
        for what in sorted(old.keys() | new.keys()):
            if old.get(what) != new.get(what):
                yield Difference(side, what, old.get(what), new.get(what))
