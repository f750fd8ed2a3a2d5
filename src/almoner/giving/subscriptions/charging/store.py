"""SQL for charges that are under way."""

from datetime import datetime
from uuid import UUID

from almoner.platform.database.transactions import Tx


async def oldest_unfinished_charge_at(tx: Tx) -> datetime | None:
    """Since when a saved payment method is to be charged, and its provider has not answered; None if all have."""
    found: datetime | None = await tx.fetchval(
        "select min(created_at) from payment where status = 'starting' and off_session"
    )
    return found


async def is_answer_awaited(tx: Tx, donation_id: UUID) -> bool:
    """Whether the provider may have charged a donation, and has not said so."""
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
