"""Transactions that wait for each other."""

from tests.support.service import Service


async def waits_for_lock(service: Service) -> bool:
    """Whether a transaction waits for a lock that another one holds."""
    async with service.db.read() as tx:
        return bool(
            await tx.fetchval(
                "select exists (select from pg_stat_activity "
                "where datname = current_database() and wait_event_type = 'Lock')"
            )
        )
