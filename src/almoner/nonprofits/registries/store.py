"""SQL of registries."""

from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.registries.domain import Registry
from almoner.platform.db import Everyone, Tx

_COLUMNS = "id, code, name, english_name, country_code, data_as_of"


def _registry(row: Record) -> Registry:
    return Registry(row["id"], row["code"], row["name"], row["english_name"], row["country_code"], row["data_as_of"])


async def find(tx: Tx, _: Everyone, registry_id: UUID) -> Registry | None:
    """One registry."""
    row = await tx.fetchrow(f"select {_COLUMNS} from registry where id = $1", registry_id)
    return _registry(row) if row else None


async def of_country(tx: Tx, _: Everyone, country_code: str) -> list[Registry]:
    """The registries of one country, by code."""
    rows = await tx.fetch(f"select {_COLUMNS} from registry where country_code = $1 order by code", country_code)
    return [_registry(row) for row in rows]


async def every(tx: Tx, _: Everyone) -> list[Registry]:
    """All registries, by country and code: a short table that is read whole."""
    rows = await tx.fetch(f"select {_COLUMNS} from registry order by country_code, code")
    return [_registry(row) for row in rows]


async def country_codes(tx: Tx, _: Everyone) -> set[str]:
    """The countries that have a registry."""
    return {row["country_code"] for row in await tx.fetch("select distinct country_code from registry")}
