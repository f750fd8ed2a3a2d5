"""Shows watchlist matches to reviewers and applies their decisions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.screening.matching.domain import ScorePart
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import MatchSideDifference, ScreeningMatch, StoredSubject
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import CATEGORIES, WatchlistEntry, WatchlistVersion
from almoner.validation.decisions.reviews.domain import (
    Fact,
    RelatedSubject,
    ReviewDecision,
    ReviewEvidence,
    ReviewSubject,
    SourceLink,
    ValueComparison,
)
from almoner.validation.ongoing.matches import service

_ID_TYPES: Final = {"organisation": "organisation", "agent_verification": "agentverification"}


class ScreeningMatchReviewHandler:
    """A ``reviews.ports.ReviewHandler``."""

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The reason codes for clearing a match."""
        return service.REASONS

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the match until the transaction ends; None if it does not exist."""
        match = await screenings.lock_match(tx, subject_id)
        return service.review_subject_for(match) if match is not None else None

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The records, and the names that their entries are listed under."""
        return await screenings.load_subject_and_listed_names_by_match_id(tx, subject_ids)

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load both sides, the parts of the score, and what changed since the last decision. Raises NotFound."""
        match = await screenings.find_match(tx, subject_id)
        if match is None:
            raise NotFound
        stored = await screenings.get_subject_of_match(tx, match)
        versions = [one for one in await watchlists.list_current_versions(tx) if one.code == match.list]
        listed = await watchlists.find_entries(tx, match.list, [match.entry_key])
        facts = [*_record_facts(tx, match), *_subject_facts(stored), *await _registration_facts(tx, stored)]
        facts += _list_facts(match, versions)
        for entry in listed:
            facts += _entry_facts(entry)
        facts += [("changed since it was decided", _difference_text(one)) for one in match.changes_since_decision]
        named = match.subject_side.get("name") or "somebody forgotten"
        return ReviewEvidence(
            title=f"Is {stored.details.names[0] if stored.details.names else named} the {_entry_text(match, listed)}?",
            facts=facts,
            steps=[_step(part) for part in match.parts],
            value_comparisons=_compared(stored, listed),
            links=[
                SourceLink(f"{match.list}: {one.listed.key}", one.listed.source_url)
                for one in listed
                if one.listed.source_url
            ],
        )

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """Other matches of the record, and of the entry with other records. Raises NotFound."""
        match = await screenings.find_match(tx, subject_id)
        if match is None:
            raise NotFound
        found = await screenings.list_related_matches(tx, match, _MAX_RELATED)
        return [
            RelatedSubject(
                service.review_subject_for(one),
                "same record" if one.screening_subject_id == match.screening_subject_id else "same entry",
            )
            for one in found
            if one.id != match.id
        ]

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Confirm that the record is the listed entry. Raises ReviewNotOpen."""
        return await service.decide_match(tx, scope, subject_id, decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Clear the match: the record is not the listed entry. Raises ReviewNotOpen."""
        return await service.decide_match(tx, scope, subject_id, decision)

    async def reopen_decision(self, tx: Tx, subject_id: UUID, reopened_by: str, note: str, /) -> object:
        """Reopen a decided match. Raises NotFound, ReviewNotOpen."""
        return await service.reopen_match(tx, subject_id, reopened_by, note)


class ManualScreeningReviewHandler:
    """The ``ReviewHandler`` of records with names that cannot be compared."""

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The categories of lists that may contain the record."""
        return CATEGORIES

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the record's screening until the transaction ends; None if it does not exist."""
        stored = await screenings.lock_subject_by_id(tx, subject_id)
        return service.screening_review_subject_for(stored) if stored is not None else None

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The first names of the records."""
        return await screenings.load_subject_names_by_id(tx, subject_ids)

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load the record, why its names cannot be compared, and the lists to search. Raises NotFound."""
        stored = await screenings.lock_subject_by_id(tx, subject_id)
        if stored is None:
            raise NotFound
        lists = await watchlists.list_current_versions(tx)
        return ReviewEvidence(
            title=f"Is {stored.details.names[0]} on a list? Its names could not all be compared",
            facts=[
                ("record", tx.ids.encode(_ID_TYPES[stored.subject.type], stored.subject.id)),
                ("not screened", stored.obstacle),
                *_subject_facts(stored),
                *await _registration_facts(tx, stored),
                *(("look up in", _list_text(one)) for one in lists),
                ("found by a person", stored.manual_result),
            ],
        )

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """The record's matches by its other names. Raises NotFound."""
        stored = await screenings.lock_subject_by_id(tx, subject_id)
        if stored is None:
            raise NotFound
        found = await screenings.list_matches(tx, stored.id)
        return [RelatedSubject(service.review_subject_for(one), "same record") for one in found]

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Record that no list contains it. Raises ReviewNotOpen."""
        return await service.record_manual_screening_result(tx, scope, subject_id, decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Record that a list contains it. Raises ReviewNotOpen."""
        return await service.record_manual_screening_result(tx, scope, subject_id, decision)

    async def reopen_decision(self, tx: Tx, subject_id: UUID, reopened_by: str, note: str, /) -> object:
        """Reopen a manual screening result. Raises NotFound, ReviewNotOpen."""
        return await service.reopen_manual_screening_result(tx, subject_id, reopened_by, note)


REVIEW_HANDLER: Final = ScreeningMatchReviewHandler()
SCREENING_HANDLER: Final = ManualScreeningReviewHandler()
_MAX_RELATED: Final = 50


def _entry_text(match: ScreeningMatch, listed: Sequence[WatchlistEntry]) -> str:
    """The entry by its first name, and its list."""
    names = [name.text for one in listed for name in one.listed.names[:1]]
    return f"listed {names[0] if names else 'record'} ({match.list}, {match.entry_key})"


def _compared(stored_subject: StoredSubject, listed: Sequence[WatchlistEntry]) -> list[ValueComparison]:
    """The record's values beside the entry's."""
    asked = stored_subject.details
    at = asked.address
    entries = [one.listed for one in listed]
    place = ", ".join(part for part in (at.street, at.city, at.state, at.postcode) if part) if at else None
    return [
        ValueComparison("Name", "; ".join(asked.names) or None, [name.text for one in entries for name in one.names]),
        ValueComparison(
            "Countries",
            " ".join(asked.countries) or None,
            [" ".join(one.countries) for one in entries if one.countries],
        ),
        ValueComparison(
            "Numbers", ", ".join(asked.identifiers) or None, [number for one in entries for number in one.identifiers]
        ),
        ValueComparison("Address", place, [address.text for one in entries for address in one.addresses]),
    ]


def _record_facts(tx: Tx, match: ScreeningMatch) -> Iterator[Fact]:
    yield "record", tx.ids.encode(_ID_TYPES[match.subject.type], match.subject.id)
    yield "decision", match.decision if match.current else f"{match.decision}; the two agree no more"


def _subject_facts(stored_subject: StoredSubject) -> Iterator[Fact]:
    for name in stored_subject.details.names:
        yield "name", name
    yield "countries", " ".join(stored_subject.details.countries) or None
    yield "numbers", ", ".join(stored_subject.details.identifiers) or None
    if (at := stored_subject.details.address) is not None:
        yield "address", ", ".join(part for part in (at.street, at.city, at.state, at.postcode) if part)


async def _registration_facts(tx: Tx, stored_subject: StoredSubject) -> list[Fact]:
    """When the organisation was registered, and whether it still is. Nothing of a person or a record that is gone."""
    subject = stored_subject.subject
    if subject.type != "organisation":
        return []
    try:
        known = await organisations.get(tx, Partner(subject.partner_id), subject.id)
    except NotFound:
        return []
    since = known.registration_date
    return [
        ("registered on", since.date().isoformat() if since else "the register does not say"),
        ("active", "yes" if known.active else f"no: {known.inactive_reason}"),
    ]


def _list_text(one: WatchlistVersion) -> str:
    """A list with its version; marked if its reader was never tested with a real file."""
    return f"{one.title}{' (unverified)' if one.unverified else ''}, version {one.version_label}"


def _list_facts(match: ScreeningMatch, versions: Sequence[WatchlistVersion]) -> Iterator[Fact]:
    for one in versions:
        yield "list", _list_text(one)
        yield "licence", one.licence
    yield "category", match.category
    yield "score", f"{match.score:.3f}"


def _entry_facts(entry: WatchlistEntry) -> Iterator[Fact]:
    listed = entry.listed
    yield "listed under", listed.key
    yield "listed as", listed.kind
    for name in listed.names:
        yield f"listed name, {name.kind.replace('_', ' ')}", name.text
    yield "listed countries", " ".join(listed.countries) or None
    for address in listed.addresses:
        yield "listed address", f"{address.text} {address.country or ''}".strip()
    yield "listed numbers", ", ".join(listed.identifiers) or None
    yield "listed years of birth", ", ".join(map(str, listed.birth_years)) or None
    yield "programmes", ", ".join(listed.programmes) or None
    yield "listed on", listed.listed_on.isoformat() if listed.listed_on else None
    yield "note", listed.note
    yield "read more at", listed.source_url


def _difference_text(one: MatchSideDifference) -> str:
    return f"{one.field_name} of the {one.side}: {one.before or 'nothing'} -> {one.after or 'nothing'}"


def _step(part: ScorePart) -> EvaluationStep:
    facts = {"points": f"{part.points:+.3f}", "asked": part.asked, "listed": part.listed}
    given = {name: value for name, value in facts.items() if value}
    verdict: StepVerdict = "pass" if part.points >= 0 else "warn"
    return EvaluationStep(part.finding, "not_applicable" if part.finding == "bounds" else verdict, facts=given)
