"""SQL for reassignments; the table is append-only."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments.domain import Reassignment
from almoner.kit.money import Money
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


async def insert(tx: Tx, reassignment: Reassignment) -> None:
    """Store who reassigned a donation, to which nonprofit, and why."""
    await tx.execute(
        """
        insert into reassignment (id, donation_id, from_organisation_id, to_organisation_id, amount_minor, currency,
                                  ground, reason, reassigned_by, reassigned_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        reassignment.id,
        reassignment.donation_id,
        reassignment.from_organisation_id,
        reassignment.to_organisation_id,
        reassignment.money.minor,
        reassignment.money.currency,
        reassignment.ground,
        reassignment.reason,
        reassignment.reassigned_by,
        tx.now,
    )


async def find_newest(tx: Tx, donation_id: UUID) -> Reassignment | None:
    """The last reassignment of a donation; None if there is none."""
    row = await tx.fetchrow(
        """
        select id, donation_id, from_organisation_id, to_organisation_id, amount_minor, currency::text, ground, reason,
               reassigned_by
        from reassignment where donation_id = $1 order by id desc limit 1
        """,
        donation_id,
    )
    if row is None:
        return None
    made, donation, source, target, minor, currency, *why = row
    return Reassignment(made, donation, source, target, Money(minor, currency), *why)


_FORMER_ORGANISATION: Final = """
select from_organisation_id from reassignment where donation_id = $1 and reassigned_at > $2 order by id limit 1
"""


async def find_former_organisation_id(tx: Tx, donation_id: UUID, moment: datetime) -> UUID | None:
    """The earlier nonprofit of a donation at a given time, if it was reassigned later."""
    found: UUID | None = await tx.fetchval(_FORMER_ORGANISATION, donation_id, moment)
    return found


_DONATIONS_OF_MERGED: Final = """
select d.id from organisation o join donation d on d.organisation_id = o.id
where o.succeeded_by is not null and d.status = 'RECEIVED_PAYMENT'
  and greatest(d.withdrawn_minor, d.refunded_minor) < d.amount_minor and ($1::uuid is null or d.id > $1)
order by d.id limit $2
"""


@across_partners("followers")
async def list_donation_ids_of_merged_organisations(tx: Tx, after: UUID | None, limit: int) -> list[UUID]:
    """Received donations to nonprofits that merged into another, by creation, after the given one."""
    return [row["id"] for row in await tx.fetch(_DONATIONS_OF_MERGED, after, limit)]
