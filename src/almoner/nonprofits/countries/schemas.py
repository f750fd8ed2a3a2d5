"""Countries on the wire (settled 4 and 8)."""

from pydantic import Field

from almoner.nonprofits.countries.service import CountryListing
from almoner.platform.http.wire import ResponseRecord, UnpagedQuery


class CountriesQuery(UnpagedQuery):
    """The filter of the list."""

    has_registry: bool | None = Field(
        None, description="Only countries with (`true`) or without (`false`) a supported registry."
    )


class CountryResponse(ResponseRecord, object_name="Country"):
    """A country as partners see it; ``endonyms`` are its names in its own official languages."""

    code: str
    name: str
    has_registry: bool
    endonyms: dict[str, str]


def country_response(country_listing: CountryListing) -> CountryResponse:
    """The response for one country."""
    return CountryResponse(
        country_listing.country.code,
        country_listing.country.name,
        country_listing.has_registry,
        dict(country_listing.country.endonyms),
    )
