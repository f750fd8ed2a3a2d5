"""SQL for operators' views of partners' pages."""

from typing import Final
from uuid import UUID

from almoner.access.operators.domain import PartnerViewSession
from almoner.access.people.domain import Realm
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS: Final = "id, partner_id, person_id, reason, started_at, expires_at, ended_at"


async def insert_partner_view(tx: Tx, partner_view: PartnerViewSession) -> None:
    """Store a new view."""
    await tx.execute(
        """
        insert into partner_view (id, partner_id, person_id, reason, started_at, expires_at)
        values ($1, $2, $3, $4, $5, $6)
        """,
        partner_view.id,
        partner_view.partner_id,
        partner_view.person_id,
        partner_view.reason,
        partner_view.started_at,
        partner_view.expires_at,
    )


async def find_active_partner_view(
    tx: Tx, realm: Realm, partner: Partner, person_id: UUID
) -> PartnerViewSession | None:
    """Find the operator's open view of the partner."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from partner_view
        where realm = $1 and partner_id = $2 and person_id = $3 and ended_at is null and expires_at > $4
        order by expires_at desc limit 1
        """,
        realm.id,
        partner.id,
        person_id,
        tx.real_now,
    )
    return None if row is None else PartnerViewSession(*row)


async def end_partner_views(tx: Tx, realm: Realm, partner: Partner, person_id: UUID) -> int:
    """End the operator's views of the partner; returns how many were open."""
    rows = await tx.fetch(
        """
        update partner_view set ended_at = $4
        where realm = $1 and partner_id = $2 and person_id = $3 and ended_at is null and expires_at > $4 returning id
        """,
        realm.id,
        partner.id,
        person_id,
        tx.real_now,
    )
    return len(rows)
