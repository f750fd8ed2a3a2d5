"""Whether HMRC accepts a declaration: one rule for page, API and claim (M10, M11).

After HMRC's guidance on declarations and its schedule spreadsheet: one living person declares, with first and last name
and home address. The page and the API reject problems at once; a claim leaves out older declarations with problems.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Final

from babel import Locale

from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.text import clean_ascii_code, is_spreadsheet_formula
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2

_MAX_LAST_NAME: Final = 35
MAX_HOUSE: Final = 40
OVERSEAS_POSTCODE: Final = "X"


class DeclarerProblem(Enum):
    """Why HMRC would not accept a value."""

    MISSING = "is missing, and needed to claim Gift Aid"
    TOO_LONG = f"must be at most {_MAX_LAST_NAME} characters, which is all that HMRC takes"
    HOUSE_TOO_LONG = f"must be at most {MAX_HOUSE} characters, which is all that HMRC takes"
    NOT_A_VALUE = "must be the real one, or HMRC refuses the claim"
    FORMULA = "must not begin with a sign that a spreadsheet would treat as a formula"
    SEVERAL_PEOPLE = "must name one person: HMRC takes no joint declarations"
    NOT_A_PERSON = "must name a person: companies and groups cannot declare Gift Aid"
    NOT_A_POSTCODE = "must be a full UK postcode such as SW1A 1AA, or the country must not be the United Kingdom"
    UNKNOWN_COUNTRY = "must be the name of a country"

    @property
    def description(self) -> str:
        """The problem as a sentence."""
        return self.value


_POSTCODE: Final = re.compile(r"(GIR0AA|[A-PR-UWYZ][A-HK-Y]?[0-9][0-9A-HJKMNPR-Y]?[0-9][ABD-HJLNP-UW-Z]{2})", re.ASCII)
_NO_POSTCODE_SIGN: Final = re.compile(r"[\s.,;:'\"()_-]+")
_AS_DIGITS: Final = str.maketrans("OIL", "011")
_OTHER_TERRITORIES: Final = ("JE", "GY", "IM", "GX")
"""Jersey, Guernsey, Isle of Man and Gibraltar: postcodes of the same form outside the United Kingdom."""
_NATIONS: Final = frozenset(
    {
        *("uk", "gb", "gbr", "united kingdom", "great britain", "britain", "england", "scotland", "wales", "cymru"),
        *("alba", "northern ireland", "n ireland", "ni", "england and wales"),
        *("united kingdom of great britain and northern ireland", "great britain and northern ireland"),
    }
)
_BESIDE_NATION: Final = re.compile(r"[,;/()|\-\u2013]+")
_JOINT: Final = re.compile(r"[&+/\uff06]|\b(?:and|und|et)\b", re.IGNORECASE)
_JOINT_LAST: Final = re.compile(r"[&+/\uff06]|\band\b|\bfamily\b", re.IGNORECASE)
"""Marks of joint donors in a last name; ``y`` and ``und`` may be part of one."""
_JOINT_TITLES: Final = re.compile(r"[&+/\uff06]|\b(?:and|messrs|mesdames)\b|\bmr\W+(?:mrs|ms|miss|dr)\b", re.IGNORECASE)
_COMPANY: Final = re.compile(
    r"\b(?:ltd|limited|plc|p\.l\.c|llp|l\.l\.p|llc|inc|incorporated|corp|corporation|gmbh|cic|cio|clg|pty|sarl|"
    r"company|foundation|association|society|trust|trustees|charities|holdings|enterprises|solutions|partnership|"
    r"committee|university|ministries|industries|club|council|group|school|academy|services|consulting|consultants|"
    r"consultancy|ventures|investments|federation|fellowship|synagogue|mosque)\b",
    re.IGNORECASE,
)
_WORDS_FOR_NOTHING: Final = frozenset(
    {
        *("n/a", "n.a", "n a", "none", "unknown", "not known", "not applicable", "not given", "not provided"),
        *("anonymous", "anon", "tbc", "tba", "tbd", "xx", "xxx", "xxxx", "test", "donor", "same", "same as above"),
        *("as above", "no name", "prefer not to say"),
    }
)
_TITLES_FOR_NOTHING: Final = _WORDS_FOR_NOTHING | {"na", "nil", "no", "null", "x"}

_LANGUAGES: Final = ("en", "de", "es", "fr", "it", "nl", "pl", "pt")
_ALSO_COUNTRIES: Final = (
    *("america", "united states of america", "eire", "republic of ireland", "southern ireland", "holland", "burma"),
    *(
        "channel islands",
        "turkey",
        "czech republic",
        "ivory coast",
        "macedonia",
        "swaziland",
        "cape verde",
        "hong kong",
    ),
    *("hong kong", "macau", "palestine", "uae", "the gambia", "bahamas", "congo", "drc", "russian federation"),
)

Problems = Mapping[str, DeclarerProblem]


def normalise_declarer(declarer: Declarer) -> Declarer:
    """The declarer with a UK postcode in canonical form (M12)."""
    return replace(declarer, postcode=normalise_postcode(declarer.postcode) or declarer.postcode)


def find_declarer_problems(declarer: Declarer) -> Problems:
    """Find what HMRC would not accept, by field."""
    found: dict[str, DeclarerProblem | None] = {
        "title": _title_problem(declarer.title),
        "first_name": _name_problem(declarer.first_name or "", _JOINT),
        "last_name": _name_problem(declarer.last_name, _JOINT_LAST),
        "building_name_number": _house_problem(declarer.building_name_number),
    }
    if found["last_name"] is None and len(last_name_for_hmrc(declarer.last_name)) > _MAX_LAST_NAME:
        found["last_name"] = DeclarerProblem.TOO_LONG
    if postcode_for_hmrc(declarer) is None:
        home = is_in_uk(declarer.country)
        found["postcode" if home else "country"] = (
            DeclarerProblem.NOT_A_POSTCODE if home else DeclarerProblem.UNKNOWN_COUNTRY
        )
    return {field: problem for field, problem in found.items() if problem is not None}


def last_name_for_hmrc(last_name: str) -> str:
    """A last name as HMRC's schedule has it, without hyphens."""
    return " ".join(last_name.replace("-", " ").split())


def normalise_postcode(entered: str) -> str | None:
    """A UK postcode in the form ``SW1Y 4JH``; None if the text is not one. Its third last character is a digit."""
    plain = _NO_POSTCODE_SIGN.sub("", clean_ascii_code(entered)).upper()
    plain = plain[:-3] + plain[-3:-2].translate(_AS_DIGITS) + plain[-2:]
    return f"{plain[:-3]} {plain[-3:]}" if _POSTCODE.fullmatch(plain) else None


def postcode_for_hmrc(declarer: Declarer) -> str | None:
    """The postcode for HMRC, X for an address abroad; None for neither."""
    postcode = normalise_postcode(declarer.postcode)
    if postcode is not None:
        return OVERSEAS_POSTCODE if postcode.startswith(_OTHER_TERRITORIES) else postcode
    if is_in_uk(declarer.country):
        return None
    parts = [part for part in map(_folded, _BESIDE_NATION.split(declarer.country)) if part]
    known = [_folded(declarer.country), *parts[-1:], *parts[:1]]  # "Jersey, Channel Islands", "Bavaria, Germany"
    return OVERSEAS_POSTCODE if any(name in _countries() for name in known) else None


def is_in_uk(country: str) -> bool:
    """Whether an entered country is the United Kingdom or a part of it."""
    parts = [part for part in map(_folded, _BESIDE_NATION.split(country)) if part]
    return bool(parts) and all(part in _NATIONS for part in parts)


def is_placeholder(text: str) -> bool:
    """Whether the text is a placeholder such as ``n/a`` or ``-``."""
    return not any(map(str.isalnum, text)) or _folded(text) in _WORDS_FOR_NOTHING


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", clean_ascii_code(text)[:200])
    words = (
        "".join(sign for sign in letters if not unicodedata.combining(sign))
        .casefold()
        .replace("&", " and ")
        .replace(".", "")
        .split()
    )
    return " ".join(words[1:] if words[:1] == ["the"] else words)


@cache
def _countries() -> frozenset[str]:
    """Names and codes of countries, and of the territories that are listed besides the United Kingdom."""
    territories = [Locale(tag).territories.items() for tag in _LANGUAGES]
    names = {name for named in territories for code, name in named if len(code) == 2}
    return frozenset(map(_folded, {*names, *ALPHA3_BY_ALPHA2, *ALPHA3_BY_ALPHA2.values(), *_ALSO_COUNTRIES}))


def _title_problem(title: str) -> DeclarerProblem | None:
    if not any(map(str.isalpha, title)) or _folded(title) in _TITLES_FOR_NOTHING:
        return DeclarerProblem.NOT_A_VALUE
    return DeclarerProblem.SEVERAL_PEOPLE if _JOINT_TITLES.search(title) else None


def _name_problem(name: str, joint: re.Pattern[str]) -> DeclarerProblem | None:
    if not name.strip():
        return DeclarerProblem.MISSING
    if is_spreadsheet_formula(name):
        return DeclarerProblem.FORMULA if any(map(str.isalpha, name)) else DeclarerProblem.NOT_A_VALUE
    if not any(map(str.isalpha, name)) or is_placeholder(name):
        return DeclarerProblem.NOT_A_VALUE
    if _COMPANY.search(name):
        return DeclarerProblem.NOT_A_PERSON
    return DeclarerProblem.SEVERAL_PEOPLE if joint.search(name) else None


def _house_problem(house: str) -> DeclarerProblem | None:
    if not house.strip():
        return DeclarerProblem.MISSING
    if is_placeholder(house):
        return DeclarerProblem.NOT_A_VALUE
    if is_spreadsheet_formula(house):
        return DeclarerProblem.FORMULA  # HMRC accepts no escaping
    return DeclarerProblem.HOUSE_TOO_LONG if len(" ".join(house.split())) > MAX_HOUSE else None
