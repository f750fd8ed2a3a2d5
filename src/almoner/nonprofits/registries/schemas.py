"""Registries on the wire (settled 4 and 8)."""

from typing import Annotated

from pydantic import AfterValidator, Field

from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.countries.domain import ensure_country_code
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import CountryCode, ResponseRecord, UnpagedQuery


class RegistriesQuery(UnpagedQuery):
    """The country whose registries are asked for."""

    country_code: Annotated[CountryCode, AfterValidator(ensure_country_code)] = Field(
        description="Three-letter country code."
    )


class RegistrySourceResponse(ResponseRecord):
    """A published file with a registry's organisations, and the day of its data."""

    source: str
    unverified: bool
    data_as_of: str


class RegistryResponse(ResponseRecord, object_name="Registry"):
    """A registry as partners see it; ``dataAsOf`` and ``unverified`` are null while its register is not loaded.

    ``unverified`` is true when every reader of its files was written from their layout alone: then nothing is decided
    by this registry without a person.
    """

    id: str
    name: str
    english_name: str
    code: str
    country_code: str
    data_as_of: str | None
    unverified: bool | None
    sources: list[RegistrySourceResponse]


def registry_response(tx: Tx, registry: Registry) -> RegistryResponse:
    """The answer for one registry."""
    return RegistryResponse(
        id=tx.ids.encode("registry", registry.id),
        name=registry.name,
        english_name=registry.english_name,
        code=registry.code,
        country_code=registry.country_code,
        data_as_of=iso_timestamp_or_none(registry.data_as_of),
        unverified=registry.has_only_unverified_sources,
        sources=[
            RegistrySourceResponse(
                source=one.source, unverified=one.is_format_unverified, data_as_of=iso_timestamp(one.data_as_of)
            )
            for one in registry.sources
        ],
    )
