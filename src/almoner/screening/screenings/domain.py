"""Who is compared with the watch lists, and what comes of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.kit.events import InternalEvent
from almoner.screening.matching.domain import Party, ScorePart
from almoner.screening.matching.domain import ScreeningObstacle as ScreeningObstacle
from almoner.screening.watchlists.domain import Category, SubjectKind, WatchlistImportEvent, WatchlistVersion

COMPARED: Final = InternalEvent("internal.watchlist_screened", WatchlistImportEvent)
"""Told when all who are watched were compared with a version of a list."""

MatchSide = Mapping[str, str]
SubjectType = Literal["organisation", "agent_verification"]
"""The type of record that a subject is: organisations are screened against organisations, applicants against people."""
MatchDecision = Literal["open", "confirmed", "cleared"]
"""``open``: a person has to decide whether the two are the same."""
ManualResult = Literal["clear"] | Category
"""A reviewer's finding for names that cannot be compared: on no list, or on a list in this category."""

HOME_COUNTRIES: Final = frozenset(("AUS", "CAN", "FRA", "GBR", "IRL", "NLD", "NZL", "USA"))
"""Countries with imported registers: a shared country means little there, because so many organisations are in it."""


@dataclass(frozen=True, slots=True)
class SubjectDetails:
    """Who is compared: all names, the principal one first; ``countries`` of three letters each.

    Those of a person are where somebody has to do with: they count where they agree, and against nobody.
    """

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
    parts: Sequence[ScorePart]
    asked: str
    listed: str
    subject_side: "MatchSide"
    entry_side: "MatchSide"


@dataclass(frozen=True, slots=True)
class ScreenedSubject:
    """Of which record a subject is, and for which partner it is compared first."""

    type: SubjectType
    id: UUID
    partner_id: UUID

    @property
    def kind(self) -> SubjectKind:
        """The kind of entries that it is screened against."""
        return "person" if self.type == "agent_verification" else "organisation"


@dataclass(frozen=True, slots=True)
class ScreeningChangedEvent:
    """The internal event that a record's matches have changed. ``decided``: by a reviewer."""

    type: SubjectType
    id: UUID
    decided: bool = False


CHANGED: Final = InternalEvent("internal.screening_changed", ScreeningChangedEvent)
"""Told when what is known of a subject's matches has changed."""
UNWATCHED: Final = InternalEvent("internal.screening_ended", ScreeningChangedEvent)
"""Told when a slice has an organisation compared no more: others may still."""


@dataclass(frozen=True, slots=True)
class StoredSubject:
    """A subject as it looked when it was compared last.

    ``monitored``: it is compared again when a list changes, or the engine, which was of the version ``engine_version``
    then. ``obstacle``: why it could not be compared by all of its names; ``manual_result``: what a person found who
    looked these names up, None while nobody has.
    """

    id: UUID
    who: ScreenedSubject
    asked: SubjectDetails
    monitored: bool
    engine_version: int
    screened_at: datetime
    obstacle: ScreeningObstacle | None = None
    manual_result: ManualResult | None = None


@dataclass(frozen=True, slots=True)
class SideDifference:
    """A change since a match was decided: the side, the field, and both values."""

    side: Literal["subject", "entry"]
    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A reviewer's decision on a match, with both compared sides; empty once the subject is erased."""

    decision: Literal["confirmed", "cleared"]
    subject_side: MatchSide
    entry_side: MatchSide

    def differences_from(self, subject_side: MatchSide, entry_side: MatchSide) -> list[SideDifference]:
        """What changed since."""
        return list(compare_sides((self.subject_side, self.entry_side), (subject_side, entry_side)))


@dataclass(frozen=True, slots=True)
class ScreeningMatch:
    """One subject and one entry that may be the same. ``current``: they still agree, or are known to be the same.

    ``since``: the load that brought the entry as it is. ``awaiting_review``: a person is asked. ``decided``: what one
    decided last; taking it back leaves nothing of it here.
    """

    id: UUID
    screening_subject_id: UUID
    who: ScreenedSubject
    list: str
    entry_key: str
    category: Category
    since: UUID
    score: float
    parts: Sequence[ScorePart]
    subject_side: MatchSide
    entry_side: MatchSide
    decision: MatchDecision
    awaiting_review: bool
    current: bool
    decided: RecordedDecision | None
    found_at: datetime
    changed_at: datetime

    @property
    def changes_since_decision(self) -> Sequence[SideDifference]:
        """What changed since a person decided about it."""
        return self.decided.differences_from(self.subject_side, self.entry_side) if self.decided else ()

    def updated_with_hit(self, hit: Hit) -> "ScreeningMatch":
        """As it is when the two are found to be so.

        What a person decided holds as long as nothing that mattered is other than it was then. Else somebody is asked
        again: a cleared match is open until then, a confirmed one stays confirmed, since nothing else may take a flag
        away.
        """
        decision, waits = self.decision, True
        if self.decided is not None:
            waits = bool(self.decided.differences_from(hit.subject_side, hit.entry_side))
            decision = "open" if waits and self.decided.decision == "cleared" else self.decided.decision
        return replace(
            self,
            category=hit.category,
            since=hit.since,
            score=hit.score,
            parts=hit.parts,
            subject_side=hit.subject_side,
            entry_side=hit.entry_side,
            decision=decision,
            awaiting_review=waits,
            current=True,
        )

    def with_new_engine_result(self, hit: Hit) -> "ScreeningMatch":
        """The match with the result of a new engine version for unchanged sides.

        What a person decided was about the same two, however the engine now reads them.
        """
        if self.decided is None or not self.current or self.awaiting_review or self.since != hit.since:
            return self.updated_with_hit(hit)
        decided = replace(self.decided, subject_side=hit.subject_side, entry_side=hit.entry_side)
        return replace(self, decided=decided).updated_with_hit(hit)

    def as_ended(self) -> "ScreeningMatch":
        """The match once the two no longer agree; past decisions are kept."""
        return replace(self, current=False, awaiting_review=False)

    def without_monitoring(self) -> "ScreeningMatch":
        """The match when nobody monitors it: an open one ends, a decided one stays."""
        return self.as_ended() if self.decision == "open" else replace(self, awaiting_review=False)

    def is_equivalent_to(self, other: "ScreeningMatch") -> bool:
        """Whether two matches say the same about their subject, apart from the score."""
        return (self.decision, self.current, self.category, self.subject_side, self.entry_side) == (
            other.decision,
            other.current,
            other.category,
            other.subject_side,
            other.entry_side,
        )


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """What comparing a subject with all lists gave and left: ``matches`` are the current ones, best first.

    ``kind``: as what it was compared. ``opened`` have to be decided by a person, from now on or again; of ``ended``
    nobody need decide any more. ``obstacle``: why the subject could not be compared by all of its names;
    ``manual_result``: what a person found of them.
    """

    kind: SubjectKind
    lists: Sequence[WatchlistVersion]
    matches: Sequence[ScreeningMatch]
    opened: Sequence[ScreeningMatch] = ()
    ended: Sequence[ScreeningMatch] = ()
    changed: bool = False
    obstacle: ScreeningObstacle | None = None
    manual_result: ManualResult | None = None

    def combined_with(self, before: "ScreeningResult") -> "ScreeningResult":
        """This result together with the matches that a screening right before it opened and ended."""
        waiting = {match.id for match in self.matches if match.awaiting_review}
        return replace(
            self,
            opened=[*self.opened, *(match for match in before.opened if match.id in waiting)],
            ended=[*before.ended, *self.ended],
            changed=before.changed or self.changed,
        )

    @property
    def covering_lists(self) -> Sequence[WatchlistVersion]:
        """The lists that name subjects of its kind."""
        return [version for version in self.lists if version.covered_categories(self.kind)]

    def status(self, category: Category) -> MatchDecision | Literal["clear"] | None:
        """The gravest that is known in a category: ``confirmed``, ``open``, ``clear``; None if no list of it is loaded.

        A match that was cleared counts for nothing, a list that names none of the subject's kind clears nobody, and
        neither does one that the subject could not be compared with (settled 11).
        """
        found = {match.decision for match in self.matches if match.category == category}
        if "confirmed" in found:
            return "confirmed"
        if "open" in found:
            return "open"
        if self.obstacle is not None:
            return None
        return "clear" if any(category in version.covered_categories(self.kind) for version in self.lists) else None


def compare_sides(before: tuple[MatchSide, MatchSide], after: tuple[MatchSide, MatchSide]) -> Iterator[SideDifference]:
    """The differences between two versions of a match, on both sides."""
    sides: Iterable[Literal["subject", "entry"]] = ("subject", "entry")
    for side, old, new in zip(sides, before, after, strict=True):
        for what in sorted(old.keys() | new.keys()):
            if old.get(what) != new.get(what):
                yield SideDifference(side, what, old.get(what), new.get(what))
