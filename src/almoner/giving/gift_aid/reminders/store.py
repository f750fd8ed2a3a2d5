"""SQL for reminders of declarations."""

from uuid import UUID

from almoner.giving.gift_aid.reminders.domain import RegularDonationDeclaration
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


@across_partners("link")
async def find(tx: Tx, declaration_id: UUID) -> RegularDonationDeclaration | None:
    """A declaration for several donations with its regular donation; None if there is none."""
    row = await tx.fetchrow(
        """
        select g.id, g.partner_id, g.organisation_id, d.subscription_id, g.created_at, g.deleted_at is not null
        from gift_aid_declaration g cross join lateral (
            select subscription_id from donation where gift_aid_id = g.id and subscription_id is not null
            order by id limit 1
        ) d
        where g.id = $1 and g.organisation_id is not null
        """,
        declaration_id,
    )
    return RegularDonationDeclaration(*row) if row else None
