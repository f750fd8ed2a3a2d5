"""SQL for donation subscriptions and donors' consents."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.payments.domain import SavedPaymentMethod
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    DONATION_SUBSCRIPTION,
    LIVE_STATUSES,
    AcceptedAgreement,
    Agreement,
    DonationSubscription,
    PendingChange,
    SubscriptionFilters,
    SubscriptionSort,
)
from almoner.kit.money import Money
from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import Position, RequestedPage

LIST: Final = "donation_subscription"
_COLUMNS: Final = (
    "id, partner_id, organisation_id, user_id, session_id, status, amount_minor, currency, cover_minor, frequency, "
    "first_name, last_name, email, consented, anonymous, message, language, metadata, created_at, updated_at, "
    "started_at, anchor_on, charge_time, next_due_on, next_donation_at, wake_at, reminded_on, paused_until, "
    "pause_reason, cancelled_at, cancellation_reason, past_due_since, pending_minor, pending_frequency, "
    "pending_since, proposed_organisation_id, provider, provider_customer, provider_payment_method, "
    "payment_method_type, card_brand, card_last4, card_expires_at, chargeable, first_payment_id, donations_count, "
    "total_minor, last_charged_on, card_announced_at, "
    "(select shares_donor_details from partner where partner.id = partner_id) as donor_shown"
)


def _subscription(row: Record) -> DonationSubscription:
    """The subscription in a row that starts with ``_COLUMNS``."""
    minor, currency = row[6:8]
    pending_minor, pending_frequency, pending_since = row[32:35]
    change = PendingChange(Money(pending_minor, currency), pending_frequency, pending_since) if pending_since else None
    customer, method, type_, brand, last4, expires_at = row[37:43]
    saved = SavedPaymentMethod(customer, method, type_, brand, last4, expires_at) if method else None
    values: list[Any] = [*row[:6], Money(minor, currency), *row[8:32], change, row[35], row[36], saved, *row[43:50]]
    return DonationSubscription(*values)


async def insert(tx: Tx, partner: Partner, subscription: DonationSubscription) -> None:
    """Store a pending subscription."""
    await tx.execute(
        """
        insert into donation_subscription (
            id, partner_id, organisation_id, user_id, session_id, status, amount_minor, currency, cover_minor,
            frequency, first_name, last_name, email, consented, anonymous, message, language, metadata, created_at,
            updated_at, status_changed_at, chargeable, donations_count, total_minor
        ) values ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $18,
                  false, 0, 0)
        """,
        subscription.id,
        partner.id,
        subscription.organisation_id,
        subscription.user_id,
        subscription.session_id,
        subscription.money.minor,
        subscription.money.currency,
        subscription.cover_minor,
        subscription.frequency,
        subscription.first_name,
        subscription.last_name,
        subscription.email,
        subscription.consented,
        subscription.anonymous,
        subscription.message,
        subscription.language,
        subscription.metadata,
        subscription.created_at,
    )
    await counters.add_to_list_total(tx, partner, LIST, 1)


_ATTRIBUTES: Final = (
    "organisation_id", "status", "cover_minor", "frequency", "first_name", "last_name", "email", "consented",
    "anonymous", "message", "metadata", "updated_at", "started_at", "anchor_on", "charge_time", "next_due_on",
    "next_donation_at", "wake_at", "reminded_on", "paused_until", "pause_reason", "cancelled_at",
    "cancellation_reason", "past_due_since", "proposed_organisation_id", "chargeable", "first_payment_id",
    "donations_count", "total_minor", "last_charged_on", "card_announced_at",
)  # fmt: skip
"""The columns that can change and have the same name in record and table."""
_PARTS: Final = (
    "amount_minor", "currency", "pending_minor", "pending_frequency", "pending_since", "provider", "provider_customer",
    "provider_payment_method", "payment_method_type", "card_brand", "card_last4", "card_expires_at",
)  # fmt: skip
"""The columns that the record holds in nested values."""
_SET: Final = ", ".join(f"{name} = ${number}" for number, name in enumerate((*_ATTRIBUTES, *_PARTS), 4))
_UPDATE: Final = f"""
update donation_subscription set {_SET},
    status_changed_at = case status when $5 then status_changed_at else $2 end
where id = $1 and (status = $5 or status = any($3)) returning true
"""


async def update(tx: Tx, subscription: DonationSubscription) -> bool:
    """Store a changed locked subscription; False if its status transition is not allowed."""
    sources = list(DONATION_SUBSCRIPTION.source_states_of(subscription.status))
    values = [getattr(subscription, name) for name in _ATTRIBUTES]
    return bool(await tx.fetchval(_UPDATE, subscription.id, tx.now, sources, *values, *_parts(subscription)))


def _parts(subscription: DonationSubscription) -> list[object]:
    saved, change = subscription.payment_method, subscription.pending_change
    requested = (change.money.minor, change.frequency, change.requested_at) if change else (None, None, None)
    method: tuple[object, ...] = (None,) * 7
    if saved is not None:
        expires_at = saved.expires_at
        method = (subscription.provider, saved.customer_id, saved.id, saved.type, saved.brand, saved.last4, expires_at)
    return [subscription.money.minor, subscription.money.currency, *requested, *method]


async def find(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> DonationSubscription | None:
    """One subscription."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {_COLUMNS} from donation_subscription where id = $1 and ($2::uuid is null or partner_id = $2)",
        subscription_id,
        partner_id,
    )
    return _subscription(row) if row else None


async def find_for_update(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> DonationSubscription | None:
    """One subscription, locked until the transaction ends."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from donation_subscription where id = $1 and ($2::uuid is null or partner_id = $2)
        for no key update
        """,
        subscription_id,
        partner_id,
    )
    return _subscription(row) if row else None


@across_partners("sweep")
async def lock_due_subscriptions(tx: Tx, limit: int) -> list[DonationSubscription]:
    """Lock due subscriptions, longest due first, skipping locked ones."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from donation_subscription where wake_at <= $1
        order by wake_at limit $2 for no key update skip locked
        """,
        tx.now,
        limit,
    )
    return [_subscription(row) for row in rows]


@across_partners("sweep")
async def next_processing_at(tx: Tx) -> datetime | None:
    """When the scheduler must process the next subscription."""
    found: datetime | None = await tx.fetchval("select min(wake_at) from donation_subscription")
    return found


@across_partners("held")
async def postpone_processing(tx: Tx, subscription_id: UUID, until: datetime) -> None:
    """Postpone the next check of a locked subscription."""
    await tx.execute("update donation_subscription set wake_at = $2 where id = $1", subscription_id, until)


async def list_by_donor(tx: Tx, partner: Partner, donor_email: str) -> list[DonationSubscription]:
    """The started subscriptions of a donor, newest first."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from donation_subscription
        where partner_id = $1 and lower(email) = lower($2) and started_at is not null order by id desc limit 100
        """,
        partner.id,
        donor_email,
    )
    return [_subscription(row) for row in rows]


async def find_ongoing_subscription_of_donor(
    tx: Tx, partner: Partner, donor_email: str, organisation_id: UUID
) -> DonationSubscription | None:
    """A donor's newest subscription for a nonprofit that has started and not ended."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from donation_subscription
        where partner_id = $1 and lower(email) = lower($2) and organisation_id = $3 and status = any($4)
        order by id desc limit 1
        """,
        partner.id,
        donor_email,
        organisation_id,
        list(LIVE_STATUSES),
    )
    return _subscription(row) if row else None


@across_partners("followers")
async def list_ongoing_subscription_ids_of_organisation(
    tx: Tx, organisation_id: UUID, after: UUID | None, limit: int
) -> Sequence[UUID]:
    """A page of a nonprofit's subscriptions that have started and not ended, by ID."""
    rows = await tx.fetch(
        """
        select id from donation_subscription
        where organisation_id = $1 and status = any($2) and ($3::uuid is null or id > $3) order by id limit $4
        """,
        organisation_id,
        list(LIVE_STATUSES),
        after,
        limit,
    )
    return [row["id"] for row in rows]


@across_partners("banking")
async def list_ids_using_payment_method(tx: Tx, provider: str, provider_method_id: str) -> list[UUID]:
    """The subscriptions that are charged to a saved payment method."""
    rows = await tx.fetch(
        "select id from donation_subscription where provider = $1 and provider_payment_method = $2 order by id",
        provider,
        provider_method_id,
    )
    return [row["id"] for row in rows]


_BY_NEXT_DONATION: Final = (lists.SortKey("next_donation_at", "timestamptz", "coalesce({}, 'infinity')"),)


async def list_page(
    tx: Tx, partner: Partner, page: RequestedPage, filters: SubscriptionFilters, sort: SubscriptionSort = "id"
) -> tuple[list[DonationSubscription], int]:
    """One page in reading order and the exact total, in one statement (P7). A sorted list has no filters."""
    if sort == "nextDonationAt":
        listed, total = await lists.list_sorted_partner_page(tx, partner, LIST, _COLUMNS, page, _BY_NEXT_DONATION)
        return [_subscription(row) for row in listed], total
    if filters == SubscriptionFilters():
        listed, total = await lists.list_partner_page(tx, partner, LIST, _COLUMNS, page)
        return [_subscription(row) for row in listed], total
    conditions = _conditions(filters)
    where = conditions.sql
    comparison, order = ("<", "desc") if page.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select listed.*, total from (select count(*) as total from donation_subscription where {where}) counted
        left join lateral (
            select {_COLUMNS} from donation_subscription
            where {where} and ($2::uuid is null or id {comparison} $2) order by id {order} limit $3
        ) listed on true
        order by listed.id {order}
        """,
        partner.id,
        page.after_id,
        page.fetch_limit,
        *conditions.values,
    )
    return [_subscription(row) for row in rows if row[0] is not None], rows[0]["total"]


def cursor_position_of(subscription: DonationSubscription, sort: SubscriptionSort) -> Position:
    """The position of a subscription in its list."""
    id_ = subscription.id.bytes
    return (subscription.next_donation_at, id_) if sort == "nextDonationAt" else (id_,)


def _conditions(filters: SubscriptionFilters) -> SqlConditions:
    conditions = SqlConditions("partner_id = $1", bound=3)
    if filters.user_id is not None:
        conditions.add("user_id = {}", filters.user_id)
    if filters.organisation_id is not None:
        conditions.add("organisation_id = {}", filters.organisation_id)
    if filters.status is not None:
        conditions.add("status = {}", filters.status)
    if filters.email is not None:
        conditions.add("lower(email) = lower({})", filters.email)
    return conditions


async def insert_agreement(tx: Tx, subscription: DonationSubscription, agreement: Agreement) -> None:
    """Store the consent of a locked subscription's donor."""
    await tx.execute(
        """
        insert into donation_subscription_agreement (id, subscription_id, agreed_at, amount_minor, currency, frequency,
                                                     organisation_id, text_version, language, shown_text)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        tx.new_id(),
        subscription.id,
        tx.now,
        subscription.money.minor,
        subscription.money.currency,
        subscription.frequency,
        subscription.organisation_id,
        agreement.version,
        agreement.language,
        agreement.text,
    )


async def find_accepted_agreement(tx: Tx, subscription_id: UUID) -> AcceptedAgreement | None:
    """The donor's last consent."""
    row = await tx.fetchrow(
        """
        select text_version, language, shown_text, agreed_at from donation_subscription_agreement
        where subscription_id = $1 order by id desc limit 1
        """,
        subscription_id,
    )
    return AcceptedAgreement(Agreement(row[0], row[1], row[2]), row[3]) if row else None


_FORGOTTEN: Final = "cancellation_reason = 'not_started' and email is not null"


@across_partners("sweep")
async def erase_donors_of_unstarted_subscriptions(tx: Tx, cancelled_before: datetime, limit: int) -> int:
    """Erase donors of subscriptions that never started; returns how many (V6)."""
    rows = await tx.fetch(
        f"""
        with forgotten as (
            select id from donation_subscription where {_FORGOTTEN} and cancelled_at <= $1
            order by cancelled_at limit $2 for no key update skip locked
        )
        update donation_subscription set first_name = null, last_name = null, email = null, message = null
        from forgotten where donation_subscription.id = forgotten.id returning 1
        """,
        cancelled_before,
        limit,
    )
    return len(rows)


@across_partners("sweep")
async def find_oldest_unstarted_subscription_cancellation_at(tx: Tx) -> datetime | None:
    """When the oldest unstarted subscription with a donor was cancelled."""
    found: datetime | None = await tx.fetchval(
        f"select min(cancelled_at) from donation_subscription where {_FORGOTTEN}"
    )
    return found
