"""SQL for the pages of regular donations: their receipts, and changes of cards."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from almoner.giving.subscriptions.donor_pages.domain import PaidDonation
from almoner.kit.money import Money
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_RECEIPTS: Final = """
select s.id as subscription_id, r.donation_id, r.amount_minor, r.currency, r.received_at
from unnest($2::uuid[]) wanted (id) join donation_subscription s on s.id = wanted.id and s.partner_id = $1
cross join lateral (
    (
        select donation_id from donation_subscription_charge c
        where c.subscription_id = s.id and c.status = 'paid' order by c.due_on desc limit $3
    )
    union all
    select donation_id from payment where id = s.first_payment_id
) given join receipt r on r.donation_id = given.donation_id
order by r.received_at desc, r.number desc
"""


async def load_paid_donations_by_subscription(
    tx: Tx, partner: Partner, subscription_ids: Sequence[UUID], limit: int
) -> dict[UUID, list[PaidDonation]]:
    """The newest donations with a receipt, newest first, by subscription."""
    found: dict[UUID, list[PaidDonation]] = defaultdict(list)
    for row in await tx.fetch(_RECEIPTS, partner.id, subscription_ids, limit):
        listed = found[row["subscription_id"]]
        if len(listed) < limit:
            listed.append(
                PaidDonation(row["donation_id"], Money(row["amount_minor"], row["currency"]), row["received_at"])
            )
    return found


async def count_payment_method_setups_since(tx: Tx, partner: Partner, subscription_id: UUID, since: datetime) -> int:
    """How often the donor of a locked subscription has started to change the card since a given real time."""
    return int(
        await tx.fetchval(
            """
            select count(*) from donation_subscription_setup
            where partner_id = $1 and subscription_id = $2 and started_at > $3
            """,
            partner.id,
            subscription_id,
            since,
        )
    )


async def insert_payment_method_setup(tx: Tx, partner: Partner, subscription_id: UUID) -> UUID:
    """Record that a donor starts to change the card; returns the ID."""
    setup_id = tx.new_id()
    await tx.execute(
        "insert into donation_subscription_setup (id, partner_id, subscription_id, started_at) values ($1, $2, $3, $4)",
        setup_id,
        partner.id,
        subscription_id,
        tx.real_now,
    )
    return setup_id


@across_partners("held")
async def set_provider_setup_id(tx: Tx, setup_id: UUID, provider_setup_id: str) -> None:
    """Store the provider's ID of the page."""
    await tx.execute(
        "update donation_subscription_setup set provider_setup = $2 where id = $1", setup_id, provider_setup_id
    )


@across_partners("held")
async def mark_payment_method_setup_completed(tx: Tx, setup_id: UUID) -> bool:
    """Record that the new card was saved; False if that is already recorded."""
    return bool(
        await tx.fetchval(
            "update donation_subscription_setup set saved_at = $2 where id = $1 and saved_at is null returning true",
            setup_id,
            tx.now,
        )
    )


class PaymentMethodSetup(NamedTuple):
    """The subscription of a card change, and the provider's ID of its page."""

    subscription_id: UUID
    provider_setup_id: str | None


@across_partners("banking")
async def find_payment_method_setup(tx: Tx, setup_id: UUID) -> PaymentMethodSetup | None:
    """The subscription of a card change, and the provider's ID of its page."""
    row = await tx.fetchrow(
        "select subscription_id, provider_setup from donation_subscription_setup where id = $1", setup_id
    )
    return PaymentMethodSetup(row["subscription_id"], row["provider_setup"]) if row else None
