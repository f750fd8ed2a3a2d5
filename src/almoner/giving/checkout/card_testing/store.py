"""SQL for the limits against card testing, in real time. Rows are found by hashed source, session or payment."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.card_testing.domain import (
    ALERT_DURATION,
    ALERT_WINDOW,
    BLOCK_DURATION,
    DAY,
    HOUR,
    BrowserFingerprint,
    CardTestingSuspect,
    EmailCode,
    PartnerEmailCode,
    PaymentOutcome,
    RecentDeclines,
    SourceHistory,
    VelocityState,
)
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

VELOCITY_STATE: Final = """
select
    (select array_agg(started_at order by started_at) from (
        select started_at from card_attempt where address_hash = $1 and started_at > $6
        order by started_at desc limit $8
    ) newest) as begun,
    (select array_agg(started_at order by started_at) from (
        select started_at from card_attempt where device_hash = $2 and started_at > $7
        order by started_at desc limit $9
    ) newest) as device_begun,
    (select array_agg(declined_at order by declined_at) from card_decline
     where address_hash = $1 and declined_at > $6) as declines,
    (select array_agg(declined_at order by declined_at) from card_decline
     where device_hash = $2 and declined_at > $6) as device_declines,
    (select sum(greatest(max_attempts - declined, 0)) from card_attempt
     where address_hash = $1 and started_at > $7 and ended_at is null) as left_open,
    (select sum(greatest(max_attempts - declined, 0)) from card_attempt
     where device_hash = $2 and started_at > $7 and ended_at is null) as device_left_open,
    (select min(started_at) from card_attempt
     where address_hash = $1 and started_at > $7 and ended_at is null and max_attempts > declined) as open_since,
    (select min(started_at) from card_attempt
     where device_hash = $2 and started_at > $7 and ended_at is null and max_attempts > declined) as device_open_since,
    (select blocked_until from card_source_block where source_hash = $1) as blocked_until,
    (select blocked_until from card_source_block where source_hash = $2) as device_blocked_until,
    exists (select from card_testing_alert where partner_id = $3 and code_required_until > $5) as forced,
    (select id from donation_email_code
     where session_id = $4 and email_hash = $10 and verified_at is not null and used_at is null and expires_at > $5
     order by sent_at desc limit 1) as passed
"""
"""The values for one decision in one statement: $1 address, $2 device, $3 partner, $4 session, $5 now, $6 an hour ago,
$7 a day ago, $8 and $9 the maximum number of starts to count, $10 email address.
"""


async def lock_sources(tx: Tx, sources: Sequence[bytes]) -> None:
    """Lock these sources, so that payments from them are decided one at a time."""
    turns = sorted(int.from_bytes(source[:8], signed=True) for source in sources)
    await tx.execute("select pg_advisory_xact_lock(turn) from unnest($1::bigint[]) as turn", turns)


class VelocityStateAndCode(NamedTuple):
    """What the decision about a new payment depends on, and the email code that was entered, if any."""

    state: VelocityState
    email_code_id: UUID | None


async def load_velocity_state_and_code(
    tx: Tx,
    partner: Partner,
    session_id: UUID,
    browser: BrowserFingerprint,
    email_hash: bytes,
    max_hourly_and_daily_payments: tuple[int, int],
) -> VelocityStateAndCode:
    """Load what the decision about a new payment depends on, and the code that was entered."""
    row = await tx.fetchrow(
        VELOCITY_STATE,
        browser.ip_address_hash,
        browser.device_cookie_hash,
        partner.id,
        session_id,
        tx.real_now,
        tx.real_now - HOUR,
        tx.real_now - DAY,
        *max_hourly_and_daily_payments,
        email_hash,
    )
    assert row is not None, "a select without a table has one row"
    seen = [_source_history(row, "")]
    if browser.device_cookie_hash is not None:
        seen.append(_source_history(row, "device_"))
    state = VelocityState(
        tuple(seen),
        tuple(row["begun"] or ()),
        tuple(row["device_begun"] or ()),
        browser.device_cookie_hash is not None,
        row["forced"],
        row["passed"] is not None,
    )
    return VelocityStateAndCode(state, row["passed"])


def _source_history(row: Record, prefix: str) -> SourceHistory:
    declines = tuple(row[f"{prefix}declines"] or ())
    left_open = int(row[f"{prefix}left_open"] or 0)
    return SourceHistory(declines, left_open, row[f"{prefix}blocked_until"], row[f"{prefix}open_since"])


async def insert_payment_attempt(
    tx: Tx, partner: Partner, payment_id: UUID, browser: BrowserFingerprint, max_card_attempts: int
) -> None:
    """Record which browser starts a payment."""
    await tx.execute(
        """
        insert into card_attempt (payment_id, partner_id, address_hash, device_hash, max_attempts, started_at)
        values ($2, $1, $3, $4, $5, $6)
        """,
        partner.id,
        payment_id,
        browser.ip_address_hash,
        browser.device_cookie_hash,
        max_card_attempts,
        tx.real_now,
    )


async def record_outcome_and_find_card_testing_suspect(
    tx: Tx, payment_outcome: PaymentOutcome
) -> CardTestingSuspect | None:
    """Store the outcome of a payment; returns its partner and browser if it reports newly declined cards."""
    row = await tx.fetchrow(
        """
        with before as (
            select payment_id, declined from card_attempt where payment_id = $1 for no key update
        ), attempt as (
            update card_attempt kept set declined = greatest(kept.declined, $2), paid = kept.paid or $3,
                ended_at = case when $4 then coalesce(kept.ended_at, $5) else kept.ended_at end
            from before where kept.payment_id = before.payment_id
            returning kept.payment_id, kept.partner_id, kept.address_hash, kept.device_hash, before.declined
        ), declines as (
            insert into card_decline (payment_id, number, partner_id, address_hash, device_hash, declined_at)
            select payment_id, number, partner_id, address_hash, device_hash, $5
            from attempt, generate_series(attempt.declined + 1, $2) as number
        )
        select partner_id, address_hash, device_hash from attempt where declined < $2
        """,
        payment_outcome.payment_id,
        payment_outcome.declined_attempt_count,
        payment_outcome.is_paid,
        payment_outcome.has_ended,
        tx.real_now,
    )
    return (
        None
        if row is None
        else CardTestingSuspect(row["partner_id"], BrowserFingerprint(row["address_hash"], row["device_hash"]))
    )


async def count_recent_declines(tx: Tx, partner: Partner, browser: BrowserFingerprint) -> RecentDeclines:
    """Recent declines from the same sources and at the same partner."""
    row = await tx.fetchrow(
        """
        select (select count(*) from card_decline where address_hash = $2 and declined_at > $4) as by_address,
               (select count(*) from card_decline where device_hash = $3 and declined_at > $4) as by_device,
               (select count(*) from card_decline where partner_id = $1 and declined_at > $5) as declines,
               (select count(*) from card_attempt where partner_id = $1 and paid and ended_at > $5) as payments
        """,
        partner.id,
        browser.ip_address_hash,
        browser.device_cookie_hash,
        tx.real_now - HOUR,
        tx.real_now - ALERT_WINDOW,
    )
    assert row is not None, "a select without a table has one row"
    return RecentDeclines(row["by_address"], row["by_device"], row["declines"], row["declines"] + row["payments"])


async def block_sources(tx: Tx, sources: Sequence[bytes]) -> None:
    """Block payments from these sources for a while (H6)."""
    await tx.execute(
        """
        insert into card_source_block as paused (source_hash, blocked_until)
        select source, $2 from unnest($1::bytea[]) as source order by source
        on conflict (source_hash) do update set blocked_until = greatest(paused.blocked_until, excluded.blocked_until)
        """,
        sources,
        tx.real_now + BLOCK_DURATION,
    )


async def raise_card_testing_alert(tx: Tx, partner: Partner, decline_count: int, attempt_count: int) -> bool:
    """Require a code from all donors of the partner for a while (H7); False if an alert was active."""
    return bool(
        await tx.fetchval(
            """
            insert into card_testing_alert as known (partner_id, raised_at, code_required_until, declines, attempts)
            values ($1, $2, $3, $4, $5)
            on conflict (partner_id) do update set
                raised_at = case when known.code_required_until > $2 then known.raised_at else $2 end,
                code_required_until = $3, declines = $4, attempts = $5
            returning raised_at = $2
            """,
            partner.id,
            tx.real_now,
            tx.real_now + ALERT_DURATION,
            decline_count,
            attempt_count,
        )
    )


@across_partners("operators")
async def load_active_alert_expiries_by_partner(tx: Tx) -> dict[UUID, datetime]:
    """The partners whose donors must enter a code, with the earliest end of the alert."""
    rows = await tx.fetch(
        "select partner_id, code_required_until from card_testing_alert where code_required_until > $1", tx.real_now
    )
    return {row["partner_id"]: row["code_required_until"] for row in rows}


class EmailCodeSendTimes(NamedTuple):
    """When codes were sent in the last hour for an IP address and to an email address, each oldest first."""

    for_ip_address: list[datetime]
    to_email: list[datetime]


async def load_email_code_send_times(tx: Tx, ip_address_hash: bytes, email_hash: bytes) -> EmailCodeSendTimes:
    """When codes were sent in the last hour for an IP address, and to an email address."""
    row = await tx.fetchrow(
        """
        select (select array_agg(sent_at order by sent_at) from donation_email_code where address_hash = $1
               and sent_at > $3) as ours,
               (select array_agg(sent_at order by sent_at) from donation_email_code where email_hash = $2
               and sent_at > $3) as theirs
        """,
        ip_address_hash,
        email_hash,
        tx.real_now - HOUR,
    )
    assert row is not None, "a select without a table has one row"
    return EmailCodeSendTimes(list(row["ours"] or ()), list(row["theirs"] or ()))


async def insert_email_code(tx: Tx, code: EmailCode, ip_address_hash: bytes) -> None:
    """Store a code to send; only the newest code of a session is valid."""
    await tx.execute(
        """
        insert into donation_email_code (
            id, session_id, address_hash, email_hash, encrypted_recipient, sent_at, expires_at
        )
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        code.id,
        code.session_id,
        ip_address_hash,
        code.email,
        code.recipient,
        tx.real_now,
        code.expires_at,
    )


_CODE: Final = (
    "id, session_id, email_hash, encrypted_recipient, expires_at, failed_attempts, used_at is not null as spent"
)


def _code(row: Record | None) -> EmailCode | None:
    return None if row is None else EmailCode(*row)


async def find_current_email_code(tx: Tx, session_id: UUID) -> EmailCode | None:
    """The newest code of a session, the only one that can be entered."""
    return _code(
        await tx.fetchrow(
            f"select {_CODE} from donation_email_code where session_id = $1 order by sent_at desc, id desc limit 1",
            session_id,
        )
    )


async def is_email_verified(tx: Tx, session_id: UUID, email_hash: bytes) -> bool:
    """Whether a code sent to this email address for a session was entered there."""
    return bool(
        await tx.fetchval(
            """
            select exists (
                select from donation_email_code where session_id = $1 and email_hash = $2 and verified_at is not null
            )
            """,
            session_id,
            email_hash,
        )
    )


async def find_current_email_code_for_update(tx: Tx, session_id: UUID) -> EmailCode | None:
    """The newest code of a session, locked until the transaction ends."""
    return _code(
        await tx.fetchrow(
            f"""
            select {_CODE} from donation_email_code where session_id = $1 order by sent_at desc, id desc limit 1
            for no key update
            """,
            session_id,
        )
    )


@across_partners("link")
async def find_email_code(tx: Tx, code_id: UUID) -> PartnerEmailCode | None:
    """A code to send, with its session."""
    row = await tx.fetchrow(
        f"""
        select {_CODE}, partner_id from donation_email_code
        join (select id as session_id, partner_id from donation_session) opened using (session_id) where id = $1
        """,
        code_id,
    )
    return None if row is None else PartnerEmailCode(EmailCode(*row[:7]), row["partner_id"])


async def record_email_code_attempt(tx: Tx, code_id: UUID, *, is_correct: bool) -> None:
    """Record a right or wrong attempt to enter a locked code."""
    await tx.execute(
        """
        update donation_email_code set failed_attempts = failed_attempts + (not $2)::int,
            verified_at = case when $2 then $3 else verified_at end
        where id = $1
        """,
        code_id,
        is_correct,
        tx.real_now,
    )


async def mark_email_code_used(tx: Tx, code_id: UUID) -> None:
    """Mark a code as used for a payment."""
    await tx.execute("update donation_email_code set used_at = $2 where id = $1", code_id, tx.real_now)


@across_partners("sweep")
async def find_oldest_card_testing_record_at(tx: Tx) -> datetime | None:
    """The time of the oldest stored record."""
    found: datetime | None = await tx.fetchval(
        """
        select least((select min(started_at) from card_attempt), (select min(sent_at) from donation_email_code),
                     (select min(blocked_until) from card_source_block),
                     (select min(code_required_until) from card_testing_alert))
        """
    )
    return found


async def delete_expired_records(tx: Tx, before: datetime, limit: int) -> int:
    """Delete older records; returns how many."""
    gone = 0
    for sql in _FORGET:
        gone += int(await tx.fetchval(sql, before, limit))
    return gone


_FORGET: Final = (
    """
    with gone as (
        delete from card_attempt where payment_id in (
            select payment_id from card_attempt where started_at <= $1 order by started_at limit $2
        ) returning 1
    ) select count(*) from gone
    """,
    """
    with gone as (
        delete from donation_email_code where id in (
            select id from donation_email_code where sent_at <= $1 order by sent_at limit $2
        ) returning 1
    ) select count(*) from gone
    """,
    """
    with gone as (
        delete from card_source_block where source_hash in (
            select source_hash from card_source_block where blocked_until <= $1 order by blocked_until limit $2
        ) returning 1
    ) select count(*) from gone
    """,
    """
    with gone as (
        delete from card_testing_alert where partner_id in (
            select partner_id from card_testing_alert where code_required_until <= $1
            order by code_required_until limit $2
        ) returning 1
    ) select count(*) from gone
    """,
)
