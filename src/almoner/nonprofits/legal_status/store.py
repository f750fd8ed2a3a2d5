"""SQL for sources' reports about registration numbers, to determine the legal status."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx


@dataclass(frozen=True, slots=True)
class LegalStatusSource:
    """A loaded source and the date of its newest data."""

    code: str
    registry_id: UUID
    lists_organisations: bool
    is_format_unverified: bool
    data_as_of: datetime | None


@dataclass(frozen=True, slots=True)
class OrganisationEntries:
    """The organisation whose legal status is determined, with its entries in all sources.

    ``data_as_of``: the date of the data that list it or would list it.
    """

    organisation_id: UUID
    number_key: str
    group_key: str | None
    source: str | None
    data_as_of: datetime | None
    status_override: str | None
    entries: list[dict[str, Any]]


@across_partners("registers")
async def list_sources(tx: Tx, registry_id: UUID) -> list[LegalStatusSource]:
    """List the loaded sources of a registry."""
    rows = await tx.fetch(
        """
        select code, registry_id, lists_organisations, unverified, data_as_of from register_source
        where registry_id = $1
        order by data_as_of desc nulls last, code
        """,
        registry_id,
    )
    return [LegalStatusSource(*row) for row in rows]


_SUBJECT: Final = """
    select o.id, o.number_key, o.group_key, o.source, listed.data_as_of, o.status_override,
        coalesce(told.entries, '[]'::jsonb) as entries
    from organisation o
    left join register_part listed on listed.source = o.source and listed.part = o.part
    left join lateral (
        select jsonb_agg(jsonb_build_object(
            'source', e.source, 'record', e.record, 'data_as_of', p.data_as_of
        )) as entries
        from register_entry e left join register_part p on p.source = e.source and p.part = e.part
        where e.number_key = o.number_key and e.valid_to is null and e.source = any($2::text[])
    ) told on true
"""


@across_partners("registers")
async def find_organisation_entries(
    tx: Tx, organisation_id: UUID, source_codes: Sequence[str]
) -> OrganisationEntries | None:
    """One organisation with the reports of these sources."""
    row = await tx.fetchrow(f"{_SUBJECT} where o.id = $1", organisation_id, source_codes)
    return _subject(row) if row else None


@across_partners("registers")
async def get_organisation_entries_by_number(
    tx: Tx, registry_id: UUID, number_key: str, source_codes: Sequence[str]
) -> OrganisationEntries:
    """A published organisation by its number with these sources' reports; or the reports alone."""
    row = await tx.fetchrow(
        f"{_SUBJECT} where o.registry_id = $1 and o.number_key = $3 and o.partner_id is null",
        registry_id,
        source_codes,
        number_key,
    )
    if row is not None:
        return _subject(row)
    reported = await tx.fetch(
        """
        select e.source, e.record, p.data_as_of
        from register_entry e left join register_part p on p.source = e.source and p.part = e.part
        where e.number_key = $1 and e.valid_to is null and e.source = any($2::text[])
        """,
        number_key,
        source_codes,
    )
    entries = [
        {"source": row[0], "record": row[1], "data_as_of": row[2].isoformat() if row[2] else None} for row in reported
    ]
    return OrganisationEntries(UUID(int=0), number_key, None, None, None, None, entries)


@across_partners("registers")
async def find_central_organisation(
    tx: Tx, registry_id: UUID, group_key: str, source_codes: Sequence[str]
) -> OrganisationEntries | None:
    """The central organisation of a group: listed ones first, then the lowest number."""
    row = await tx.fetchrow(
        f"""
        {_SUBJECT} where o.registry_id = $1 and o.group_key = $3 and o.is_branch_parent and o.partner_id is null
        order by not o.active, o.number_key limit 1
        """,
        registry_id,
        source_codes,
        group_key,
    )
    return _subject(row) if row else None


async def list_registry_numbers_with_possible_status_override(
    tx: Tx, source: str, register_parts: Sequence[str], source_codes: Sequence[str]
) -> list[str]:
    """Numbers in these parts of a source that another list may override."""
    rows = await tx.fetch(
        """
        select e.number_key from register_entry e
        where e.source = $1 and e.part = any($2::text[]) and e.valid_to is null and exists (
            select from register_entry d
            where d.number_key = e.number_key and d.valid_to is null and d.source = any($3::text[])
        )
        """,
        source,
        list(register_parts),
        [code for code in source_codes if code in OVERRIDING_SOURCES],
    )
    return [row["number_key"] for row in rows]


@across_partners("registers")
async def list_organisation_entries(
    tx: Tx, registry_id: UUID, source_codes: Sequence[str], numbers: Sequence[str]
) -> list[OrganisationEntries]:
    """List the published organisations with these numbers."""
    rows = await tx.fetch(
        f"{_SUBJECT} where o.registry_id = $1 and o.number_key = any($3::text[]) and o.partner_id is null",
        registry_id,
        source_codes,
        list(numbers),
    )
    return [_subject(row) for row in rows]


@across_partners("registers")
async def list_organisations_with_possible_status_override(
    tx: Tx, registry_id: UUID, source_codes: Sequence[str], after: UUID, limit: int
) -> list[OrganisationEntries]:
    """Organisations after an ID, by ID, that another list overrides or may override."""
    rows = await tx.fetch(
        f"""
        {_SUBJECT} where o.registry_id = $1 and o.partner_id is null and o.id > $3 and (
            o.status_override in ('revoked', 'terminated') or exists (
                select from register_entry d
                where d.number_key = o.number_key and d.valid_to is null and d.source = any($4::text[])
            )
        ) order by o.id limit $5
        """,
        registry_id,
        source_codes,
        after,
        [code for code in source_codes if code in OVERRIDING_SOURCES],
        limit,
    )
    return [_subject(row) for row in rows]


OVERRIDING_SOURCES: Final = ("irs-revocations", "irs-990n")


def _subject(row: Record) -> OrganisationEntries:
    return OrganisationEntries(
        row["id"],
        row["number_key"],
        row["group_key"],
        row["source"],
        row["data_as_of"],
        row["status_override"],
        list(row["entries"]),
    )
