"""SQL for charges that are under way."""

from almoner.platform.database.transactions import Tx


async def has_unfinished_charges(tx: Tx) -> bool:
    """Whether a saved payment method is to be charged, and its provider has not answered."""
    return bool(await tx.fetchval("select exists (select from payment where status = 'starting' and off_session)"))
