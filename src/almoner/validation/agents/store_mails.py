"""SQL for confirmation emails, representation requests and official contacts."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.validation.agents.confirmation_codes import EmailConfirmation
from almoner.validation.agents.domain import Answer, OfficialContact, RepresentationRequest


async def insert_confirmation(tx: Tx, confirmation: EmailConfirmation) -> None:
    """Store an email to send, which voids the codes of earlier ones."""
    await tx.execute(
        "insert into agent_confirmation (id, verification_id, sent_at) values ($1, $2, $3)",
        confirmation.id,
        confirmation.verification_id,
        confirmation.sent_at,
    )


_SEND_TIMES: Final = """
with recursive one (id) as (
    select $1::uuid
    union all
    select v.replaces from one join agent_verification v on v.id = one.id where v.replaces is not null
) select c.sent_at from one join agent_confirmation c on c.verification_id = one.id
"""


@across_partners("held")
async def list_confirmation_send_times(tx: Tx, verification_id: UUID) -> list[datetime]:
    """When confirmation emails were sent for a verification and those it replaced (real time)."""
    return [row["sent_at"] for row in await tx.fetch(_SEND_TIMES, verification_id)]


_ADDRESS_SEND_TIMES: Final = """
select c.sent_at from agent_verification v join agent_confirmation c on c.verification_id = v.id
where lower(v.email) = lower($1) and c.sent_at > $2 order by c.sent_at desc limit 400
"""


@across_partners("held")
async def lock_address_and_list_confirmation_send_times(tx: Tx, email: str, since: datetime) -> list[datetime]:
    """When emails were sent to an address for any verification. Locks the address until the transaction ends."""
    await tx.fetchval("select pg_advisory_xact_lock(hashtextextended('agent_confirmation ' || lower($1), 0))", email)
    return [row["sent_at"] for row in await tx.fetch(_ADDRESS_SEND_TIMES, email, since)]


async def find_confirmation(tx: Tx, confirmation_id: UUID) -> EmailConfirmation | None:
    """Find one email; None if it does not exist."""
    row = await tx.fetchrow(
        "select id, verification_id, sent_at, failed_attempts from agent_confirmation where id = $1", confirmation_id
    )
    return EmailConfirmation(*row) if row else None


async def find_latest_confirmation(tx: Tx, verification_id: UUID) -> EmailConfirmation | None:
    """Find the newest email, whose code is the valid one."""
    row = await tx.fetchrow(
        """
        select id, verification_id, sent_at, failed_attempts from agent_confirmation
        where verification_id = $1 order by sent_at desc, id desc limit 1
        """,
        verification_id,
    )
    return EmailConfirmation(*row) if row else None


async def record_failed_code_attempt(tx: Tx, confirmation_id: UUID) -> None:
    """Count a wrong code."""
    await tx.execute(
        "update agent_confirmation set failed_attempts = failed_attempts + 1 where id = $1", confirmation_id
    )


async def insert_representation_request(tx: Tx, representation_request: RepresentationRequest) -> None:
    """Store a request to email."""
    await tx.execute(
        """
        insert into agent_representation_request (id, verification_id, email, asked_at, expires_at) values ($1, $2, $3,
            $4, $5)
        """,
        representation_request.id,
        representation_request.verification_id,
        representation_request.email,
        representation_request.requested_at,
        representation_request.expires_at,
    )


async def find_representation_request(tx: Tx, verification_id: UUID) -> RepresentationRequest | None:
    """The representation request of a verification; None if there is none."""
    row = await tx.fetchrow(
        """
        select id, verification_id, email, asked_at, expires_at, answer from agent_representation_request
        where verification_id = $1
        """,
        verification_id,
    )
    return RepresentationRequest(*row) if row else None


async def record_representation_answer(tx: Tx, representation_request: RepresentationRequest, answer: Answer) -> None:
    """Store the nonprofit's answer. The verification must be locked."""
    await tx.execute(
        "update agent_representation_request set answer = $2, answered_at = $3 where id = $1",
        representation_request.id,
        answer,
        tx.now,
    )


_OLDEST_ERASABLE: Final = (
    "select min(coalesce(answered_at, expires_at)) from agent_representation_request where email is not null"
)


async def find_earliest_unerased_representation_request_end(tx: Tx) -> datetime | None:
    """When the longest-closed representation request that still has an address was closed."""
    found: datetime | None = await tx.fetchval(_OLDEST_ERASABLE)
    return found


async def erase_representation_requests(tx: Tx, closed_before: datetime, limit: int) -> int:
    """Erase the addresses of representation requests closed by then; returns how many."""
    rows = await tx.fetch(
        """
        with old as (
            select id from agent_representation_request where email is not null and coalesce(answered_at,
                expires_at) <= $1
            order by coalesce(answered_at, expires_at) limit $2 for no key update skip locked
        )
        update agent_representation_request q set email = null from old where q.id = old.id returning q.id
        """,
        closed_before,
        limit,
    )
    return len(rows)


async def find_official_contact(tx: Tx, organisation_id: UUID) -> OfficialContact | None:
    """The official contact of an organisation; None if there is none."""
    row = await tx.fetchrow(
        "select organisation_id, email, source from organisation_contact where organisation_id = $1", organisation_id
    )
    return OfficialContact(*row) if row else None


async def set_official_contact(tx: Tx, contact: OfficialContact, recorded_by: str) -> None:
    """Store an organisation's official contact in place of the previous one."""
    await tx.execute(
        """
        insert into organisation_contact (organisation_id, email, source, recorded_by, recorded_at)
        values ($1, $2, $3, $4, $5)
        on conflict (organisation_id) do update set email = excluded.email, source = excluded.source,
            recorded_by = excluded.recorded_by, recorded_at = excluded.recorded_at
        """,
        contact.organisation_id,
        contact.email,
        contact.source,
        recorded_by,
        tx.now,
    )
