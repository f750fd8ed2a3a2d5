"""Incidents: faults that operators report on the public status page, with updates over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import Tx

ID: Final = "incident"
IncidentStatus = Literal["investigating", "identified", "monitoring", "resolved"]
STATES: Final[tuple[IncidentStatus, ...]] = get_args(IncidentStatus)
OPEN_STATUSES: Final = STATES[:-1]
EVERYTHING: Final = "everything"
AFFECTED: Final[Mapping[str, str]] = {
    EVERYTHING: "The whole service",
    "api": "API and hosted pages",
    "webhooks": "Webhooks",
    "emails": "Emails",
    "payments": "Payments",
    "disbursements": "Disbursements",
    "validation": "Validation",
    "registers": "Registers",
}
"""The parts of the service that an incident can affect, as the status page names them."""

_COLUMNS: Final = "id, title, affected, started_at, resolved_at"
_LAST: Final = UUID(int=2**128 - 1)


class NoSuchIncident(LookupError):
    """There is no incident with this ID."""


class IncidentAlreadyResolved(Exception):
    """The incident has been resolved; a new fault is a new incident."""


@dataclass(frozen=True, slots=True)
class IncidentUpdate:
    """An update published for an incident. ``written_by``: the operator's ID, which is not published."""

    status: IncidentStatus
    text: str
    written_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault, with its updates, newest first."""

    id: UUID
    title: str
    affected_part: str
    started_at: datetime
    resolved_at: datetime | None
    updates: Sequence[IncidentUpdate]

    @property
    def status(self) -> IncidentStatus:
        """The status set by the last update."""
        return self.updates[0].status

    @property
    def affected_name(self) -> str:
        """The affected part as people read it; its key if a newer version reported it."""
        return AFFECTED.get(self.affected_part, self.affected_part)


async def create_incident(
    tx: Tx, title: str, affected_part: str, status: IncidentStatus, text: str, written_by: str
) -> UUID:
    """Publish a new incident with its first update; returns its ID."""
    incident_id = tx.new_id()
    await tx.execute(
        "insert into incident (id, title, affected, started_at) values ($1, $2, $3, $4)",
        incident_id,
        title,
        affected_part,
        tx.now,
    )
    await _insert_update(tx, incident_id, status, text, written_by)
    return incident_id


async def update_incident(tx: Tx, incident_id: UUID, status: IncidentStatus, text: str, written_by: str) -> None:
    """Publish an update, which may resolve the incident. Raises NoSuchIncident, IncidentAlreadyResolved."""
    row = await tx.fetchrow("select resolved_at from incident where id = $1 for no key update", incident_id)
    if row is None:
        raise NoSuchIncident
    if row["resolved_at"] is not None:
        raise IncidentAlreadyResolved("The incident has been resolved. Report a new incident instead.")
    await _insert_update(tx, incident_id, status, text, written_by)
    if status == "resolved":
        await tx.execute("update incident set resolved_at = $2 where id = $1", incident_id, tx.now)


async def _insert_update(tx: Tx, incident_id: UUID, status: IncidentStatus, text: str, written_by: str) -> None:
    await tx.execute(
        """
        insert into incident_update (incident_id, number, status, text, written_by, created_at)
        select $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5 from incident_update where incident_id = $1
        """,
        incident_id,
        status,
        text,
        written_by,
        tx.now,
    )


async def get_incident(tx: Tx, incident_id: UUID) -> Incident:
    """Find an incident. Raises NoSuchIncident."""
    rows = await tx.fetch(f"select {_COLUMNS} from incident where id = $1", incident_id)
    if not rows:
        raise NoSuchIncident
    return (await _with_updates(tx, rows))[0]


async def list_incidents(tx: Tx, before_id: UUID | None, limit: int) -> list[Incident]:
    """List all incidents, newest first; ``before_id``: the last ID of the previous page."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from incident where id < $1 order by id desc limit $2", before_id or _LAST, limit
    )
    return await _with_updates(tx, rows)


async def list_public_incidents(tx: Tx, resolved_after: datetime, limit: int) -> list[Incident]:
    """List open incidents, then those resolved after a moment, each newest first."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from incident where resolved_at is null or resolved_at > $1
        order by resolved_at is not null, id desc limit $2
        """,
        resolved_after,
        limit,
    )
    return await _with_updates(tx, rows)


async def count_open_incidents(tx: Tx) -> int:
    """How many incidents are open."""
    return int(await tx.fetchval("select count(*) from incident where resolved_at is null"))


async def _with_updates(tx: Tx, rows: Sequence[Record]) -> list[Incident]:
    updates = await tx.fetch(
        """
        select incident_id, status, text, written_by, created_at from incident_update
        where incident_id = any($1::uuid[]) order by number desc
        """,
        [row["id"] for row in rows],
    )
    found: dict[UUID, list[IncidentUpdate]] = {}
    for incident_id, *values in updates:
        found.setdefault(incident_id, []).append(IncidentUpdate(*values))
    return [
        Incident(row["id"], row["title"], row["affected"], row["started_at"], row["resolved_at"], found[row["id"]])
        for row in rows
    ]
