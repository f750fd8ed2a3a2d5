"""SQL for partners."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from asyncpg import Record

from almoner.access.partners.domain import PartnerAccount
from almoner.kit.public_links import PublicLinks
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS = (
    "id, name, redirect_hosts, settlement_currencies, created_at, brand_colour, brand_logo, shares_donor_details, "
    "requires_gift_aid, scim_enabled, request_interval, request_minimum_multiple, request_due_days, website_url, "
    "privacy_url, terms_url, contact_email, paused_at, pause_reason"
)


def _account(row: Record) -> PartnerAccount:
    hosts = row["redirect_hosts"]
    return PartnerAccount(
        row["id"],
        row["name"],
        None if hosts is None else tuple(hosts),
        tuple(row["settlement_currencies"]),
        row["created_at"],
        row["brand_colour"],
        row["brand_logo"],
        row["shares_donor_details"],
        row["requires_gift_aid"],
        row["scim_enabled"],
        row["request_interval"],
        row["request_minimum_multiple"],
        row["request_due_days"],
        PublicLinks(
            row["name"], row["website_url"], row["privacy_url"], row["terms_url"], contact=row["contact_email"]
        ),
        row["paused_at"],
        row["pause_reason"],
    )


async def insert(tx: Tx, account: PartnerAccount) -> None:
    """Store a new partner."""
    await tx.execute(
        "insert into partner (id, name, settlement_currencies, created_at) values ($1, $2, $3, $4)",
        account.id,
        account.name,
        list(account.settlement_currencies),
        account.created_at,
    )


async def find(tx: Tx, partner: Partner) -> PartnerAccount | None:
    """A partner's account."""
    row = await tx.fetchrow(f"select {_COLUMNS} from partner where id = $1", partner.id)
    return _account(row) if row else None


async def load_partner_names_by_id(tx: Tx, partner_ids: Collection[UUID]) -> dict[UUID, str]:
    """The names of partners, by ID."""
    rows = await tx.fetch("select id, name from partner where id = any($1::uuid[])", list(partner_ids))
    return {row[0]: row[1] for row in rows}


async def find_for_update(tx: Tx, partner: Partner) -> PartnerAccount | None:
    """A partner's account, locked until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from partner where id = $1 for no key update", partner.id)
    return _account(row) if row else None


async def set_brand(tx: Tx, partner: Partner, colour: str | None, logo: str | None) -> None:
    """Store the colour and logo of a locked partner."""
    await tx.execute("update partner set brand_colour = $2, brand_logo = $3 where id = $1", partner.id, colour, logo)


async def set_public_links(tx: Tx, partner: Partner, links: PublicLinks) -> None:
    """Store the footer links of a locked partner."""
    await tx.execute(
        "update partner set website_url = $2, privacy_url = $3, terms_url = $4, contact_email = $5 where id = $1",
        partner.id,
        links.website,
        links.privacy,
        links.terms,
        links.contact,
    )


async def set_scim_allowed(tx: Tx, partner: Partner, *, allowed: bool) -> None:
    """Store whether a locked partner's SCIM keys work."""
    await tx.execute("update partner set scim_enabled = $2 where id = $1", partner.id, allowed)


async def set_pause(tx: Tx, partner: Partner, at: datetime | None, reason: str | None) -> None:
    """Store since when and why a locked partner is paused; None: not paused."""
    await tx.execute("update partner set paused_at = $2, pause_reason = $3 where id = $1", partner.id, at, reason)


async def list_paused_ids(tx: Tx) -> set[UUID]:
    """The IDs of paused partners."""
    return {row["id"] for row in await tx.fetch("select id from partner where paused_at is not null")}


async def update_donation_settings(tx: Tx, partner: Partner, account: PartnerAccount) -> None:
    """Store the donation settings of a locked partner."""
    await tx.execute(
        """
        update partner set settlement_currencies = $2, shares_donor_details = $3, requires_gift_aid = $4,
            request_interval = $5,
            request_minimum_multiple = $6, request_due_days = $7
        where id = $1
        """,
        partner.id,
        list(account.settlement_currencies),
        account.shares_donor_details,
        account.requires_gift_aid,
        account.request_interval,
        account.request_minimum_multiple,
        account.request_due_days,
    )


async def list_accounts(tx: Tx, limit: int | None) -> list[PartnerAccount]:
    """Partners, oldest first; all of them without a limit."""
    return [_account(row) for row in await tx.fetch(f"select {_COLUMNS} from partner order by id limit $1", limit)]


async def list_accounts_page(tx: Tx, name: str | None, after: UUID | None, limit: int) -> list[PartnerAccount]:
    """Partners whose name contains a text, oldest first, after the last ID seen."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from partner
        where ($1::text is null or position(lower($1) in lower(name)) > 0) and ($2::uuid is null or id > $2)
        order by id limit $3
        """,
        name,
        after,
        limit,
    )
    return [_account(row) for row in rows]


async def count_accounts(tx: Tx, name: str | None) -> int:
    """How many partners have a name that contains a text."""
    found: int = await tx.fetchval(
        "select count(*) from partner where $1::text is null or position(lower($1) in lower(name)) > 0", name
    )
    return found


async def load_support_refund_limits_by_currency(tx: Tx, partner: Partner) -> dict[str, int]:
    """The most that support may refund of one donation, in minor units by currency."""
    rows = await tx.fetch(
        "select currency, amount_minor from support_refund_limit where partner_id = $1 order by currency", partner.id
    )
    return {row["currency"]: row["amount_minor"] for row in rows}


async def set_support_refund_limit(tx: Tx, partner: Partner, currency: str, limit_minor: int | None) -> None:
    """Set the limit of one currency; None removes it."""
    if limit_minor is None:
        await tx.execute(
            "delete from support_refund_limit where partner_id = $1 and currency = $2", partner.id, currency
        )
        return
    await tx.execute(
        """
        insert into support_refund_limit (partner_id, currency, amount_minor) values ($1, $2, $3)
        on conflict (partner_id, currency) do update set amount_minor = excluded.amount_minor
        """,
        partner.id,
        currency,
        limit_minor,
    )
