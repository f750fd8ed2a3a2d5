"""SQL for donation sessions. Creation is the hot path: one statement checks, writes and counts."""

from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.sessions.domain import (
    LIFETIME,
    SESSION,
    Benefits,
    DonationOptions,
    DonationSession,
    NewDonationSession,
)
from almoner.platform import idempotency
from almoner.platform.audit import log as audit
from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.named import NamedParameterStatement
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.platform.idempotency import IdempotencyClaim

LIST: Final = "donation_session"
_COLUMNS: Final = (
    "id, partner_id, organisation_id, user_id, status, language, currency, success_url, metadata, created_at, "
    "expires_at, donation_id, frequencies, benefits, benefits_minor, suggested_minor, minimum_minor, maximum_minor, "
    "designations, giving_link_id, offers_dedication"
)


def _session(row: Record) -> DonationSession:
    values = [*row]
    benefits = None if row[13] is None else Benefits(row[13], row[14])
    options = DonationOptions(tuple(row[15]), row[16], row[17], tuple(row[18]), row[20])
    values[12:] = [tuple(row[12]), benefits, options, row[19]]
    return DonationSession(*values)


CREATE: Final = NamedParameterStatement(f"""
with {idempotency.CLAIM},
organisation_seen as (
    -- as organisations.domain.can_receive and receivable_currencies decide it, of the record that answers for the body
    select id, active and 'nonprofit' = any(types) as receives,
           :currency::text is null or :world_currency::boolean or country_code = any(:own_countries::text[])
               as takes_currency
    from organisation
    where id = coalesce((select same_as from organisation where id = :organisation_id), :organisation_id)
        and (partner_id is null or partner_id = :partner_id)
),
user_seen as (select from giving_user where partner_id = :partner_id and id = :user_id and deleted_at is null),
host_seen as (
    select :success_host::text is null or redirect_hosts is null or :success_host = any(redirect_hosts) as allowed
    from partner where id = :partner_id
),
made as (
    insert into donation_session (id, partner_id, organisation_id, user_id, status, language, currency, success_url,
                                  metadata, created_at, expires_at, status_changed_at, frequencies, benefits,
                                  benefits_minor, suggested_minor, minimum_minor, maximum_minor, designations,
                                  offers_dedication)
    select :id, :partner_id, organisation_seen.id, :user_id::uuid, 'open', :language::text, :currency,
        :success_url::text, :metadata::jsonb, :now, :now + interval '{LIFETIME.total_seconds()} seconds', :now,
        :frequencies::text[], :benefits::text, :benefits_minor::bigint,
        :suggested_minor::bigint[], :minimum_minor::bigint, :maximum_minor::bigint, :designations::text[],
        :offers_dedication::boolean
    from free, organisation_seen, host_seen
    where receives and takes_currency and allowed and (:user_id is null or exists (select from user_seen))
    returning 1
),
{idempotency.COMPLETE},
{idempotency.AUDIT},
counted as ({counters.increment_list_total_sql(LIST, ":partner_id", "from made")})
select exists (select from made) as made,
       (select receives from organisation_seen) as receives,
       (select takes_currency from organisation_seen) as takes_currency,
       (select allowed from host_seen) as host_allowed,
       :user_id is null or exists (select from user_seen) as user_known,
       {idempotency.OUTCOME}
""")


async def create_session_and_store_idempotent_response(
    tx: Tx,
    claim: IdempotencyClaim,
    response_body: bytes,
    audit_entry: tuple[object, ...],
    new_session: NewDonationSession,
) -> Record:
    """Check, create, store the response, audit and count in one statement; returns the result as a row."""
    session = new_session.session
    values = claim.claim_sql_parameters(tx, response_body) | audit.entry_sql_parameters(audit_entry)
    values |= {
        "id": session.id,
        "organisation_id": session.organisation_id,
        "user_id": session.user_id,
        "language": session.language,
        "currency": session.currency,
        "success_url": session.success_url,
        "metadata": session.metadata,
        "frequencies": session.frequencies,
        "benefits": session.benefits and session.benefits.description,
        "benefits_minor": session.benefits and session.benefits.fair_value_minor,
        "suggested_minor": session.options.suggested,
        "minimum_minor": session.options.minimum,
        "maximum_minor": session.options.maximum,
        "designations": session.options.designations,
        "offers_dedication": session.options.dedication,
        "success_host": new_session.success_url_host,
        "world_currency": new_session.all_organisations_receive_currency,
        "own_countries": new_session.countries_receiving_currency,
    }
    row = await tx.fetchrow(CREATE.sql, *CREATE.ordered_arguments(values))
    assert row is not None
    return row


_INSERT: Final = f"""
with made as (
    insert into donation_session (id, partner_id, organisation_id, status, language, currency, success_url, metadata,
                                  created_at, expires_at, status_changed_at, suggested_minor, minimum_minor,
                                  maximum_minor, designations, giving_link_id, frequencies, offers_dedication)
    values ($1, $2, $3, 'open', $4, $5, $6, $7, $8, $9, $8, $10, $11, $12, $13, $14, $15, $16)
    returning 1
) {counters.increment_list_total_sql(LIST, "$2", "from made")}
"""


async def insert(tx: Tx, partner: Partner, session: DonationSession) -> None:
    """Store a session created by a giving link."""
    await tx.execute(
        _INSERT,
        session.id,
        partner.id,
        session.organisation_id,
        session.language,
        session.currency,
        session.success_url,
        session.metadata,
        session.created_at,
        session.expires_at,
        session.options.suggested,
        session.options.minimum,
        session.options.maximum,
        session.options.designations,
        session.giving_link_id,
        session.frequencies,
        session.options.dedication,
    )


async def find(tx: Tx, scope: Partner | AllPartners, session_id: UUID) -> DonationSession | None:
    """One session."""
    if isinstance(scope, Partner):
        sql = f"select {_COLUMNS} from donation_session where partner_id = $1 and id = $2"
        row = await tx.fetchrow(sql, scope.id, session_id)
    else:
        row = await tx.fetchrow(f"select {_COLUMNS} from donation_session where id = $1", session_id)
    return _session(row) if row else None


@across_partners("held")
async def find_for_update(tx: Tx, session_id: UUID) -> DonationSession | None:
    """One session, locked until the transaction ends. Lock it before its donation."""
    row = await tx.fetchrow(f"select {_COLUMNS} from donation_session where id = $1 for no key update", session_id)
    return _session(row) if row else None


_HAS_OPEN: Final = """
select exists (
    select from donation_session where partner_id = $1 and user_id = $2 and status = 'open' and expires_at > $3
)
"""


async def has_open_session(tx: Tx, partner: Partner, user_id: UUID) -> bool:
    """Whether a user has a session that is open now."""
    return bool(await tx.fetchval(_HAS_OPEN, partner.id, user_id, tx.now))


async def list_page(tx: Tx, partner: Partner, page_: RequestedPage) -> tuple[list[DonationSession], int]:
    """One page in reading order, and the exact total."""
    rows, total = await lists.list_partner_page(tx, partner, LIST, _COLUMNS, page_)
    return [_session(row) for row in rows], total


@across_partners("held")
async def store_language_and_currency_if_unset(
    tx: Tx, session_id: UUID, language: str, currency: str
) -> DonationSession | None:
    """Store the language and currency if they are not chosen yet."""
    row = await tx.fetchrow(
        f"""
        update donation_session set language = coalesce(language, $2), currency = coalesce(currency, $3)
        where id = $1 returning {_COLUMNS}
        """,
        session_id,
        language,
        currency,
    )
    return _session(row) if row else None


@across_partners("held")
async def complete(tx: Tx, session_id: UUID, donation_id: UUID) -> bool:
    """Complete a session with its donation; False if its status does not allow this."""
    return bool(
        await tx.fetchval(
            """
            update donation_session set status = 'completed', donation_id = $2, status_changed_at = $3
            where id = $1 and status = any($4) returning true
            """,
            session_id,
            donation_id,
            tx.now,
            SESSION.source_states_of("completed"),
        )
    )


@across_partners("held")
async def replace_donation(tx: Tx, session_id: UUID, donation_id: UUID) -> None:
    """Replace the donation of a completed session."""
    await tx.execute(
        "update donation_session set donation_id = $2 where id = $1 and status = 'completed' and donation_id <> $2",
        session_id,
        donation_id,
    )


@across_partners("sweep")
async def expire_due_sessions(tx: Tx, limit: int) -> list[DonationSession]:
    """Record the expiry of up to ``limit`` sessions, oldest first, skipping locked ones (S4)."""
    rows = await tx.fetch(
        f"""
        with due as (
            select id as due_id from donation_session where status = 'open' and expires_at <= $1
            order by expires_at limit $2 for no key update skip locked
        )
        update donation_session set status = 'expired', status_changed_at = $1
        from due where donation_session.id = due_id returning {_COLUMNS}
        """,
        tx.now,
        limit,
    )
    return sorted((_session(row) for row in rows), key=lambda session: session.id)


async def expire(tx: Tx, partner: Partner, session_id: UUID) -> DonationSession | None:
    """Expire an open session now; None if it is not open or not the partner's."""
    row = await tx.fetchrow(
        f"""
        update donation_session set status = 'expired', status_changed_at = $3
        where partner_id = $1 and id = $2 and status = any($4) returning {_COLUMNS}
        """,
        partner.id,
        session_id,
        tx.now,
        SESSION.source_states_of("expired"),
    )
    return _session(row) if row else None


@across_partners("sweep")
async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next open session expires; in the past if its expiry is not recorded."""
    found: datetime | None = await tx.fetchval("select min(expires_at) from donation_session where status = 'open'")
    return found
