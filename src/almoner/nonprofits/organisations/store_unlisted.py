"""SQL for organisations that no register lists."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import UniqueViolationError

from almoner.nonprofits.organisations.domain import (
    UnlistedOrganisation,
    UnpublishedOrganisationRecord,
    normalise_search_text,
)
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_LAST: Final = UUID(int=2**128 - 1)


async def insert(tx: Tx, partner: Partner, unlisted_organisation: UnlistedOrganisation) -> None:
    """Store an organisation visible to one partner, unless the partner has one with this number."""
    place = " ".join(part for part in (unlisted_organisation.city, unlisted_organisation.state) if part)
    await tx.execute(
        """
        insert into organisation (
            id, partner_id, registry_id, registry_number, number_key, name, country_code, types, active, websites,
            address_line_1, address_line_2, city, state, postcode, usa_group_exempt, search_name, search_place,
            created_at, updated_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, true, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18)
        on conflict (partner_id, registry_id, number_key) where partner_id is not null do nothing
        """,
        tx.new_id(),
        partner.id,
        unlisted_organisation.registry_id,
        unlisted_organisation.registry_number,
        unlisted_organisation.number_key,
        unlisted_organisation.name,
        unlisted_organisation.country_code,
        unlisted_organisation.types,
        unlisted_organisation.websites,
        unlisted_organisation.address_line_1,
        unlisted_organisation.address_line_2,
        unlisted_organisation.city,
        unlisted_organisation.state,
        unlisted_organisation.postcode,
        unlisted_organisation.usa_group_exempt,
        normalise_search_text(unlisted_organisation.name),
        normalise_search_text(place),
        tx.now,
    )


@across_partners("registers")
async def find_owner_partner_id(tx: Tx, organisation_id: UUID) -> UUID | None:
    """The partner that alone can see an organisation; None if it is published or unknown."""
    owner: UUID | None = await tx.fetchval("select partner_id from organisation where id = $1", organisation_id)
    return owner


@across_partners("operators")
async def list_unpublished_organisations(
    tx: Tx, before_id: UUID | None, limit: int
) -> list[UnpublishedOrganisationRecord]:
    """Organisations that one partner alone sees, newest first; ``before_id``: the last ID seen."""
    rows = await tx.fetch(
        """
        select o.id, o.partner_id, o.name, r.code as registry_code, o.registry_number, o.country_code, o.created_at
        from organisation o join registry r on r.id = o.registry_id
        where o.partner_id is not null and o.id < $1 order by o.id desc limit $2
        """,
        before_id or _LAST,
        limit,
    )
    return [UnpublishedOrganisationRecord(**row) for row in rows]


@across_partners("registers")
async def make_organisation_public(tx: Tx, organisation_id: UUID, websites: Sequence[str]) -> bool:
    """Make an organisation visible to all; False if another with its number is published.

    If two with one number are published concurrently, the unique index rejects one and its transaction fails.
    """
    # Triggers update the search index for columns that loads change; the owner changes only here.
    try:
        published = await tx.fetchval(_PUBLISH, organisation_id, tx.now, websites)
    except UniqueViolationError:
        return False
    return bool(published)


_PUBLISH: Final = """
    with published as (
        update organisation o set partner_id = null, websites = $3, updated_at = $2
        where id = $1 and partner_id is not null and not exists (
            select from organisation other where other.number_key = o.number_key
                and other.registry_id = o.registry_id and other.partner_id is null
        ) returning id
    )
    update organisation_search s set partner_id = null from published where s.id = published.id returning true
"""
