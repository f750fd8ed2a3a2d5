"""Screen subjects against all loaded watchlists, and store the matches and decisions.

A decision on a match holds until a fact that it was based on changes. When a list has a new version, only the subjects
that the update can affect are screened again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import outbox
from almoner.screening.matching.domain import PersonScreeningObstacle
from almoner.screening.matching.service import (
    ENGINE_VERSION,
    FLAG_SCORE,
    find_person_screening_obstacle,
    find_screening_obstacle,
)
from almoner.screening.screenings import store
from almoner.screening.screenings.domain import (
    CHANGED,
    COMPARED,
    UNWATCHED,
    ManualResult,
    ScreenedSubject,
    ScreeningChangedEvent,
    ScreeningMatch,
    ScreeningResult,
    StoredSubject,
    SubjectDetails,
    WatchlistHit,
    WatchlistSearchResult,
)
from almoner.screening.screenings.indexing import ScreeningIndex, index_entry
from almoner.screening.screenings.screener import Screener as Screener
from almoner.screening.screenings.store import find_match as find_match
from almoner.screening.screenings.store import find_screened_subject as find_screened_subject
from almoner.screening.screenings.store import find_subject_by_id as find_subject_by_id
from almoner.screening.screenings.store import list_matches as list_matches
from almoner.screening.screenings.store import list_related_matches as list_related_matches
from almoner.screening.screenings.store import (
    load_subject_and_listed_names_by_match_id as load_subject_and_listed_names_by_match_id,
)
from almoner.screening.screenings.store import load_subject_names_by_id as load_subject_names_by_id
from almoner.screening.screenings.store import lock_subject_by_id as lock_subject_by_id
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import SubjectKind, WatchlistImportEvent

BATCH_SIZE: Final = 500
_LEAST_SIMILAR: Final = 0.5
_MOST_FOUND: Final = 20


async def screen(
    tx: Tx, screener: Screener, subject: ScreenedSubject, subject_details: SubjectDetails, *, monitor: bool
) -> ScreeningResult:
    """Screen a record against all lists and store the result. ``monitor``: screen it again when a list changes.

    If an older engine version screened it last, its previous details are screened first, so that changes by the engine
    are kept apart from changes of the record.
    """
    lists = await screener.lock_and_get_current_index(tx)
    known = await store.lock_subject(tx, subject.type, subject.id)
    before = await _compare(tx, lists, known) if known is not None and known.engine_version != ENGINE_VERSION else None
    obstacle = find_screening_obstacle(subject_details.names)
    saved = await store.save_subject(tx, subject, subject_details, ENGINE_VERSION, obstacle, monitor=monitor)
    now = await _compare(tx, lists, saved)
    return now if before is None else now.combined_with(before)


async def rescreen(tx: Tx, screener: Screener, stored_subject_id: UUID) -> ScreeningResult | None:
    """Screen a watched subject again with its stored details; None if it is no longer watched."""
    lists = await screener.lock_and_get_current_index(tx)
    stored = await store.lock_subject_by_id(tx, stored_subject_id)
    return await _compare(tx, lists, stored) if stored is not None and stored.is_monitored else None


async def get_screening_result(tx: Tx, subject: ScreenedSubject) -> ScreeningResult:
    """The current result of a record, without screening it."""
    stored = await store.find_screened_subject(tx, subject.type, subject.id)
    return ScreeningResult(
        subject.kind,
        await watchlists.list_current_versions(tx),
        await store.list_current_matches(tx, subject.type, subject.id),
        obstacle=stored.obstacle if stored else None,
        manual_result=stored.manual_result if stored else None,
    )


async def search_watchlists(
    db: Database, screener: Screener, text: str, kind: SubjectKind, countries: Sequence[str]
) -> WatchlistSearchResult:
    """Search the watchlists for a name or number: what screening would flag, similar entries, and those with the text.

    Stores nothing.
    """
    subject_details = SubjectDetails(kind, [text], countries)
    lists = await screener.reload_index(db)

    def compare() -> tuple[list[WatchlistHit], list[WatchlistHit]]:
        found = lists.find_hits(subject_details)[:_MOST_FOUND]
        return found, lists.find_similar_hits(subject_details, _LEAST_SIMILAR, _MOST_FOUND)

    flagged, similar = await asyncio.to_thread(compare)
    keys: dict[str, list[str]] = {}
    for hit in (*flagged, *similar):
        keys.setdefault(hit.list, []).append(hit.entry_key)
    async with db.read() as tx:
        entries = [entry for code, of in keys.items() for entry in await watchlists.find_entries(tx, code, of)]
        containing = await watchlists.find_entries_with_text(tx, text)
    return WatchlistSearchResult(
        lists.versions,
        flagged,
        similar,
        {(entry.list, entry.listed.key): entry for entry in entries},
        containing,
        _lookup_obstacle(subject_details),
    )


def _lookup_obstacle(subject_details: SubjectDetails) -> PersonScreeningObstacle | None:
    if subject_details.kind == "person":
        return next(filter(None, map(find_person_screening_obstacle, subject_details.names)), None)
    return find_screening_obstacle(subject_details.names)


async def list_decided_matches(tx: Tx, subject: ScreenedSubject) -> list[ScreeningMatch]:
    """List reviewers' decisions on a record, including those on ended matches."""
    return await store.list_decided_matches(tx, subject.type, subject.id)


async def lock_match(tx: Tx, match_id: UUID) -> ScreeningMatch | None:
    """Get one match with its subject locked until the transaction ends; None if it does not exist or was erased."""
    match = await store.find_match(tx, match_id)
    if match is None or await store.lock_subject_by_id(tx, match.screening_subject_id) is None:
        return None
    return await store.find_match(tx, match_id)


async def get_subject_of_match(tx: Tx, match: ScreeningMatch) -> StoredSubject:
    """Get the subject that a match belongs to."""
    stored = await store.find_subject_by_id(tx, match.screening_subject_id)
    assert stored is not None, "a match has a subject"
    return stored


async def decide_match(tx: Tx, match: ScreeningMatch, decision: Literal["confirmed", "cleared"]) -> bool:
    """Store a reviewer's decision on a locked match; False if it can no longer be decided."""
    if not await store.store_match_decision(
        tx, match.id, decision, keep_match_current=decision == "confirmed" or _still_agrees(match)
    ):
        return False
    await outbox.emit_internal_event(
        tx, CHANGED, ScreeningChangedEvent(match.subject.type, match.subject.id, decided=True)
    )
    return True


def _still_agrees(match: ScreeningMatch) -> bool:
    """Whether the engine itself still finds the match, regardless of any decision."""
    return match.current and match.score >= FLAG_SCORE


async def lock_subject(tx: Tx, subject: ScreenedSubject) -> StoredSubject | None:
    """Lock the screening of a record until the transaction ends."""
    return await store.lock_subject(tx, subject.type, subject.id)


async def set_manual_screening_result(
    tx: Tx, stored_subject: StoredSubject, manual_result: ManualResult | None
) -> bool:
    """Store a reviewer's result for a locked subject that cannot be compared; None removes it.

    Returns False if nothing changes.
    """
    if not await store.set_manual_screening_result(tx, stored_subject.id, manual_result):
        return False
    await outbox.emit_internal_event(
        tx, CHANGED, ScreeningChangedEvent(stored_subject.subject.type, stored_subject.subject.id, decided=True)
    )
    return True


async def reopen_match(tx: Tx, match: ScreeningMatch) -> bool:
    """Undo the decision on a locked match; False if there is none."""
    if not await store.clear_match_decision(tx, match.id, still_matches=_still_agrees(match)):
        return False
    await outbox.emit_internal_event(
        tx, CHANGED, ScreeningChangedEvent(match.subject.type, match.subject.id, decided=True)
    )
    return True


async def stop_monitoring_subject(tx: Tx, subject: ScreenedSubject) -> list[ScreeningMatch]:
    """Stop screening a record when a list changes; returns the matches that awaited review.

    Decisions stay. Open matches end; a new screening finds them again.
    """
    stored = await store.lock_subject(tx, subject.type, subject.id)
    if stored is None:
        return []
    await store.stop_monitoring_subject(tx, stored.id)
    were = [match for match in await store.list_matches(tx, stored.id) if match.awaiting_review]
    for match in were:
        await store.update_match(tx, match.with_monitoring_stopped())
    if stored.is_monitored and subject.type == "organisation":
        await outbox.emit_internal_event(tx, UNWATCHED, ScreeningChangedEvent(subject.type, subject.id))
    return were


async def erase_subject(tx: Tx, subject: ScreenedSubject) -> list[ScreeningMatch]:
    """Erase a screened subject; returns its open matches, which end."""
    stored = await store.lock_subject(tx, subject.type, subject.id)
    if stored is None:
        return []
    were = [match for match in await store.list_matches(tx, stored.id) if match.awaiting_review]
    await store.erase_subject(tx, stored.id)
    return were


async def list_subject_ids_affected_by_import(
    tx: Tx, import_id: UUID, after_subject_id: UUID | None = None, limit: int | None = None
) -> list[UUID]:
    """IDs of monitored subjects with a match that an import ended or changed, after ``after_subject_id``."""
    changes = await watchlists.get_import_changes(tx, import_id)
    gone = [*changes.removed_entries, *(before for before, _ in changes.changed_entries_old_and_new)]
    if not gone:
        return []
    keys = [entry.listed.key for entry in gone]
    return await store.list_subject_ids_with_current_matches(tx, gone[0].list, keys, after_subject_id, limit)


async def build_import_index(tx: Tx, import_id: UUID) -> ScreeningIndex:
    """An index of the entries that a list import added or changed."""
    changes = await watchlists.get_import_changes(tx, import_id)
    fresh = (
        index_entry(entry)
        for entry in (*changes.added_entries, *(after for _, after in changes.changed_entries_old_and_new))
    )
    versions = [version for version in await watchlists.list_current_versions(tx) if version.load.list == changes.list]
    return ScreeningIndex([one for one in fresh if one is not None], versions)


class SubjectHitBatch(NamedTuple):
    """The subjects of a batch that have hits, and the last subject of the batch; None if the batch is empty."""

    subject_ids_with_hits: list[UUID]
    last_compared_subject_id: UUID | None


async def find_next_subject_ids_with_hits(
    tx: Tx, screening_index: ScreeningIndex, after_subject_id: UUID
) -> SubjectHitBatch:
    """Compare the next watched subjects with these lists."""
    batch = await store.list_monitored_subjects(tx, after_subject_id, BATCH_SIZE)
    found = await asyncio.to_thread(lambda: [one.id for one in batch if screening_index.find_hits(one.details)])
    return SubjectHitBatch(found, batch[-1].id if batch else None)


async def list_subject_ids_screened_by_older_engine(tx: Tx, after_subject_id: UUID, limit: int) -> list[UUID]:
    """List the next monitored subjects after ``after_subject_id`` that an older engine version screened."""
    return await store.list_subject_ids_screened_by_older_engine(tx, ENGINE_VERSION, after_subject_id, limit)


async def has_subjects_screened_by_older_engine(tx: Tx) -> bool:
    """Whether an older engine version screened any subject."""
    return await store.has_subjects_screened_by_older_engine(tx, ENGINE_VERSION)


async def has_category_coverage_changed(tx: Tx, import_id: UUID) -> bool:
    """Whether the list covers other categories since this import, which may change every result."""
    return await watchlists.has_category_coverage_changed(tx, import_id)


async def emit_import_screening_completed(tx: Tx, import_id: UUID) -> None:
    """Emit the event that all watched subjects were screened against an import."""
    changes = await watchlists.get_import_changes(tx, import_id)
    await outbox.emit_internal_event(tx, COMPARED, WatchlistImportEvent(changes.list, import_id))


async def emit_screening_changed(tx: Tx, after_subject_id: UUID, last_subject_id: UUID) -> None:
    """Emit the event that the results of these watched subjects may have changed."""
    for one in await store.list_monitored_subjects_between(tx, after_subject_id, last_subject_id):
        await outbox.emit_internal_event(tx, CHANGED, ScreeningChangedEvent(one.subject.type, one.subject.id))


async def _compare(tx: Tx, lists: ScreeningIndex, stored_subject: StoredSubject) -> ScreeningResult:
    before = await store.list_matches(tx, stored_subject.id)
    hits = {(hit.list, hit.entry_key): hit for hit in await asyncio.to_thread(lists.find_hits, stored_subject.details)}
    found = {(match.list, match.entry_key): _updated_match(match, lists, stored_subject, hits) for match in before}
    obstacle = find_screening_obstacle(stored_subject.details.names)
    changed = obstacle != stored_subject.obstacle
    for match in before:
        now = found[match.list, match.entry_key]
        if now != match:
            await store.update_match(tx, now)
        changed = changed or not now.is_equivalent_to(match)
    for hit in (hit for key, hit in hits.items() if key not in found):
        await store.insert_match(tx, stored_subject.id, hit)
        changed = True
    if (stored_subject.engine_version, stored_subject.obstacle) != (ENGINE_VERSION, obstacle):
        await store.record_engine_version_and_obstacle(tx, stored_subject.id, ENGINE_VERSION, obstacle)
    if changed:
        await outbox.emit_internal_event(
            tx, CHANGED, ScreeningChangedEvent(stored_subject.subject.type, stored_subject.subject.id)
        )
    waited = {match.id for match in before if match.awaiting_review}
    matches = await store.list_matches(tx, stored_subject.id)
    return ScreeningResult(
        stored_subject.subject.kind,
        lists.versions,
        [match for match in matches if match.current],
        newly_awaiting_review=[match for match in matches if match.awaiting_review and match.id not in waited],
        no_longer_awaiting_review=[match for match in matches if match.id in waited and not match.awaiting_review],
        has_changed=changed,
        obstacle=obstacle,
        manual_result=stored_subject.manual_result if obstacle is not None else None,
    )


def _updated_match(
    match: ScreeningMatch,
    lists: ScreeningIndex,
    stored_subject: StoredSubject,
    hits: Mapping[tuple[str, str], WatchlistHit],
) -> ScreeningMatch:
    """The match after another screening.

    A confirmed match stays for as long as the entry is listed, however low the score is now.
    """
    hit = hits.get((match.list, match.entry_key))
    if hit is None and match.current and match.decision == "confirmed":
        hit = lists.compare_with_entry(stored_subject.details, match.list, match.entry_key)
    if hit is not None:
        return (
            match.updated_with_hit(hit)
            if stored_subject.engine_version == ENGINE_VERSION
            else match.updated_with_hit_of_new_engine(hit)
        )
    return match.as_ended() if match.current else match
