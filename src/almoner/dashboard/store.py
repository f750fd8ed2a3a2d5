"""SQL for recorded views of donors' data."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from almoner.dashboard.domain import DonorDataAccess
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx


async def insert_donor_data_accesses(tx: Tx, partner: Partner, person_id: UUID, record_ids: Sequence[UUID]) -> None:
    """Record that a person viewed the donors of these donations."""
    await tx.execute(
        """
        insert into donor_view (partner_id, record_id, person_id, viewed_at)
        select $1, unnest($2::uuid[]), $3, $4
        """,
        partner.id,
        record_ids,
        person_id,
        tx.now,
    )


async def list_donor_data_accesses(tx: Tx, partner: Partner, record_id: UUID, limit: int) -> list[DonorDataAccess]:
    """List the latest views of one record, newest first."""
    rows = await tx.fetch(
        """
        select person_id, viewed_at from donor_view
        where partner_id = $1 and record_id = $2 order by viewed_at desc limit $3
        """,
        partner.id,
        record_id,
        limit,
    )
    return [DonorDataAccess(row["person_id"], row["viewed_at"]) for row in rows]


@across_partners("sweep")
async def find_oldest_donor_data_access_at(tx: Tx) -> datetime | None:
    """The time of the oldest view; None if there is none."""
    oldest: datetime | None = await tx.fetchval("select min(viewed_at) from donor_view")
    return oldest


@across_partners("held")
async def delete_donor_data_accesses(tx: Tx, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` views that are older than ``before``; returns how many."""
    return len(
        await tx.fetch(
            """
            delete from donor_view where ctid in (
                select ctid from donor_view where viewed_at < $1 order by viewed_at limit $2
            ) returning 1
            """,
            before,
            limit,
        )
    )
