"""Makes src/almoner/nonprofits/countries/countries.json from CLDR, through Babel: ``python tools/countries.py``.

Countries are those of ISO 3166-1 and Kosovo (XKX, the user-assigned code in general use). CLDR knows the
three-letter codes
as aliases of the two-letter ones, beside codes of states that no longer exist: those are named in ``WITHDRAWN``.
"""

import json
from importlib.metadata import version
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.languages import get_official_languages
from babel.numbers import get_territory_currencies

TARGET = Path(__file__).parents[1] / "src/almoner/nonprofits/countries/countries.json"
WITHDRAWN = {"ANT", "BUR", "CSK", "DDR", "FXX", "NTZ", "PCZ", "ROM", "SCG", "SUN", "TMP", "YMD", "YUG", "ZAR"}
NOT_COUNTRIES = {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"}
REPLACED = {"BGN": "EUR"}
"""Currencies that CLDR in this version of Babel still has, with those that took their place."""
NAMED = {code for code in Locale("en").territories if str(code).isalpha()} - NOT_COUNTRIES


def three_letter_codes() -> dict[str, str]:
    """Two-letter code -> three-letter code."""
    codes = {"XK": "XKX"}
    for name, (target, *others) in get_global("territory_aliases").items():
        alias = str(name)
        if len(alias) == 3 and alias.isalpha() and not others and alias not in WITHDRAWN and target in NAMED:
            if target in codes and target != "XK":
                raise SystemExit(f"{target} has two codes: {codes[target]} and {alias}")
            codes.setdefault(target, alias)
    return codes


def endonyms(territory: str) -> dict[str, str]:
    """The country's name in each of its official languages that CLDR has the name in."""
    found = {}
    for language in get_official_languages(territory, de_facto=True):
        try:
            name = Locale.parse(language, sep="_").territories.get(territory)
        except UnknownLocaleError:
            continue
        if name:
            found[language.replace("_", "-")] = name
    return found


def countries() -> list[dict[str, object]]:
    """All countries, sorted by three-letter code."""
    english = Locale("en").territories
    made = []
    for two, three in three_letter_codes().items():
        tender = get_territory_currencies(two)
        made.append(
            {
                "code": three,
                "code2": two,
                "name": english[two],
                "currency": REPLACED.get(tender[0], tender[0]) if tender else None,
                "endonyms": endonyms(two),
            }
        )
    return sorted(made, key=lambda country: str(country["code"]))


if __name__ == "__main__":
    origin = {
        "source": f"Unicode CLDR, by way of Babel {version('babel')}",
        "licence": "Unicode License v3, https://www.unicode.org/license.txt",
        "madeBy": "tools/countries.py",
    }
    rows = ",\n".join(json.dumps(country, ensure_ascii=False) for country in countries())
    TARGET.write_text(f'{{"origin": {json.dumps(origin)},\n"countries": [\n{rows}\n]}}\n', encoding="utf-8")
