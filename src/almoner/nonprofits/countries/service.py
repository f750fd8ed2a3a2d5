"""Lists countries."""

from dataclasses import dataclass

from almoner.nonprofits.countries.domain import COUNTRIES, Country
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import Tx


@dataclass(frozen=True, slots=True)
class CountryListing:
    """A country, and whether a registry of it is known."""

    country: Country
    has_registry: bool


async def list_countries(tx: Tx, has_registry: bool | None) -> list[CountryListing]:
    """All countries in the order of their codes, or those with (without) a registry."""
    known = await registries.list_country_codes(tx)
    listed = [CountryListing(country, country.code in known) for country in COUNTRIES.values()]
    return [row for row in listed if has_registry is None or row.has_registry is has_registry]
