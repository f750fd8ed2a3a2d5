"""What can be asked about registries."""

from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.registries import domain, store
from almoner.nonprofits.registries.domain import Declared, Registry
from almoner.platform.database.transactions import EVERYONE, Tx


async def get(tx: Tx, registry_id: UUID) -> Registry:
    """One registry. Raises NotFound."""
    if (registry := await store.find(tx, EVERYONE, registry_id)) is None:
        raise NotFound
    return registry


async def of_country(tx: Tx, country_code: str) -> list[Registry]:
    """The registries of a country, by code; none for a country without."""
    return await store.of_country(tx, EVERYONE, country_code)


async def parts(tx: Tx, registry_id: UUID) -> list[str]:
    """The parts of a register that are loaded: one, where it comes whole."""
    return await store.parts(tx, EVERYONE, registry_id)


async def every(tx: Tx) -> list[Registry]:
    """All registries."""
    return await store.every(tx, EVERYONE)


async def declare(tx: Tx, declared: Declared) -> bool | None:
    """Enter a registry unless it is known; true when it was not, None when its code is another registry's."""
    if await store.insert(tx, EVERYONE, declared):
        return True
    known = next((row for row in await store.every(tx, EVERYONE) if row.code == declared.code), None)
    return False if known is not None and declared.is_of(known) else None


async def country_codes(tx: Tx) -> set[str]:
    """The countries that have a registry."""
    return await store.country_codes(tx, EVERYONE)


async def called(tx: Tx, text: str, country_code: str | None = None) -> list[Registry]:
    """The registries whose id, code or name the text is, in one country or in all."""
    registry_id = tx.ids.parse("registry", text)
    return [
        registry
        for registry in await store.every(tx, EVERYONE)
        if (country_code is None or registry.country_code == country_code)
        and (registry.id == registry_id or domain.named(registry, text))
    ]
