"""SQL for confirmation requests and their emails."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.disbursing.organisation_confirmations.domain import ConfirmationAnswer, OrganisationConfirmation
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, verification_id, email, source, language, asked_by, asked_at, expires_at, withdrawn, answer, name, role, "
    "answered_at"
)


def _confirmation(row: Record) -> OrganisationConfirmation:
    return OrganisationConfirmation(*row[:13])


async def insert(tx: Tx, confirmation: OrganisationConfirmation) -> None:
    """Store a confirmation request in place of an unanswered one; its verification is locked."""
    await tx.execute(
        "update monetary_donation_confirmation set withdrawn = true "
        "where verification_id = $1 and answer is null and not withdrawn",
        confirmation.verification_id,
    )
    await tx.execute(
        """
        insert into monetary_donation_confirmation (
            id, verification_id, email, source, language, asked_by, asked_at, expires_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        confirmation.id,
        confirmation.verification_id,
        confirmation.email,
        confirmation.contact_source,
        confirmation.language,
        confirmation.requested_by,
        confirmation.requested_at,
        confirmation.expires_at,
    )


async def find(tx: Tx, confirmation_id: UUID) -> OrganisationConfirmation | None:
    """Find one confirmation request; it changes only under its verification's lock."""
    row = await tx.fetchrow(f"select {_COLUMNS} from monetary_donation_confirmation where id = $1", confirmation_id)
    return _confirmation(row) if row else None


async def list_confirmations(tx: Tx, verification_id: UUID) -> list[OrganisationConfirmation]:
    """All confirmation requests of a verification, oldest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from monetary_donation_confirmation where verification_id = $1 order by id",
        verification_id,
    )
    return [_confirmation(row) for row in rows]


_ONLY_AWAITING_ANSWER: Final = """
select v.id from monetary_donation_verification v
join monetary_donation_confirmation c on c.verification_id = v.id and c.answer is null and not c.withdrawn
where v.id = any($1::uuid[]) and v.status = 'pending' and c.expires_at = v.expires_at and exists (
    select from monetary_donation_check k
    where k.verification_id = v.id and k.type = 'organisation_confirmation' and k.status = 'pending'
) and not exists (
    select from monetary_donation_check k
    where k.verification_id = v.id and k.status = 'pending' and (k.type = 'registration' or k.type = 'compliance'
        and 'pass' is distinct from (
            select e.steps -> 0 ->> 'verdict' from evidence e
            where e.record_id = v.id and e.steps @> '[{"name": "compliance"}]' order by e.id desc limit 1
        ))
)
"""


@across_partners("operators")
async def list_verification_ids_awaiting_only_organisation(tx: Tx, verification_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the verifications whose nonprofit was asked and can still answer, if reviewers can add nothing.

    Registers and watchlists have decided nothing against them, and their check of the watchlists ends with the last
    other one.
    """
    return {row["id"] for row in await tx.fetch(_ONLY_AWAITING_ANSWER, verification_ids)}


async def record_answer(
    tx: Tx,
    confirmation_id: UUID,
    confirmation_answer: ConfirmationAnswer,
    respondent_name: str,
    respondent_role: str,
    page_fingerprint: bytes,
) -> bool:
    """Store the response; False if there already is one."""
    return bool(
        await tx.fetchval(
            """
            update monetary_donation_confirmation
            set answer = $2, name = $3, role = $4, page_hash = $5, answered_at = $6
            where id = $1 and answer is null and not withdrawn returning true
            """,
            confirmation_id,
            confirmation_answer,
            respondent_name,
            respondent_role,
            page_fingerprint,
            tx.now,
        )
    )


async def insert_email(tx: Tx, confirmation_id: UUID, email_hash: bytes) -> UUID:
    """Store an email to send; returns its ID."""
    created = tx.new_id()
    await tx.execute(
        """
        insert into monetary_donation_confirmation_email (id, confirmation_id, email_hash, sent_at)
        values ($1, $2, $3, $4)
        """,
        created,
        confirmation_id,
        email_hash,
        tx.real_now,
    )
    return created


async def list_email_send_times(tx: Tx, confirmation_id: UUID) -> list[datetime]:
    """When the emails of a request were sent, in real time."""
    rows = await tx.fetch(
        "select sent_at from monetary_donation_confirmation_email where confirmation_id = $1", confirmation_id
    )
    return [row["sent_at"] for row in rows]


_COUNT_RECENT_MAILS: Final = """
select count(*) from monetary_donation_confirmation_email where email_hash = $1 and sent_at > $2
"""


async def lock_and_count_recent_emails(tx: Tx, email_hash: bytes, since: datetime) -> int:
    """Count recent emails to an address, which is locked until the transaction ends."""
    lock = int.from_bytes(email_hash[:8], signed=True)
    await tx.fetchval("select pg_advisory_xact_lock($1)", lock)
    found: int = await tx.fetchval(_COUNT_RECENT_MAILS, email_hash, since)
    return found


async def find_by_email_id(tx: Tx, email_id: UUID) -> OrganisationConfirmation | None:
    """Find the request of an email."""
    found = await tx.fetchval(
        "select confirmation_id from monetary_donation_confirmation_email where id = $1", email_id
    )
    return await find(tx, found) if found else None


NEXT_ERASURE: Final = """
select min(coalesce(answered_at, expires_at)) from monetary_donation_confirmation where email is not null
"""


async def find_oldest_unerased_confirmation_closed_at(tx: Tx) -> datetime | None:
    """When the oldest closed request with an address was closed; None without any."""
    found: datetime | None = await tx.fetchval(NEXT_ERASURE)
    return found


async def erase_contacts_of_closed_confirmations(tx: Tx, closed_before: datetime, limit: int) -> int:
    """Erase the addresses of requests closed by then; returns how many."""
    rows = await tx.fetch(
        """
        with old as (
            select id from monetary_donation_confirmation
            where email is not null and coalesce(answered_at, expires_at) <= $1
            order by coalesce(answered_at, expires_at) limit $2 for no key update skip locked
        )
        update monetary_donation_confirmation c set email = null from old where c.id = old.id returning c.id
        """,
        closed_before,
        limit,
    )
    return len(rows)


async def erase_respondent_names(tx: Tx, verification_id: UUID) -> None:
    """Erase the respondents' details of a verification."""
    await tx.execute(
        "update monetary_donation_confirmation set name = null, role = null "
        "where verification_id = $1 and name is not null",
        verification_id,
    )
