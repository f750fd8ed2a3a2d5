"""Registries on the wire (settled 4 and 8)."""

from pydantic import Field

from almoner.kit.time import iso_or_none
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.db import Tx
from almoner.platform.http.wire import CountryCode, Out, Query


class RegistriesQuery(Query):
    """The country whose registries are asked for."""

    country_code: CountryCode = Field(description="Three-letter country code.")


class RegistryOut(Out, object_name="Registry"):
    """A registry as partners see it; ``dataAsOf`` is null while its register is not loaded."""

    id: str
    name: str
    english_name: str
    code: str
    country_code: str
    data_as_of: str | None


def registry_out(tx: Tx, registry: Registry) -> RegistryOut:
    """The answer for one registry."""
    return RegistryOut(
        id=tx.ids.text("registry", registry.id),
        name=registry.name,
        english_name=registry.english_name,
        code=registry.code,
        country_code=registry.country_code,
        data_as_of=iso_or_none(registry.data_as_of),
    )
