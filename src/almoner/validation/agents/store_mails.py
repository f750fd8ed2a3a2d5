"""SQL of what is mailed about agents: confirmations, questions to nonprofits, and where those can be asked."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Everyone, Tx
from almoner.validation.agents.codes import Confirmation
from almoner.validation.agents.domain import Answer, Contact, Question


async def insert_confirmation(tx: Tx, new: Confirmation) -> None:
    """Store a mail that is to be sent; the codes of earlier ones are void by it."""
    await tx.execute(
        "insert into agent_confirmation (id, verification_id, sent_at) values ($1, $2, $3)",
        new.id,
        new.verification_id,
        new.sent_at,
    )


SENT: Final = """
with recursive one (id) as (
    select $1::uuid
    union all
    select v.replaces from one join agent_verification v on v.id = one.id where v.replaces is not null
) select c.sent_at from one join agent_confirmation c on c.verification_id = one.id
"""


async def sent(tx: Tx, _scope: Everyone, verification_id: UUID) -> list[datetime]:
    """When mails of a verification were sent, and of those that it took the place of, in real time."""
    return [row["sent_at"] for row in await tx.fetch(SENT, verification_id)]


REACHED: Final = """
select c.sent_at from agent_verification v join agent_confirmation c on c.verification_id = v.id
where lower(v.email) = lower($1) and c.sent_at > $2 order by c.sent_at desc limit 400
"""


async def reached(tx: Tx, _scope: Everyone, email: str, since: datetime) -> list[datetime]:
    """When an address was written to for whichever verification; until the transaction ends nobody else asks this."""
    await tx.fetchval("select pg_advisory_xact_lock(hashtextextended('agent_confirmation ' || lower($1), 0))", email)
    return [row["sent_at"] for row in await tx.fetch(REACHED, email, since)]


async def find_confirmation(tx: Tx, _scope: Everyone, confirmation_id: UUID) -> Confirmation | None:
    """One mail."""
    row = await tx.fetchrow(
        "select id, verification_id, sent_at, failed_attempts from agent_confirmation where id = $1", confirmation_id
    )
    return Confirmation(*row) if row else None


async def newest_confirmation(tx: Tx, _scope: Everyone, verification_id: UUID) -> Confirmation | None:
    """The mail whose code counts."""
    row = await tx.fetchrow(
        """
        select id, verification_id, sent_at, failed_attempts from agent_confirmation
        where verification_id = $1 order by sent_at desc, id desc limit 1
        """,
        verification_id,
    )
    return Confirmation(*row) if row else None


async def record_code_attempt(tx: Tx, _scope: Everyone, confirmation_id: UUID) -> None:
    """Count a wrong code."""
    await tx.execute(
        "update agent_confirmation set failed_attempts = failed_attempts + 1 where id = $1", confirmation_id
    )


async def insert_representation_request(tx: Tx, new: Question) -> None:
    """Store a question that is to be mailed."""
    await tx.execute(
        """
        insert into agent_representation_request (id, verification_id, email, asked_at, expires_at) values ($1, $2, $3,
            $4, $5)
        """,
        new.id,
        new.verification_id,
        new.email,
        new.asked_at,
        new.expires_at,
    )


async def find_representation_request(tx: Tx, _scope: Everyone, verification_id: UUID) -> Question | None:
    """The question about a verification."""
    row = await tx.fetchrow(
        """
        select id, verification_id, email, asked_at, expires_at, answer from agent_representation_request
        where verification_id = $1
        """,
        verification_id,
    )
    return Question(*row) if row else None


async def answer(tx: Tx, _scope: Everyone, question: Question, given: Answer) -> None:
    """Store the answer to a question; its verification is locked."""
    await tx.execute(
        "update agent_representation_request set answer = $2, answered_at = $3 where id = $1",
        question.id,
        given,
        tx.now,
    )


NEXT_FORGOTTEN: Final = (
    "select min(coalesce(answered_at, expires_at)) from agent_representation_request where email is not null"
)


async def next_forgotten(tx: Tx, _scope: Everyone) -> datetime | None:
    """When the first question that we know the address of was over."""
    found: datetime | None = await tx.fetchval(NEXT_FORGOTTEN)
    return found


async def erase_representation_requests(tx: Tx, _scope: Everyone, over_until: datetime, limit: int) -> int:
    """Forget where nonprofits were asked whose questions were over until then; how many."""
    rows = await tx.fetch(
        """
        with old as (
            select id from agent_representation_request where email is not null and coalesce(answered_at,
                expires_at) <= $1
            order by coalesce(answered_at, expires_at) limit $2 for no key update skip locked
        )
        update agent_representation_request q set email = null from old where q.id = old.id returning q.id
        """,
        over_until,
        limit,
    )
    return len(rows)


async def find_contact(tx: Tx, _scope: Everyone, organisation_id: UUID) -> Contact | None:
    """Where an organisation can be asked."""
    row = await tx.fetchrow(
        "select organisation_id, email, source from organisation_contact where organisation_id = $1", organisation_id
    )
    return Contact(*row) if row else None


async def set_contact(tx: Tx, contact: Contact, by: str) -> None:
    """Store where an organisation can be asked, in place of what was there."""
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
        by,
        tx.now,
    )
