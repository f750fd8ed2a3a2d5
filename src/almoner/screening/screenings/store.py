"""SQL for screenings: subjects, matches and decisions."""

from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.screening.matching.domain import Party, ScorePart
from almoner.screening.screenings.domain import (
    ManualResult,
    RecordedMatchDecision,
    ScreenedSubject,
    ScreeningMatch,
    ScreeningObstacle,
    StoredSubject,
    SubjectDetails,
    WatchlistHit,
)

_SUBJECT: Final = """
    s.id, s.type, s.subject_id, s.partner_id, s.kind, s.names, s.countries, s.identifiers, s.address, s.monitored,
    s.engine_version, s.screened_at, s.obstacle, s.manual_result
"""
_MATCH: Final = """
    m.id, m.screening_subject_id, s.type, s.subject_id, s.partner_id, m.list, m.entry_key, m.category, m.load_id,
    m.score, m.parts, m.subject_side, m.entry_side, m.decision, m.awaiting_review, m.current, m.last_decision,
    m.decided_subject, m.decided_entry, m.found_at, m.changed_at
"""
_MATCHES: Final = "screening_match m join screening_subject s on s.id = m.screening_subject_id"


async def save_subject(
    tx: Tx,
    subject: ScreenedSubject,
    subject_details: SubjectDetails,
    engine_version: int,
    obstacle: ScreeningObstacle | None,
    *,
    monitor: bool,
) -> StoredSubject:
    """Store the subject's current details and lock it. Once monitored, it stays so until ``stop_monitoring_subject``.

    A known subject keeps its obstacle until ``record_engine_version_and_obstacle``. A manual result applies only while
    the names are unchanged.
    """
    row = await tx.fetchrow(
        f"""
        insert into screening_subject as s (id, type, subject_id, partner_id, kind, names, countries, identifiers,
            address, monitored, screened_at, engine_version, obstacle)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        on conflict (type, subject_id) do update
        set names = excluded.names, countries = excluded.countries, identifiers = excluded.identifiers,
            address = excluded.address, monitored = s.monitored or excluded.monitored,
                screened_at = excluded.screened_at,
            engine_version = excluded.engine_version, erased = false,
            manual_result = case when s.names = excluded.names then s.manual_result end
        returning {_SUBJECT}
        """,
        tx.new_id(),
        subject.type,
        subject.id,
        subject.partner_id,
        subject_details.kind,
        subject_details.names,
        subject_details.countries,
        subject_details.identifiers,
        msgspec.to_builtins(subject_details.address) if subject_details.address else None,
        monitor,
        tx.now,
        engine_version,
        obstacle,
    )
    assert row is not None, "it was written"
    return _stored(row)


@across_partners("registers")
async def lock_subject(tx: Tx, record_type: str, record_id: UUID) -> StoredSubject | None:
    """Lock a subject that is not erased."""
    row = await tx.fetchrow(
        f"""
        select {_SUBJECT} from screening_subject s where type = $1 and subject_id = $2 and not erased
        for no key update
        """,
        record_type,
        record_id,
    )
    return _stored(row) if row else None


@across_partners("registers")
async def lock_subject_by_id(tx: Tx, stored_subject_id: UUID) -> StoredSubject | None:
    """Lock a subject that is not erased, by its ID."""
    row = await tx.fetchrow(
        f"select {_SUBJECT} from screening_subject s where id = $1 and not erased for no key update", stored_subject_id
    )
    return _stored(row) if row else None


async def record_engine_version_and_obstacle(
    tx: Tx, stored_subject_id: UUID, engine_version: int, obstacle: ScreeningObstacle | None
) -> None:
    """Record the engine version that screened a subject, and why not all names could be compared."""
    await tx.execute(
        """
        update screening_subject
        set engine_version = $2, obstacle = $3, manual_result = case when $3::text is not null then manual_result end
        where id = $1
        """,
        stored_subject_id,
        engine_version,
        obstacle,
    )


async def set_manual_screening_result(tx: Tx, stored_subject_id: UUID, manual_result: ManualResult | None) -> bool:
    """Store a reviewer's result for names that cannot be compared; False if nothing changes."""
    return bool(
        await tx.fetchval(
            """
            update screening_subject set manual_result = $2
            where id = $1 and obstacle is not null and (manual_result is null) <> ($2::text is null) returning true
            """,
            stored_subject_id,
            manual_result,
        )
    )


@across_partners("registers")
async def list_subject_ids_screened_by_older_engine(
    tx: Tx, engine_version: int, after_id: UUID, limit: int
) -> list[UUID]:
    """List watched subjects that an older engine version screened, after an ID, by ID."""
    rows = await tx.fetch(
        "select id from screening_subject where monitored and engine_version < $1 and id > $2 order by id limit $3",
        engine_version,
        after_id,
        limit,
    )
    return [row["id"] for row in rows]


@across_partners("registers")
async def has_subjects_screened_by_older_engine(tx: Tx, engine_version: int) -> bool:
    """Whether an older engine version screened any subject."""
    return bool(
        await tx.fetchval(
            "select exists (select from screening_subject where monitored and engine_version < $1)", engine_version
        )
    )


@across_partners("registers")
async def stop_monitoring_subject(tx: Tx, stored_subject_id: UUID) -> None:
    """Stop screening a subject when a list changes."""
    await tx.execute("update screening_subject set monitored = false where id = $1", stored_subject_id)


@across_partners("registers")
async def erase_subject(tx: Tx, stored_subject_id: UUID) -> None:
    """Erase a subject's details; the decisions, and the fact that it was screened, stay."""
    await tx.execute(
        """
        update screening_subject
        set names = '{}', countries = '{}', identifiers = '{}', address = null, monitored = false, erased = true,
            obstacle = null, manual_result = null
        where id = $1
        """,
        stored_subject_id,
    )
    await tx.execute(
        """
        update screening_match
        set entry_key = 'erased ' || id, parts = '[]', subject_side = '{}', entry_side = '{}', awaiting_review = false,
            current = false, decided_subject = null, decided_entry = null
        where screening_subject_id = $1
        """,
        stored_subject_id,
    )


@across_partners("registers")
async def list_monitored_subjects(tx: Tx, after_id: UUID, limit: int) -> list[StoredSubject]:
    """List watched subjects by ID."""
    rows = await tx.fetch(
        f"select {_SUBJECT} from screening_subject s where monitored and id > $1 order by id limit $2", after_id, limit
    )
    return [_stored(row) for row in rows]


@across_partners("registers")
async def list_monitored_subjects_between(tx: Tx, after_id: UUID, last_id: UUID) -> list[StoredSubject]:
    """List watched subjects by ID, after one and up to another."""
    rows = await tx.fetch(
        f"select {_SUBJECT} from screening_subject s where monitored and id > $1 and id <= $2 order by id",
        after_id,
        last_id,
    )
    return [_stored(row) for row in rows]


@across_partners("registers")
async def list_subject_ids_with_current_matches(
    tx: Tx, watchlist_code: str, entry_keys: Sequence[str], after_id: UUID | None = None, limit: int | None = None
) -> list[UUID]:
    """List watched subjects with a current match of one of these entries, after an ID, by ID."""
    rows = await tx.fetch(
        f"""
        select distinct m.screening_subject_id from {_MATCHES}
        where m.list = $1 and m.entry_key = any($2) and m.current and s.monitored
            and ($3::uuid is null or m.screening_subject_id > $3)
        order by m.screening_subject_id limit $4
        """,
        watchlist_code,
        entry_keys,
        after_id,
        limit,
    )
    return [row["screening_subject_id"] for row in rows]


@across_partners("registers")
async def list_matches(tx: Tx, stored_subject_id: UUID) -> list[ScreeningMatch]:
    """List all matches of a subject, current or not, best first."""
    rows = await tx.fetch(
        f"""
        select {_MATCH} from {_MATCHES}
        where m.screening_subject_id = $1 order by m.score desc, m.list, m.entry_key
        """,
        stored_subject_id,
    )
    return [_match(row) for row in rows]


@across_partners("registers")
async def list_current_matches(tx: Tx, record_type: str, record_id: UUID) -> list[ScreeningMatch]:
    """List current matches of a record, best first."""
    rows = await tx.fetch(
        f"""
        select {_MATCH} from {_MATCHES}
        where s.type = $1 and s.subject_id = $2 and m.current order by m.score desc, m.list, m.entry_key
        """,
        record_type,
        record_id,
    )
    return [_match(row) for row in rows]


@across_partners("registers")
async def list_decided_matches(tx: Tx, record_type: str, record_id: UUID) -> list[ScreeningMatch]:
    """List matches of a record that a reviewer decided, current or not."""
    rows = await tx.fetch(
        f"""
        select {_MATCH} from {_MATCHES}
        where s.type = $1 and s.subject_id = $2 and m.decision <> 'open' order by m.id
        """,
        record_type,
        record_id,
    )
    return [_match(row) for row in rows]


async def list_related_matches(tx: Tx, match: ScreeningMatch, limit: int) -> list[ScreeningMatch]:
    """List matches of the same record, and matches of the same entry with other records, newest first."""
    own = await list_matches(tx, match.screening_subject_id)
    rows = await tx.fetch(
        f"""
        select {_MATCH} from {_MATCHES}
        where m.list = $1 and m.entry_key = $2 and m.current order by m.id desc limit $3
        """,
        match.list,
        match.entry_key,
        limit,
    )
    return [*own[:limit], *(one for one in map(_match, rows) if one.screening_subject_id != match.screening_subject_id)]


@across_partners("registers")
async def find_match(tx: Tx, match_id: UUID) -> ScreeningMatch | None:
    """Find a match; None if there is none."""
    row = await tx.fetchrow(
        f"select {_MATCH} from {_MATCHES} where m.id = $1",
        match_id,
    )
    return _match(row) if row else None


@across_partners("registers")
async def find_screened_subject(tx: Tx, record_type: str, record_id: UUID) -> StoredSubject | None:
    """Find a record as it was last screened."""
    row = await tx.fetchrow(
        f"select {_SUBJECT} from screening_subject s where type = $1 and subject_id = $2", record_type, record_id
    )
    return _stored(row) if row else None


@across_partners("registers")
async def find_subject_by_id(tx: Tx, stored_subject_id: UUID) -> StoredSubject | None:
    """Find a subject as it was last screened."""
    row = await tx.fetchrow(f"select {_SUBJECT} from screening_subject s where id = $1", stored_subject_id)
    return _stored(row) if row else None


@across_partners("registers")
async def load_subject_names_by_id(tx: Tx, subject_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The first name of each of these subjects, without those that are erased."""
    rows = await tx.fetch("select id, names[1] from screening_subject where id = any($1) and not erased", subject_ids)
    return {row[0]: row[1] for row in rows}


@across_partners("registers")
async def load_subject_and_listed_names_by_match_id(tx: Tx, match_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The first name of the subject of each of these matches, and the name that was found in the list."""
    rows = await tx.fetch(
        """
        select m.id, concat_ws(', listed as ', s.names[1], e.names -> 0 ->> 'text') from screening_match m
        join screening_subject s on s.id = m.screening_subject_id
        left join watchlist_entry e on e.list = m.list and e.entry_key = m.entry_key and e.until_load_id is null
        where m.id = any($1) and not s.erased
        """,
        match_ids,
    )
    return {row[0]: row[1] for row in rows}


async def insert_match(tx: Tx, stored_subject_id: UUID, hit: WatchlistHit) -> None:
    """Store a new match as open."""
    await tx.execute(
        """
        insert into screening_match (
            id, screening_subject_id, list, entry_key, category, load_id, score, parts, subject_side, entry_side,
            decision, awaiting_review, current, found_at, changed_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', true, true, $11, $11)
        """,
        tx.new_id(),
        stored_subject_id,
        hit.list,
        hit.entry_key,
        hit.category,
        hit.entry_changed_by_import_id,
        hit.score,
        hit.parts,
        dict(hit.subject_side),
        dict(hit.entry_side),
        tx.now,
    )


async def update_match(tx: Tx, match: ScreeningMatch) -> None:
    """Store the current state of a match."""
    await tx.execute(
        """
        update screening_match
        set category = $2, load_id = $3, score = $4, parts = $5, subject_side = $6, entry_side = $7, decision = $8,
            awaiting_review = $9, current = $10, changed_at = $11, decided_subject = $12, decided_entry = $13
        where id = $1
        """,
        match.id,
        match.category,
        match.entry_changed_by_import_id,
        match.score,
        match.parts,
        dict(match.subject_side),
        dict(match.entry_side),
        match.decision,
        match.awaiting_review,
        match.current,
        tx.now,
        dict(match.decided.subject_side) if match.decided else None,
        dict(match.decided.entry_side) if match.decided else None,
    )


async def store_match_decision(
    tx: Tx, match_id: UUID, decision: Literal["confirmed", "cleared"], *, keep_match_current: bool
) -> bool:
    """Store a reviewer's decision on a match in its current state; False if there is none."""
    row = await tx.fetchrow(
        """
        update screening_match
        set decision = $2, awaiting_review = false, last_decision = $2, decided_subject = subject_side,
            decided_entry = entry_side,
            current = $4, changed_at = $3
        where id = $1 and awaiting_review returning id
        """,
        match_id,
        decision,
        tx.now,
        keep_match_current,
    )
    return row is not None


async def clear_match_decision(tx: Tx, match_id: UUID, *, still_matches: bool) -> bool:
    """Remove the decision on a match; False if there was none."""
    row = await tx.fetchrow(
        """
        update screening_match
        set decision = 'open', awaiting_review = $3, current = $3, last_decision = null, decided_subject = null,
            decided_entry = null, changed_at = $2
        where id = $1 and decision <> 'open' returning id
        """,
        match_id,
        tx.now,
        still_matches,
    )
    return row is not None


def _stored(row: Record) -> StoredSubject:
    asked = SubjectDetails(
        row["kind"],
        tuple(row["names"]),
        tuple(row["countries"]),
        tuple(row["identifiers"]),
        msgspec.convert(row["address"], Party) if row["address"] else None,
    )
    return StoredSubject(
        row["id"],
        _screened_subject(row),
        asked,
        row["monitored"],
        row["engine_version"],
        row["screened_at"],
        row["obstacle"],
        row["manual_result"],
    )


def _screened_subject(row: Record) -> ScreenedSubject:
    return ScreenedSubject(row["type"], row["subject_id"], row["partner_id"])


def _match(row: Record) -> ScreeningMatch:
    return ScreeningMatch(
        id=row["id"],
        screening_subject_id=row["screening_subject_id"],
        subject=_screened_subject(row),
        list=row["list"],
        entry_key=row["entry_key"],
        category=row["category"],
        entry_changed_by_import_id=row["load_id"],
        score=row["score"],
        parts=msgspec.convert(row["parts"], tuple[ScorePart, ...]),
        subject_side=row["subject_side"],
        entry_side=row["entry_side"],
        decision=row["decision"],
        awaiting_review=row["awaiting_review"],
        current=row["current"],
        decided=RecordedMatchDecision(row["last_decision"], row["decided_subject"] or {}, row["decided_entry"] or {})
        if row["last_decision"]
        else None,
        found_at=row["found_at"],
        changed_at=row["changed_at"],
    )
