"""Countries: three-letter codes, names, endonyms and currencies, from CLDR (``countries.json`` names its origin)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final


@dataclass(frozen=True, slots=True)
class Country:
    """One country. ``currency`` is its first legal tender (ISO 4217); only Antarctica has none."""

    code: str
    name: str
    currency: str | None
    endonyms: Mapping[str, str]


_ROWS: Final = json.loads(files("almoner.nonprofits.countries").joinpath("countries.json").read_text(encoding="utf-8"))[
    "countries"
]

COUNTRIES: Final[Mapping[str, Country]] = {
    row["code"]: Country(row["code"], row["name"], row["currency"], row["endonyms"]) for row in _ROWS
}
"""The countries by three-letter code, in the order of the codes."""
ALPHA3_BY_ALPHA2: Final[Mapping[str, str]] = {row["code2"]: row["code"] for row in _ROWS}
"""Three-letter country codes by two-letter code."""


def currency_of_country(country_code: str) -> str | None:
    """The country's currency, None for an unknown country."""
    country = COUNTRIES.get(country_code)
    return country.currency if country else None


def ensure_country_code(code: str) -> str:
    """The three-letter code. Raises ValueError for one that no country has."""
    if code not in COUNTRIES:
        raise ValueError(f"'{code}' is not the code of a country; GET /v1/countries lists them")
    return code
