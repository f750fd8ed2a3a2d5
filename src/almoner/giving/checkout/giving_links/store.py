"""SQL for giving links. They are never deleted, so a slug is never reused."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.giving_links.domain import (
    FundraisingProgress,
    GivingLink,
    GivingLinkOptOut,
    GivingLinkRecipient,
)
from almoner.giving.checkout.sessions.domain import DonationOptions
from almoner.nonprofits.organisations.domain import donation_currencies_of_country
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS: Final = (
    "id, partner_id, slug, title, text, image_key, organisation_ids, category_id, currencies, frequencies, goal_minor, "
    "shows_progress, allowed_origins, success_url, metadata, active, expires_at, created_at, updated_at, "
    "suggested_minor, minimum_minor, maximum_minor, designations, offers_dedication"
)
_LISTS: Final = frozenset({"organisation_ids", "currencies", "frequencies", "allowed_origins"})


def _link(row: Record) -> GivingLink:
    names = _COLUMNS.split(", ")
    values: dict[str, Any] = {name: tuple(row[name]) if name in _LISTS else row[name] for name in names[:19]}
    options = DonationOptions(
        tuple(row["suggested_minor"]),
        row["minimum_minor"],
        row["maximum_minor"],
        tuple(row["designations"]),
        row["offers_dedication"],
    )
    return GivingLink(**values, options=options)


def _changeable(link: GivingLink) -> list[object]:
    return [
        link.title,
        link.text,
        link.image_key,
        link.organisation_ids,
        link.category_id,
        link.currencies,
        link.frequencies,
        link.goal_minor,
        link.shows_progress,
        link.allowed_origins,
        link.success_url,
        link.metadata,
        link.active,
        link.expires_at,
        link.updated_at,
        link.options.suggested,
        link.options.minimum,
        link.options.maximum,
        link.options.designations,
        link.options.dedication,
    ]


async def insert(tx: Tx, partner: Partner, link: GivingLink) -> bool:
    """Store a new giving link; False if its slug was ever used."""
    made = await tx.fetchval(
        """
        insert into giving_link (id, partner_id, slug, created_at, title, text, image_key, organisation_ids,
                                 category_id, currencies, frequencies, goal_minor, shows_progress, allowed_origins,
                                 success_url, metadata, active, expires_at, updated_at, suggested_minor, minimum_minor,
                                 maximum_minor, designations, offers_dedication)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                $23, $24)
        on conflict (slug) do nothing returning true
        """,
        link.id,
        partner.id,
        link.slug,
        link.created_at,
        *_changeable(link),
    )
    return bool(made)


async def update(tx: Tx, partner: Partner, link: GivingLink) -> None:
    """Store the changes of a locked link."""
    await tx.execute(
        """
        update giving_link set
            title = $3, text = $4, image_key = $5, organisation_ids = $6, category_id = $7, currencies = $8,
            frequencies = $9, goal_minor = $10, shows_progress = $11, allowed_origins = $12, success_url = $13,
            metadata = $14, active = $15, expires_at = $16, updated_at = $17, suggested_minor = $18,
            minimum_minor = $19, maximum_minor = $20, designations = $21, offers_dedication = $22
        where partner_id = $1 and id = $2
        """,
        partner.id,
        link.id,
        *_changeable(link),
    )


async def find(tx: Tx, partner: Partner, link_id: UUID) -> GivingLink | None:
    """One link."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from giving_link where partner_id = $1 and id = $2", partner.id, link_id
    )
    return _link(row) if row else None


async def find_for_update(tx: Tx, partner: Partner, link_id: UUID) -> GivingLink | None:
    """One link, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from giving_link where partner_id = $1 and id = $2 for no key update", partner.id, link_id
    )
    return _link(row) if row else None


@across_partners("link")
async def find_by_slug(tx: Tx, slug: str) -> GivingLink | None:
    """The link with a slug."""
    row = await tx.fetchrow(f"select {_COLUMNS} from giving_link where slug = $1", slug)
    return _link(row) if row else None


async def lock_and_count_links(tx: Tx, partner: Partner) -> int:
    """Count the partner's giving links; locks the partner, so that none is added meanwhile."""
    await tx.execute("select from partner where id = $1 for no key update", partner.id)
    found: int = await tx.fetchval("select count(*) from giving_link where partner_id = $1", partner.id)
    return found


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, *, active: bool | None
) -> tuple[list[GivingLink], int]:
    """One page of the partner's links in reading order, and the total, from one snapshot."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (
            select count(*) as total from giving_link where partner_id = $1 and ($4::boolean is null or active = $4)
        ) counted
        left join lateral (
            select {_COLUMNS} from giving_link
            where partner_id = $1 and ($2::uuid is null or id {comparison} $2) and ($4::boolean is null or active = $4)
            order by id {order} limit $3
        ) listed on true
        order by id {order}
        """,
        partner.id,
        page_.after_id,
        page_.fetch_limit,
        active,
    )
    return [_link(row) for row in rows if row["id"] is not None], rows[0]["total"]


_RECIPIENTS: Final = """
select named, o.id, o.country_code, o.active and 'nonprofit' = any(o.types) as receives,
       exists (select from giving_link_refusal r where r.organisation_id = o.id) as refuses,
       is_flagged($1, o.id) as flagged
from unnest($2::uuid[]) with ordinality asked (named, n)
join organisation first on first.id = named
join organisation o on o.id = coalesce(first.same_as, first.id)
where o.partner_id is null or o.partner_id = $1
order by n
"""


async def list_recipients(tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]) -> list[GivingLinkRecipient]:
    """Return the organisations that the partner can see, in the given order, with whether they accept donations."""
    rows = await tx.fetch(_RECIPIENTS, partner.id, organisation_ids)
    return [
        GivingLinkRecipient(
            row["named"],
            row["id"],
            row["receives"],
            donation_currencies_of_country(row["country_code"]) if row["receives"] else (),
            row["refuses"],
            row["flagged"],
        )
        for row in rows
    ]


async def load_fundraising_progress(tx: Tx, partner: Partner, link_id: UUID, currency: str) -> FundraisingProgress:
    """The amount raised through a link in a currency, minus refunds."""
    row = await tx.fetchrow(
        """
        select coalesce(sum(amount_minor - greatest(withdrawn_minor, refunded_minor)), 0)::bigint as raised,
               count(distinct lower(email)) as donors
        from donation
        where partner_id = $1 and giving_link_id = $2 and currency = $3 and status in ('RECEIVED_PAYMENT', 'DISBURSED')
        """,
        partner.id,
        link_id,
        currency,
    )
    assert row is not None
    return FundraisingProgress(row["raised"], row["donors"])


async def insert_opt_out(tx: Tx, opt_out: GivingLinkOptOut) -> bool:
    """Store an opt-out; False if the organisation already has one."""
    made = await tx.fetchval(
        """
        insert into giving_link_refusal (organisation_id, reason, refused_by, refused_at) values ($1, $2, $3, $4)
        on conflict (organisation_id) do nothing returning true
        """,
        opt_out.organisation_id,
        opt_out.reason,
        opt_out.recorded_by,
        opt_out.recorded_at,
    )
    return bool(made)


async def delete_opt_out(tx: Tx, organisation_id: UUID) -> bool:
    """Delete an opt-out; False if there is none."""
    lifted = await tx.fetchval(
        "delete from giving_link_refusal where organisation_id = $1 returning true", organisation_id
    )
    return bool(lifted)


async def find_opt_out(tx: Tx, organisation_id: UUID) -> GivingLinkOptOut | None:
    """An organisation's opt-out."""
    row = await tx.fetchrow(
        "select organisation_id, reason, refused_by, refused_at from giving_link_refusal where organisation_id = $1",
        organisation_id,
    )
    return GivingLinkOptOut(*row) if row else None


async def list_opt_outs(tx: Tx, limit: int) -> list[GivingLinkOptOut]:
    """The newest opt-outs."""
    rows = await tx.fetch(
        """
        select organisation_id, reason, refused_by, refused_at from giving_link_refusal
        order by refused_at desc, organisation_id limit $1
        """,
        limit,
    )
    return [GivingLinkOptOut(*row) for row in rows]
