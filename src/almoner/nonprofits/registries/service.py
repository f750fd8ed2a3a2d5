"""Finds and declares registries."""

from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.registries import domain, store
from almoner.nonprofits.registries.domain import DeclaredRegistry, Registry
from almoner.nonprofits.registries.store import list_by_country as list_by_country
from almoner.nonprofits.registries.store import list_country_codes as list_country_codes
from almoner.nonprofits.registries.store import list_imported_parts as list_imported_parts
from almoner.nonprofits.registries.store import list_registries as list_registries
from almoner.platform.database.transactions import Tx


async def get(tx: Tx, registry_id: UUID) -> Registry:
    """One registry. Raises NotFound."""
    if (registry := await store.find(tx, registry_id)) is None:
        raise NotFound
    return registry


async def insert_registry_if_new(tx: Tx, declared_registry: DeclaredRegistry) -> bool | None:
    """Store a registry unless it is known. True if it was new, None if its code belongs to another registry."""
    if await store.insert(tx, declared_registry):
        return True
    known = next((row for row in await store.list_registries(tx) if row.code == declared_registry.code), None)
    return False if known is not None and declared_registry.describes_registry(known) else None


async def describe_known_registries(tx: Tx, country_code: str | None = None) -> str:
    """The names and codes of the registries of one country, or of all, for an error sentence."""
    there_are = [
        one for one in await store.list_registries(tx) if country_code is None or one.country_code == country_code
    ]
    return ", ".join(f"{one.english_name} ({one.code})" for one in there_are) or "none"


async def find_registries_by_text(tx: Tx, text: str, country_code: str | None = None) -> list[Registry]:
    """The registries that a text means, by ID, code or name, in one country or in all.

    The nearest ones to the text; several if it is ambiguous, such as "Charity Commission".
    """
    registry_id = tx.ids.decode("registry", text)
    there_are = [
        one for one in await store.list_registries(tx) if country_code is None or one.country_code == country_code
    ]
    if registry_id is not None:
        return [one for one in there_are if one.id == registry_id]
    distances = [
        (distance, one) for one in there_are if (distance := domain.registry_match_distance(one, text)) is not None
    ]
    nearest = min((distance for distance, _ in distances), default=None)
    return [one for distance, one in distances if distance == nearest]
