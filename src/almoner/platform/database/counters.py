"""Totals of lists in 16 slots for each list of a partner, summed on read: one row made a hot partner 3x slower."""

import os
from typing import Final

from almoner.platform.database.transactions import Partner, Tx

SLOTS: Final = 16

INCREMENT: Final = """
insert into list_counter (partner_id, list, slot, n) {source}
on conflict (partner_id, list, slot) do update set n = list_counter.n + excluded.n"""
"""For a hot write's own statement: ``BUMP.format(source="select $1, 'donation_session', $9, 1 from made")``."""


def random_counter_slot() -> int:
    """A slot chosen at random."""
    return os.urandom(1)[0] % SLOTS


async def add_to_list_total(tx: Tx, partner: Partner, list_name: str, n: int) -> None:
    """Add ``n`` (may be negative) to the total of a list, in the transaction of the change."""
    await tx.execute(
        INCREMENT.format(source="values ($1, $2, $3, $4)"), partner.id, list_name, random_counter_slot(), n
    )


async def get_list_total(tx: Tx, partner: Partner, list_name: str) -> int:
    """The exact total."""
    return int(await tx.fetchval(TOTAL, partner.id, list_name))


TOTAL: Final = "select coalesce(sum(n), 0)::bigint as total from list_counter where partner_id = $1 and list = $2"
