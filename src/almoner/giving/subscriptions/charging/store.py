"""SQL for charges that are under way."""

from uuid import UUID

from almoner.platform.database.transactions import Tx


async def has_unfinished_charges(tx: Tx) -> bool:
    """Whether a saved payment method is to be charged, and its provider has not answered."""
    return bool(await tx.fetchval("select exists (select from payment where status = 'starting' and off_session)"))


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
