"""What watch lists write in many ways, read in one: countries, years."""

import re
from functools import lru_cache
from typing import Final

from almoner.nonprofits.countries.domain import COUNTRIES

_YEAR: Final = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")
_OTHER_NAMES: Final = {
    "bahamas, the": "BHS",
    "bolivia (plurinational state of)": "BOL",
    "bosnia and herzegovina": "BIH",
    "british virgin islands": "VGB",
    "burma": "MMR",
    "china, hong kong special administrative region": "HKG",
    "congo": "COG",
    "congo (democratic republic)": "COD",
    "congo, democratic republic of the": "COD",
    "congo, republic of the": "COG",
    "cote d ivoire": "CIV",
    "cote d'ivoire": "CIV",
    "czech republic": "CZE",
    "democratic people's republic of korea": "PRK",
    "democratic republic of the congo": "COD",
    "hong kong": "HKG",
    "hong kong (sar)": "HKG",
    "iran (islamic republic of)": "IRN",
    "ivory coast": "CIV",
    "korea, north": "PRK",
    "korea, south": "KOR",
    "lao people's democratic republic": "LAO",
    "macau": "MAC",
    "moldova (republic of)": "MDA",
    "myanmar": "MMR",
    "myanmar (burma)": "MMR",
    "north korea": "PRK",
    "occupied palestinian territories": "PSE",
    "palestinian": "PSE",
    "region: crimea": "UKR",
    "region: gaza": "PSE",
    "region: northern mali": "MLI",
    "republic of korea": "KOR",
    "russian federation": "RUS",
    "saint kitts and nevis": "KNA",
    "saint vincent and the grenadines": "VCT",
    "south korea": "KOR",
    "state of palestine": "PSE",
    "syrian arab republic": "SYR",
    "tanzania, united republic of": "TZA",
    "the gambia": "GMB",
    "trinidad and tobago": "TTO",
    "turkey": "TUR",
    "united kingdom of great britain and northern ireland": "GBR",
    "united republic of tanzania": "TZA",
    "united states of america": "USA",
    "venezuela (bolivarian republic of)": "VEN",
    "viet nam": "VNM",
    "virgin islands, british": "VGB",
    "west bank": "PSE",
}
"""How lists call countries otherwise than CLDR does."""
_NAMES: Final = {country.name.casefold(): country.code for country in COUNTRIES.values()} | _OTHER_NAMES


@lru_cache(maxsize=4096)
def country_of(name: str) -> str | None:
    """The three letters of a country's English name; None for what names none."""
    return _NAMES.get(" ".join(name.replace("\u2019", "'").casefold().split()))


def years_of(text: str) -> tuple[int, ...]:
    """The years that a text names, each once."""
    return tuple(dict.fromkeys(int(year) for year in _YEAR.findall(text)))
