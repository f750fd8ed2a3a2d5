"""SQL for registries."""

from dataclasses import replace
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registries.domain import DeclaredRegistry, ImportedSource, Registry
from almoner.platform.database.transactions import Tx

_COLUMNS = "id, code, name, english_name, country_code, data_as_of"
_WITH_SOURCES = f"""
    select {_COLUMNS}, codes, unverified, days from registry
    cross join lateral (
        select array_agg(s.code order by s.code) as codes, array_agg(s.unverified order by s.code) as unverified,
            array_agg(s.data_as_of order by s.code) as days
        from register_source s where s.registry_id = registry.id and s.lists_organisations and s.data_as_of is not null
    ) loaded
"""


def _registry(row: Record) -> Registry:
    return Registry(row["id"], row["code"], row["name"], row["english_name"], row["country_code"], row["data_as_of"])


def _with_sources(row: Record) -> Registry:
    reported = zip(row["codes"] or (), row["unverified"] or (), row["days"] or (), strict=True)
    return replace(_registry(row), sources=tuple(ImportedSource(*one) for one in reported))


async def find(tx: Tx, registry_id: UUID) -> Registry | None:
    """One registry; None if it does not exist."""
    row = await tx.fetchrow(f"{_WITH_SOURCES} where id = $1", registry_id)
    return _with_sources(row) if row else None


async def list_by_country(tx: Tx, country_code: str) -> list[Registry]:
    """The registries of one country, by code."""
    rows = await tx.fetch(f"{_WITH_SOURCES} where country_code = $1 order by code", country_code)
    return [_with_sources(row) for row in rows]


async def list_registries(tx: Tx) -> list[Registry]:
    """All registries, by country and code: a short table that is read whole."""
    rows = await tx.fetch(f"select {_COLUMNS} from registry order by country_code, code")
    return [_registry(row) for row in rows]


async def list_imported_parts(tx: Tx, registry_id: UUID) -> list[str]:
    """The loaded parts of the files that list a registry's organisations; for the IRS, states."""
    rows = await tx.fetch(
        """
        select distinct p.part from register_part p join register_source s on s.code = p.source
        where s.registry_id = $1 and s.lists_organisations and p.rows > 0 order by p.part
        """,
        registry_id,
    )
    return [row["part"] for row in rows]


async def insert(tx: Tx, declared_registry: DeclaredRegistry) -> bool:
    """Store a registry; False if its code is taken."""
    done = await tx.execute(
        """
        insert into registry (id, code, name, english_name, country_code) values ($1, $2, $3, $4, $5)
        on conflict (code) do nothing
        """,
        tx.new_id(),
        declared_registry.code,
        declared_registry.name,
        declared_registry.english_name,
        declared_registry.country_code,
    )
    return done.endswith(" 1")


async def list_country_codes(tx: Tx) -> set[str]:
    """The countries that have a registry."""
    return {row["country_code"] for row in await tx.fetch("select distinct country_code from registry")}
