"""SQL for account notices to nonprofits."""

from uuid import UUID

from almoner.giving.account_notices.domain import PayeeAccountNotice
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


async def insert(tx: Tx, notice: PayeeAccountNotice) -> bool:
    """Store a notice of an account; False if there already is one."""
    return bool(
        await tx.fetchval(
            """
            insert into payee_bank_account_notice (account_id, partner_id, language, notified_at) values ($1, $2, $3,
                $4)
            on conflict (account_id) do nothing returning true
            """,
            notice.account_id,
            notice.partner_id,
            notice.language,
            notice.notified_at,
        )
    )


@across_partners("link")
async def find(tx: Tx, account_id: UUID) -> PayeeAccountNotice | None:
    """Find the notice of an account."""
    row = await tx.fetchrow(
        "select account_id, partner_id, language, notified_at from payee_bank_account_notice where account_id = $1",
        account_id,
    )
    return PayeeAccountNotice(*row) if row else None
