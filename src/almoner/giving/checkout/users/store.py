"""SQL for users."""

from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.users.domain import User
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS = "id, organisation_id, created_at, deleted_at"


def _user(row: Record) -> User:
    return User(row["id"], row["organisation_id"], row["created_at"], row["deleted_at"])


async def insert(tx: Tx, partner: Partner, user: User) -> None:
    """Store a new user."""
    await tx.execute(
        "insert into giving_user (id, partner_id, organisation_id, created_at) values ($1, $2, $3, $4)",
        user.id,
        partner.id,
        user.organisation_id,
        user.created_at,
    )


async def find(tx: Tx, partner: Partner, user_id: UUID) -> User | None:
    """One user of the partner."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from giving_user where partner_id = $1 and id = $2", partner.id, user_id
    )
    return _user(row) if row else None


async def set_default_organisation(tx: Tx, partner: Partner, user_id: UUID, organisation_id: UUID) -> bool | None:
    """Set the default organisation.

    Returns True; False if the partner cannot see the organisation; None without such a user.
    """
    row = await tx.fetchrow(
        """
        with asked as (
            select id from giving_user where partner_id = $1 and id = $2 and deleted_at is null
        ), seen as (
            select id from organisation where id = $3 and (partner_id is null or partner_id = $1)
        ), changed as (
            update giving_user set organisation_id = seen.id from seen, asked where giving_user.id = asked.id
        )
        select exists (select from asked) as user_known, exists (select from seen) as organisation_known
        """,
        partner.id,
        user_id,
        organisation_id,
    )
    assert row is not None
    return bool(row["organisation_known"]) if row["user_known"] else None
