"""SQL for payments and provider webhooks, found by donation or provider, never by partner."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.payments.domain import LIVE_STATUSES, PAYMENT, Payment, ProviderEvent, ProviderPayment
from almoner.kit.money import Money
from almoner.platform.database.transactions import Tx

_COLUMNS = (
    "id, donation_id, provider, provider_payment, url, status, amount_minor, currency, description, language, "
    "attempts, created_at, max_attempts, pages_url, api_url, off_session, called_at, succeeded_at"
)


def _payment(row: Record) -> Payment:
    return Payment(
        row["id"],
        row["donation_id"],
        row["provider"],
        row["provider_payment"],
        row["url"],
        row["status"],
        Money(row["amount_minor"], row["currency"]),
        row["description"],
        row["language"],
        row["attempts"],
        row["created_at"],
        row["max_attempts"],
        row["pages_url"],
        row["api_url"],
        row["off_session"],
        row["called_at"],
        row["succeeded_at"],
    )


async def insert(tx: Tx, payment: Payment) -> None:
    """Store a new attempt; all earlier ones must have ended."""
    await tx.execute(
        """
        insert into payment (id, donation_id, provider, status, amount_minor, currency, description, language,
                             attempts, created_at, status_changed_at, max_attempts, pages_url, api_url, off_session)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, $14)
        """,
        payment.id,
        payment.donation_id,
        payment.provider,
        payment.status,
        payment.money.minor,
        payment.money.currency,
        payment.description,
        payment.language,
        payment.card_attempt_count,
        payment.created_at,
        payment.max_card_attempts,
        payment.pages_url,
        payment.api_url,
        payment.off_session,
    )


async def mark_sent_to_provider(tx: Tx, payment_id: UUID) -> None:
    """Record that the provider may know an attempt from now on."""
    await tx.execute("update payment set called_at = $2 where id = $1 and called_at is null", payment_id, tx.real_now)


async def cancel_unsent_payment(tx: Tx, payment_id: UUID) -> bool:
    """Cancel an attempt that was never sent to the provider; False if its status does not allow this."""
    ended = await tx.fetchval(
        """
        update payment set status = 'cancelled', status_changed_at = $2
        where id = $1 and status = 'starting' and off_session and called_at is null returning true
        """,
        payment_id,
        tx.now,
    )
    return ended is not None


async def find(tx: Tx, payment_id: UUID) -> Payment | None:
    """Find one payment attempt."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payment where id = $1", payment_id)
    return _payment(row) if row else None


async def find_for_update(tx: Tx, payment_id: UUID) -> Payment | None:
    """One attempt, locked until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payment where id = $1 for no key update", payment_id)
    return _payment(row) if row else None


async def find_by_provider_payment_id(
    tx: Tx, provider: str, provider_payment_id: str, payment_id: UUID | None
) -> Payment | None:
    """The attempt with this provider ID; else the one with our reference, whose ID there was not recorded."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from payment where provider = $1 and provider_payment = $2
        union all
        select {_COLUMNS} from payment where id = $3 and provider = $1 and provider_payment is null
        limit 1
        """,
        provider,
        provider_payment_id,
        payment_id,
    )
    return _payment(row) if row else None


async def list_payments_with_provider_payment_ids(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> list[Payment]:
    """The attempts with these provider IDs."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from payment where provider = $1 and provider_payment = any($2)",
        provider,
        provider_payment_ids,
    )
    return [_payment(row) for row in rows]


async def find_current_payment(tx: Tx, donation_id: UUID) -> Payment | None:
    """The attempt that decides a donation's state: unallocated money first, then the newest."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from payment where donation_id = $1 order by status = 'held' desc, id desc limit 1",
        donation_id,
    )
    return _payment(row) if row else None


async def list_open_payments_by_amount(tx: Tx, provider: str, money: Money, limit: int) -> list[Payment]:
    """Awaited payments of this amount, oldest first."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from payment
        where status in ('starting', 'open') and provider = $1 and amount_minor = $2 and currency = $3
        order by created_at limit $4
        """,
        provider,
        money.minor,
        money.currency,
        limit,
    )
    return [_payment(row) for row in rows]


async def count_card_attempts(tx: Tx, donation_id: UUID) -> int:
    """Count the card attempts for a donation; a failed payment counts at least once."""
    return int(
        await tx.fetchval(
            """
            select coalesce(sum(greatest(attempts, (status = 'failed')::int)), 0) from payment where donation_id = $1
            """,
            donation_id,
        )
    )


async def update_status(
    tx: Tx,
    payment_id: UUID,
    target_status: str,
    provider_payment: ProviderPayment,
    succeeded_at: datetime | None = None,
) -> bool:
    """Update an attempt's status and provider data; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update payment
            set status = $2, provider_payment = coalesce(provider_payment, $4), url = coalesce(url, $5), attempts = $6,
                status_changed_at = $7, succeeded_at = $8
            where id = $1 and status = any($3) returning true
            """,
            payment_id,
            target_status,
            PAYMENT.source_states_of(target_status),
            provider_payment.id,
            provider_payment.payment_page_url,
            provider_payment.attempts,
            tx.now,
            succeeded_at,
        )
    )


async def record_card_attempts(tx: Tx, payment_id: UUID, attempt_count: int) -> None:
    """Record the number of card attempts, whatever the order of reports."""
    await tx.execute("update payment set attempts = $2 where id = $1 and attempts < $2", payment_id, attempt_count)


async def list_payable_payment_ids(tx: Tx, donation_ids: list[UUID]) -> list[UUID]:
    """The attempts of these donations that the donor may still pay."""
    rows = await tx.fetch(
        "select id from payment where donation_id = any($1) and status = any($2)", donation_ids, LIVE_STATUSES
    )
    return [row["id"] for row in rows]


async def insert_provider_event(tx: Tx, provider: str, event: ProviderEvent) -> bool:
    """Store a provider webhook; False if it is already stored."""
    return bool(
        await tx.fetchval(
            """
            insert into provider_event (provider, provider_event, type, provider_payment, received_at)
            values ($1, $2, $3, $4, $5) on conflict on constraint provider_event_once do nothing returning true
            """,
            provider,
            event.id,
            event.type,
            event.payment_id,
            tx.now,
        )
    )


async def has_provider_event(tx: Tx, provider: str, event_id: str) -> bool:
    """Whether a provider webhook is already stored."""
    return bool(
        await tx.fetchval(
            "select exists (select from provider_event where provider = $1 and provider_event = $2)", provider, event_id
        )
    )
