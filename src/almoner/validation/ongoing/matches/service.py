"""Screens records against watchlists; operators decide about matches.

A match never rejects anything by itself. Callers run ``screen`` in their own transaction, after locking the record;
later changes are announced by ``screenings.domain.CHANGED``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.screening.matching.domain import Party
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import (
    ScreenedSubject,
    ScreeningMatch,
    ScreeningResult,
    StoredSubject,
    SubjectDetails,
)
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import CATEGORIES, SUBSUMED_LISTS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    MAX_NOTE_LENGTH,
    ReviewDecision,
    ReviewNotOpen,
    ReviewSubject,
    detect_name_script,
)


class RescreenAfterImportJob(msgspec.Struct, frozen=True):
    """The progress of rescreening after a load: ended entries first, then new ones. ``after``: a subject."""

    load: UUID
    stage: Literal["ended", "brought"] = "ended"
    after: UUID | None = None


RESCREEN: Final = JobKind("matches.rescreen", RescreenAfterImportJob)


class RescreenOutdatedSubjectsJob(msgspec.Struct, frozen=True):
    """The details of the job that rescreens outdated subjects after the given one."""

    after: UUID


RESCREEN_OUTDATED: Final = JobKind("matches.rescreen_outdated", RescreenOutdatedSubjectsJob)


class RescreenSubjectJob(msgspec.Struct, frozen=True):
    """A watched subject whose rescreening failed in a batch."""

    subject: UUID


RESCREEN_SUBJECT: Final = JobKind("matches.rescreen_subject", RescreenSubjectJob)
_SCREENING: Final = "screening"
"""The kind of review for records that cannot be compared."""
DIFFERENT: Final = "not_the_same"
REASONS: Final = (DIFFERENT,)
"""The reason codes for clearing a match."""
_DECISIONS: Final[dict[str, Literal["confirmed", "cleared"]]] = {"accepted": "confirmed", "rejected": "cleared"}


def subject_details_of(organisation: Organisation) -> SubjectDetails:
    """An organisation's details for screening: its names, number and address."""
    names = (organisation.name, organisation.full_name, organisation.display_name, *organisation.registered_names)
    street = " ".join(line for line in (organisation.address_line_1, organisation.address_line_2) if line)
    located = street or organisation.city or organisation.postcode
    return SubjectDetails(
        kind="organisation",
        names=tuple(dict.fromkeys(name for name in names if name)),
        countries=(organisation.country_code,),
        identifiers=(organisation.registry_number,),
        address=Party(
            (),
            street=street or None,
            city=organisation.city,
            state=organisation.state,
            postcode=organisation.postcode,
            country=organisation.country_code,
        )
        if located
        else None,
    )


async def screen(
    tx: Tx,
    screener: Screener,
    subject: ScreenedSubject,
    subject_details: SubjectDetails,
    *,
    monitor: bool,
    merged_subjects: Sequence[ScreenedSubject] = (),
) -> ScreeningResult:
    """Screen a record against all lists; new or changed matches are sent to review.

    ``monitor``: screen it again when a list changes. ``merged_subjects``: further records of the same body; a
    reviewer's decision on one of them is reused here if the compared data are identical.
    """
    result = await _update_reviews(tx, await screenings.screen(tx, screener, subject, subject_details, monitor=monitor))
    if result.has_changed and result.obstacle is None:
        await _withdraw_manual_screening(tx, subject)
    return await _apply_earlier_decisions(tx, result, merged_subjects)


async def rescreen(screener: Screener, stored_subject_id: UUID, tx: Tx) -> ScreeningResult | None:
    """Screen a watched subject again; None if it is not watched any more."""
    result = await screenings.rescreen(tx, screener, stored_subject_id)
    return await _apply_earlier_decisions(tx, await _update_reviews(tx, result), ()) if result is not None else None


async def get_screening_result(tx: Tx, subject: ScreenedSubject) -> ScreeningResult:
    """The stored screening result of a record."""
    return await screenings.get_screening_result(tx, subject)


async def request_manual_screening(tx: Tx, subject: ScreenedSubject) -> None:
    """Ask a reviewer to look up a record whose names cannot all be compared, unless that is done."""
    stored = await screenings.lock_subject(tx, subject)
    if stored is not None and stored.obstacle is not None and stored.manual_result is None:
        await reviews.request_review(tx, screening_review_subject_for(stored), [f"not_screened:{stored.obstacle}"])


async def record_manual_screening_result(
    tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision
) -> StoredSubject:
    """Record a reviewer's lookup: accepted means no list has it, rejected that one of the reason's category has it.

    Raises ReviewNotOpen.
    """
    stored = await screenings.lock_subject_by_id(tx, subject_id)
    if stored is None or (scope is not ALL_PARTNERS and scope != Partner(stored.subject.partner_id)):
        raise ReviewNotOpen("There is no such record.")
    found = next((category for category in CATEGORIES if category == decision.reason_code), None)
    if not await screenings.set_manual_screening_result(tx, stored, found or "clear"):
        raise ReviewNotOpen("Somebody has looked it up, or its names can be compared now.")
    await reviews.record_decision(tx, screening_review_subject_for(stored), decision)
    return stored


async def reopen_manual_screening_result(tx: Tx, subject_id: UUID, operator_id: str, note: str) -> StoredSubject:
    """Remove a manual result and request a new review. Raises NotFound, ReviewNotOpen."""
    stored = await screenings.lock_subject_by_id(tx, subject_id)
    if stored is None:
        raise NotFound
    if not await screenings.set_manual_screening_result(tx, stored, None):
        raise ReviewNotOpen("Nobody has looked it up.")
    subject = screening_review_subject_for(stored)
    await reviews.record_reopening(tx, subject, operator_id, note)
    await reviews.request_review(tx, subject, [f"not_screened:{stored.obstacle}", "taken_back"])
    return stored


def screening_review_subject_for(stored_subject: StoredSubject) -> ReviewSubject:
    """The review subject of a record that cannot be compared."""
    country = stored_subject.details.countries[0] if stored_subject.details.countries else None
    script = detect_name_script(" ".join(stored_subject.details.names))
    return ReviewSubject(_SCREENING, stored_subject.id, stored_subject.subject.partner_id, country, script)


async def lock_screened_subject(tx: Tx, subject: ScreenedSubject) -> None:
    """Lock a record's screening result until the transaction ends."""
    await screenings.lock_subject(tx, subject)


async def stop_monitoring_subject(tx: Tx, subject: ScreenedSubject) -> None:
    """Stop rescreening a record, and close its reviews."""
    await _withdraw_manual_screening(tx, subject)
    for match in await screenings.stop_monitoring_subject(tx, subject):
        await reviews.withdraw_review(tx, review_subject_for(match))


async def erase_screened_subject(tx: Tx, subject: ScreenedSubject) -> None:
    """Delete a screened record and close its reviews."""
    await _withdraw_manual_screening(tx, subject)
    for match in await screenings.erase_subject(tx, subject):
        await reviews.withdraw_review(tx, review_subject_for(match))


async def _withdraw_manual_screening(tx: Tx, subject: ScreenedSubject) -> None:
    stored = await screenings.lock_subject(tx, subject)
    if stored is not None:
        await reviews.withdraw_review(tx, screening_review_subject_for(stored))


async def decide_match(
    tx: Tx, scope: Partner | AllPartners, match_id: UUID, decision: ReviewDecision
) -> ScreeningMatch:
    """Record a reviewer's decision: accepted means the same, rejected not the same. Raises ReviewNotOpen."""
    match = await screenings.lock_match(tx, match_id)
    if match is None or (scope is not ALL_PARTNERS and scope != Partner(match.subject.partner_id)):
        raise ReviewNotOpen("There is no such match.")
    if not await screenings.decide_match(tx, match, _DECISIONS[decision.verdict]):
        raise ReviewNotOpen("It was decided already, or the two do not agree any more.")
    await reviews.record_decision(tx, review_subject_for(match), decision)
    return match


async def reopen_match(tx: Tx, match_id: UUID, operator_id: str, note: str) -> ScreeningMatch:
    """Remove the decision on a match and request a new review. Raises NotFound, ReviewNotOpen."""
    match = await screenings.lock_match(tx, match_id)
    if match is None:
        raise NotFound
    if not await screenings.reopen_match(tx, match):
        raise ReviewNotOpen("Nobody has decided about it.")
    await reviews.record_reopening(tx, review_subject_for(match), operator_id, note)
    now = await screenings.find_match(tx, match_id)
    if now is not None and now.awaiting_review:
        await reviews.request_review(tx, review_subject_for(match), [f"listed:{match.category}", "taken_back"])
    return match


def review_subject_for(match: ScreeningMatch) -> ReviewSubject:
    """The review subject of a match."""
    name = match.subject_side.get("name")
    script = detect_name_script(name) if isinstance(name, str) else None
    return ReviewSubject("match", match.id, match.subject.partner_id, name_script=script)


async def _apply_earlier_decisions(
    tx: Tx, result: ScreeningResult, others: Sequence[ScreenedSubject]
) -> ScreeningResult:
    """Apply earlier decisions on identical comparisons, unless this match was ever decided.

    They concern another record of the body, or a list that this one replaces.
    """
    waiting = [match for match in result.matches if match.decision == "open"]
    if not waiting or not (others or any(match.list in SUBSUMED_LISTS.values() for match in waiting)):
        return result
    known = [match for who in others for match in (await screenings.get_screening_result(tx, who)).matches]
    known += await screenings.list_decided_matches(tx, waiting[0].subject)
    decided = {
        _comparison_key(match): match for match in known if match.decision != "open" and not match.awaiting_review
    }
    answered: dict[UUID, ScreeningMatch] = {}
    for match in waiting:
        twin = decided.get(_comparison_key(match))
        if twin is None or (await reviews.load_review_history(tx, review_subject_for(match))).decisions:
            continue
        stated = (await reviews.load_review_history(tx, review_subject_for(twin))).decisions
        if stated and twin.decision != "open" and await screenings.decide_match(tx, match, twin.decision):
            named = f"As of {tx.ids.encode('screeningmatch', twin.id)}, which asks the same: {stated[-1].decision.note}"
            await reviews.record_decision(
                tx, review_subject_for(match), replace(stated[-1].decision, note=named[:MAX_NOTE_LENGTH])
            )
            answered[match.id] = replace(match, decision=twin.decision, awaiting_review=False)
    return replace(result, matches=[answered.get(match.id, match) for match in result.matches])


def _comparison_key(match: ScreeningMatch) -> tuple[object, ...]:
    """What a reviewer compares: the entry, and the data of both sides that affected the score."""
    return (
        SUBSUMED_LISTS.get(match.list, match.list),
        match.entry_key,
        *sorted(match.subject_side.items()),
        *sorted(match.entry_side.items()),
    )


async def _update_reviews(tx: Tx, result: ScreeningResult) -> ScreeningResult:
    for match in result.newly_awaiting_review:
        again = ["changed_since_decided"] if match.changes_since_decision else []
        await reviews.request_review(tx, review_subject_for(match), [f"listed:{match.category}", *again])
    for match in result.no_longer_awaiting_review:
        await reviews.withdraw_review(tx, review_subject_for(match))
    return result
