"""Screened subjects, their matches with watchlist entries, and reviewers' decisions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.kit.events import InternalEvent
from almoner.screening.matching.domain import Party, PersonScreeningObstacle, ScorePart
from almoner.screening.matching.domain import ScreeningObstacle as ScreeningObstacle
from almoner.screening.watchlists.domain import (
    Category,
    SubjectKind,
    TextHits,
    WatchlistEntry,
    WatchlistImportEvent,
    WatchlistVersion,
)

COMPARED: Final = InternalEvent("internal.watchlist_screened", WatchlistImportEvent)
"""Emitted when all watched subjects were screened against a version of a list."""

MatchSide = Mapping[str, str]
SubjectType = Literal["organisation", "agent_verification"]
"""The type of record that a subject is: organisations are screened against organisations, applicants against people."""
MatchDecision = Literal["open", "confirmed", "cleared"]
"""``open``: a reviewer must decide whether the two are the same."""
ManualResult = Literal["clear"] | Category
"""A reviewer's finding for names that cannot be compared: on no list, or on a list in this category."""

HOME_COUNTRIES: Final = frozenset(("AUS", "CAN", "FRA", "GBR", "IRL", "NLD", "NZL", "USA"))
"""Countries with imported registers: so many organisations are there that a shared country is weak evidence."""


@dataclass(frozen=True, slots=True)
class SubjectDetails:
    """What is known of a subject: all names, the main one first; ``countries`` with three letters each.

    A person's countries may be incomplete: agreement counts, a difference does not.
    """

    kind: SubjectKind
    names: Sequence[str]
    countries: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    address: Party | None = None


@dataclass(frozen=True, slots=True)
class WatchlistHit:
    """A list entry that may be the subject.

    ``parts`` add up to the score; ``searched_name`` and ``listed_name`` are the names compared.

    ``import_id``: the list's current import, ``version`` its name for people. ``entry_changed_by_import_id``: the
    import that last changed the entry. ``subject_side`` and ``entry_side``: the facts that the match is based on, by
    name.
    """

    list: str
    version: str
    import_id: UUID
    entry_changed_by_import_id: UUID
    category: Category
    entry_key: str
    score: float
    parts: Sequence[ScorePart]
    searched_name: str
    listed_name: str
    subject_side: "MatchSide"
    entry_side: "MatchSide"


@dataclass(frozen=True, slots=True)
class WatchlistSearchResult:
    """The result of looking up a name or number. ``flagged``: hits that screening would send to review.

    ``similar``: hits just below that score. ``entries``: the entries of both, by list and key, if still listed.
    ``containing``: entries that contain the text itself. ``obstacle``: why a lookup without hits is not proof.
    """

    lists: Sequence[WatchlistVersion]
    flagged: Sequence[WatchlistHit]
    similar: Sequence[WatchlistHit]
    entries: Mapping[tuple[str, str], WatchlistEntry]
    containing: TextHits
    obstacle: PersonScreeningObstacle | None


@dataclass(frozen=True, slots=True)
class ScreenedSubject:
    """The record that is screened, and the partner for whom it was screened first."""

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
"""Emitted when a subject's matches have changed."""
UNWATCHED: Final = InternalEvent("internal.screening_ended", ScreeningChangedEvent)
"""Emitted when one user of the screening stops watching an organisation; others may continue."""


@dataclass(frozen=True, slots=True)
class StoredSubject:
    """A subject as last screened.

    ``is_monitored``: it is screened again when a list or the engine changes. ``engine_version``: the engine that
    screened it. ``obstacle``: why not all its names could be compared. ``manual_result``: a reviewer's finding for
    these names; None if there is none.
    """

    id: UUID
    subject: ScreenedSubject
    details: SubjectDetails
    is_monitored: bool
    engine_version: int
    screened_at: datetime
    obstacle: ScreeningObstacle | None = None
    manual_result: ManualResult | None = None


@dataclass(frozen=True, slots=True)
class MatchSideDifference:
    """A change since a match was decided: the side, the field, and both values."""

    side: Literal["subject", "entry"]
    field_name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RecordedMatchDecision:
    """A reviewer's decision on a match, with both compared sides; empty once the subject is erased."""

    decision: Literal["confirmed", "cleared"]
    subject_side: MatchSide
    entry_side: MatchSide

    def differences_from(
        self, current_subject_side: MatchSide, current_entry_side: MatchSide
    ) -> list[MatchSideDifference]:
        """The changes since the decision."""
        return list(
            compare_match_sides((self.subject_side, self.entry_side), (current_subject_side, current_entry_side))
        )


@dataclass(frozen=True, slots=True)
class ScreeningMatch:
    """A subject and an entry that may be the same. ``current``: they still agree, or were confirmed to be the same.

    ``entry_changed_by_import_id``: the import that last changed the entry. ``awaiting_review``: a reviewer must decide.
    ``decided``: the last decision; None after it is undone.
    """

    id: UUID
    screening_subject_id: UUID
    subject: ScreenedSubject
    list: str
    entry_key: str
    category: Category
    entry_changed_by_import_id: UUID
    score: float
    parts: Sequence[ScorePart]
    subject_side: MatchSide
    entry_side: MatchSide
    decision: MatchDecision
    awaiting_review: bool
    current: bool
    decided: RecordedMatchDecision | None
    found_at: datetime
    changed_at: datetime

    @property
    def changes_since_decision(self) -> Sequence[MatchSideDifference]:
        """What changed since the reviewer's decision."""
        return self.decided.differences_from(self.subject_side, self.entry_side) if self.decided else ()

    def updated_with_hit(self, hit: WatchlistHit) -> "ScreeningMatch":
        """The match after a screening found it again.

        A decision holds until a fact that it was based on changes. Then the match awaits review again: a cleared one
        becomes open, a confirmed one stays confirmed, since only a reviewer may remove a flag.
        """
        decision, waits = self.decision, True
        if self.decided is not None:
            waits = bool(self.decided.differences_from(hit.subject_side, hit.entry_side))
            decision = "open" if waits and self.decided.decision == "cleared" else self.decided.decision
        return replace(
            self,
            category=hit.category,
            entry_changed_by_import_id=hit.entry_changed_by_import_id,
            score=hit.score,
            parts=hit.parts,
            subject_side=hit.subject_side,
            entry_side=hit.entry_side,
            decision=decision,
            awaiting_review=waits,
            current=True,
        )

    def updated_with_hit_of_new_engine(self, hit: WatchlistHit) -> "ScreeningMatch":
        """The match with the result of a new engine version for unchanged sides.

        The decision still applies, since both sides are the same; it is stored with the sides as the new engine reads
        them.
        """
        if (
            self.decided is None
            or not self.current
            or self.awaiting_review
            or self.entry_changed_by_import_id != hit.entry_changed_by_import_id
        ):
            return self.updated_with_hit(hit)
        decided = replace(self.decided, subject_side=hit.subject_side, entry_side=hit.entry_side)
        return replace(self, decided=decided).updated_with_hit(hit)

    def as_ended(self) -> "ScreeningMatch":
        """The match once the two no longer agree; past decisions are kept."""
        return replace(self, current=False, awaiting_review=False)

    def with_monitoring_stopped(self) -> "ScreeningMatch":
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
    """The result of screening a subject against all lists: ``matches`` are the current ones, best first.

    ``kind``: the kind of entries compared. ``newly_awaiting_review``: matches that now await review.
    ``no_longer_awaiting_review``: matches that no longer do. ``obstacle``: why not all names could be compared.
    ``manual_result``: a reviewer's finding for them.
    """

    kind: SubjectKind
    lists: Sequence[WatchlistVersion]
    matches: Sequence[ScreeningMatch]
    newly_awaiting_review: Sequence[ScreeningMatch] = ()
    no_longer_awaiting_review: Sequence[ScreeningMatch] = ()
    has_changed: bool = False
    obstacle: ScreeningObstacle | None = None
    manual_result: ManualResult | None = None

    def combined_with(self, previous_result: "ScreeningResult") -> "ScreeningResult":
        """This result combined with that of a screening right before it."""
        waiting = {match.id for match in self.matches if match.awaiting_review}
        return replace(
            self,
            newly_awaiting_review=[
                *self.newly_awaiting_review,
                *(match for match in previous_result.newly_awaiting_review if match.id in waiting),
            ],
            no_longer_awaiting_review=[*previous_result.no_longer_awaiting_review, *self.no_longer_awaiting_review],
            has_changed=previous_result.has_changed or self.has_changed,
        )

    @property
    def watchlists_covering_subject_kind(self) -> Sequence[WatchlistVersion]:
        """The lists that contain entries of its kind."""
        return [version for version in self.lists if version.covered_categories(self.kind)]

    def status_in_category(self, category: Category) -> MatchDecision | Literal["clear"] | None:
        """The most serious status in a category; None if no list covers it.

        Cleared matches do not count. A subject is clear only by a list that has entries of its kind, and only if all
        its names could be compared (settled 11).
        """
        found = {match.decision for match in self.matches if match.category == category}
        if "confirmed" in found:
            return "confirmed"
        if "open" in found:
            return "open"
        if self.obstacle is not None:
            return None
        return "clear" if any(category in version.covered_categories(self.kind) for version in self.lists) else None


def compare_match_sides(
    before: tuple[MatchSide, MatchSide], after: tuple[MatchSide, MatchSide]
) -> Iterator[MatchSideDifference]:
    """The differences between two versions of a match, on both sides."""
    sides: Iterable[Literal["subject", "entry"]] = ("subject", "entry")
    for side, old, new in zip(sides, before, after, strict=True):
        for what in sorted(old.keys() | new.keys()):
            if old.get(what) != new.get(what):
                yield MatchSideDifference(side, what, old.get(what), new.get(what))
