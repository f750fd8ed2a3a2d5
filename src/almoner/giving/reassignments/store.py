"""SQL of reassignments; only ever added to."""

from almoner.giving.reassignments.domain import Reassignment
from almoner.platform.db import Everyone, Tx


async def insert(tx: Tx, _scope: Everyone, made: Reassignment) -> None:
    """Keep who gave a gift to whom, and why."""
    await tx.execute(
        """
        insert into reassignment (id, donation_id, from_organisation, to_organisation, amount_minor, currency, reason,
                                  reassigned_by, reassigned_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        made.id,
        made.donation_id,
        made.source,
        made.target,
        made.money.minor,
        made.money.currency,
        made.reason,
        made.reassigned_by,
        tx.now,
    )
