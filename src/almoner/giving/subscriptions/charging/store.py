"""SQL for unfinished charges."""

from datetime import datetime
from uuid import UUID

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


@across_partners("sweep")
async def find_oldest_unfinished_charge_at(tx: Tx) -> datetime | None:
    """Since when the oldest charge of a saved payment method has been unfinished; None if there is none.

    Ignores paused partners, whose charges are not sent.
    """
    found: datetime | None = await tx.fetchval(
        """
        select min(y.created_at) from payment y
        where y.status = 'starting' and y.off_session and (
            y.called_at is not null or not exists (
                select from donation d join partner p on p.id = d.partner_id
                where d.id = y.donation_id and p.paused_at is not null
            )
        )
        """
    )
    return found


async def awaits_provider_response(tx: Tx, donation_id: UUID) -> bool:
    """Whether the provider may have charged a donation without having reported it."""
    return bool(
        await tx.fetchval(
            """
            select exists (
                select from payment
                where donation_id = $1 and status in ('starting', 'open') and off_session and called_at is not null
            )
            """,
            donation_id,
        )
    )


@across_partners("sweep")
async def list_subscription_ids_with_outdated_successor_proposal(
    tx: Tx, after_id: UUID | None, limit: int
) -> list[UUID]:
    """Ongoing subscriptions whose nonprofit has a successor that is not proposed, or whose proposal must end, by ID."""
    rows = await tx.fetch(
        """
        select s.id from donation_subscription s join organisation o on o.id = s.organisation_id
        left join organisation p on p.id = s.proposed_organisation_id
        where s.status in ('active', 'past_due', 'paused') and o.succeeded_by is not null
          and (p.id is distinct from o.succeeded_by or not p.active) and ($1::uuid is null or s.id > $1)
        order by s.id limit $2
        """,
        after_id,
        limit,
    )
    return [row["id"] for row in rows]
