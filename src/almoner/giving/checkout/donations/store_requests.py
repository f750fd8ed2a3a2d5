"""SQL for direct donations that partners are invoiced for and pay."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.donations.store import BASE_COLUMNS, DONOR_SHOWN_COLUMN, donation_from_row
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_RETURNED: Final = ", ".join([*(f"d.{column}" for column in BASE_COLUMNS.split(", ")), DONOR_SHOWN_COLUMN])

_UNINVOICED: Final = """
with recursive unasked (partner_id, currency) as (
    (select partner_id, currency from donation where status = 'ACTIVE' order by partner_id, currency limit 1)
    union all
    select later.partner_id, later.currency from unasked u cross join lateral (
        select partner_id, currency from donation
        where status = 'ACTIVE' and (partner_id, currency) > (u.partner_id, u.currency)
        order by partner_id, currency limit 1
    ) later
)
select partner_id, currency::text from unasked order by 1, 2
"""
"""One index probe for each partner and currency, however many donations they have."""


class PartnerCurrency(NamedTuple):
    """A partner's donations in one currency that are in no donation request yet."""

    partner_id: UUID
    currency: str


@across_partners("sweep")
async def list_partner_currencies_with_uninvoiced_donations(tx: Tx) -> list[PartnerCurrency]:
    """The partners and currencies with donations that are in no donation request yet."""
    return [PartnerCurrency(row[0], row[1]) for row in await tx.fetch(_UNINVOICED)]


@across_partners("sweep")
async def find_oldest_uninvoiced_donation_at(tx: Tx) -> datetime | None:
    """When the oldest uninvoiced donation was created."""
    found: datetime | None = await tx.fetchval("select min(created_at) from donation where status = 'ACTIVE'")
    return found


_SUM_UNINVOICED: Final = """
select coalesce(sum(amount_minor), 0) from donation
where partner_id = $1 and currency = $2 and status = 'ACTIVE' and created_at < $3
"""


async def sum_uninvoiced_donations(tx: Tx, partner: Partner, currency: str, cutoff_at: datetime) -> int:
    """The total of a partner's uninvoiced donations in a currency made before a given time, in minor units."""
    return int(await tx.fetchval(_SUM_UNINVOICED, partner.id, currency, cutoff_at))


_ADD_TO_REQUEST: Final = f"""
with oldest as (
    select id, amount_minor from donation
    where partner_id = $1 and currency = $2 and status = 'ACTIVE' and created_at < $3
    order by id limit $5 for no key update
), chosen as (
    select id from (select id, sum(amount_minor) over (order by id) as up_to from oldest) running where up_to <= $7
), asked as (
    update donation d set status = 'REQUESTED_PAYMENT', donation_request_id = $4, status_changed_at = $6
    from chosen where d.id = chosen.id and d.status = 'ACTIVE' returning {_RETURNED}
)
select asked.*, seen.donations from (select count(*)::int as donations from oldest) seen left join asked on true
"""


class NewRequestDonations(NamedTuple):
    """The donations that were added to a request, and whether the next one would exceed the request's maximum."""

    donations: list[Donation]
    is_request_full: bool


async def add_donations_to_request(
    tx: Tx, partner: Partner, currency: str, cutoff_at: datetime, request_id: UUID, limit: int, max_total_minor: int
) -> NewRequestDonations:
    """Add the oldest donations to a donation request that the caller has locked, up to ``max_total_minor``."""
    rows = await tx.fetch(_ADD_TO_REQUEST, partner.id, currency, cutoff_at, request_id, limit, tx.now, max_total_minor)
    asked = sorted((donation_from_row(row) for row in rows if row["id"] is not None), key=lambda donation: donation.id)
    return NewRequestDonations(asked, len(asked) < rows[0]["donations"])


_LOCK_UNPAID: Final = """
select id, amount_minor from donation where donation_request_id = $1 and status = 'REQUESTED_PAYMENT'
order by id limit $2 for no key update
"""


class UnpaidDonation(NamedTuple):
    """A donation of a donation request that is not paid."""

    donation_id: UUID
    amount_minor: int


@across_partners("held")
async def lock_unpaid_donations_of_request(tx: Tx, request_id: UUID, limit: int) -> list[UnpaidDonation]:
    """The oldest unpaid donations of a request with their amounts, locked."""
    return [UnpaidDonation(row["id"], row["amount_minor"]) for row in await tx.fetch(_LOCK_UNPAID, request_id, limit)]


@across_partners("held")
async def mark_direct_donations_received(tx: Tx, donation_ids: Sequence[UUID]) -> list[Donation]:
    """Mark locked donations as RECEIVED_PAYMENT and settled: the money is in our account."""
    rows = await tx.fetch(
        f"""
        update donation d set status = 'RECEIVED_PAYMENT', status_changed_at = $2,
            settled_at = $2, settled_minor = amount_minor, settled_currency = currency
        where id = any($1::uuid[]) and type = 'direct' and status = 'REQUESTED_PAYMENT' returning {_RETURNED}
        """,
        donation_ids,
        tx.now,
    )
    return sorted((donation_from_row(row) for row in rows), key=lambda donation: donation.id)
