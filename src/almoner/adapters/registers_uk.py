"""Shared by the three registers of the United Kingdom: places, removal of contact details, money.

Addresses in these registers are those of charities, but many small ones are at somebody's home and given as "c/o Mrs
...": the line that names a person is dropped, and so is every email address and telephone number in free text.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from almoner.adapters import registers_values

_POSTCODE: Final = re.compile(r"([A-Z]{1,2}[0-9][0-9A-Z]?) ?([0-9][A-Z]{2})", re.ASCII)
_NO_NAME: Final = frozenset(("", "-", ".", "n/a", "na", "nil", "no", "none", "not applicable", "null"))
_INCOMES: Final = (1, 10_000, 25_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 50_000_000)
"""The income brackets of the IRS (INCOME_CD), in the currency of the register."""
_TOWN: Final = re.compile(r"[^0-9]+(?: [0-9]{1,2})?", re.ASCII)
_PARTS_OF_HOUSES: Final = ("apartment ", "apt ", "block ", "flat ", "floor ", "office ", "room ", "suite ", "unit ")
_COUNTRIES: Final = frozenset(
    (
        "england",
        "great britain",
        "n ireland",
        "n. ireland",
        "northern ireland",
        "scotland",
        "uk",
        "united kingdom",
        "wales",
    )
)
_COUNTIES: Final = frozenset(
    """
    avon bedfordshire berkshire buckinghamshire cambridgeshire cheshire cleveland clwyd cornwall cumbria derbyshire
    devon dorset durham dyfed essex gloucestershire gwent gwynedd hampshire herefordshire hertfordshire kent lancashire
    leicestershire lincolnshire merseyside middlesex norfolk northamptonshire northumberland nottinghamshire oxfordshire
    powys rutland shropshire somerset staffordshire suffolk surrey warwickshire wiltshire worcestershire
    """.split()
)
_TWO_WORDED: Final = frozenset(
    "east sussex|west sussex|east yorkshire|north yorkshire|south yorkshire|west yorkshire|west midlands|tyne and wear|"
    "greater manchester|greater london|isle of wight|mid glamorgan|south glamorgan|west glamorgan".split("|")
)


class UkAddress(NamedTuple):
    """An address as members of an entry."""

    address_line_1: str | None = None
    address_line_2: str | None = None
    city: str | None = None
    state: str | None = None
    postcode: str | None = None


def parse_address(lines: Iterable[str], postcode: str = "") -> UkAddress:
    """Parse the lines of an address; the last is its town, or its county after the town."""
    stored = [
        tidy
        for line in registers_values.drop_care_of_lines(lines)
        if (tidy := registers_values.strip_contact_details(line).strip(" ,.;"))
    ]
    code = _parse_postcode(postcode)
    if code is None and stored and (code := _parse_postcode(stored[-1])) is not None:
        stored.pop()
    stored = [
        line
        for place, line in enumerate(stored)
        if line not in stored[:place] and _parse_postcode(line) is None and line.casefold() not in _COUNTRIES
    ]
    state = stored.pop() if len(stored) > 1 and _is_county(stored[-1]) else None
    at = next((place for place in reversed(range(len(stored))) if _is_town(stored[place])), None)
    city = stored.pop(at) if at is not None else None
    return UkAddress(stored[0] if stored else None, ", ".join(stored[1:]) or None, city, state, code)


def outward_code(postcode: str) -> str | None:
    """The district of a postcode (``EH3``), shared by some thousand households."""
    code = _parse_postcode(postcode)
    return code.split(" ")[0] if code else None


def _parse_postcode(text: str) -> str | None:
    found = _POSTCODE.fullmatch(" ".join(text.upper().split()))
    return f"{found[1]} {found[2]}" if found else None


def _is_town(line: str) -> bool:
    """Whether a line may be a town: it has no number, or only that of a district (``Dublin 1``)."""
    return _TOWN.fullmatch(line) is not None and not line.casefold().startswith(_PARTS_OF_HOUSES)


def _is_county(line: str) -> bool:
    folded = line.casefold()
    return folded in _COUNTIES or folded in _TWO_WORDED or folded.startswith(("co ", "co. ", "county "))


def clean_text_without_contact_details(text: str) -> str:
    """Free text on one line, without email addresses and telephone numbers."""
    return registers_values.strip_contact_details(" ".join(text.replace("`", "'").split()))


def clean_name(text: str) -> str:
    """A name on one line; a backtick becomes an apostrophe."""
    return " ".join(text.replace("`", "'").split()) if "`" in text or "  " in text or text != text.strip() else text


def distinct_other_names(main_name: str, names: Iterable[str]) -> list[str]:
    """Other names, each once, without the first one and placeholders."""
    seen = {main_name.casefold()}
    stored = []
    for name in map(clean_name, names):
        folded = name.casefold()
        if folded not in seen and folded not in _NO_NAME and "@" not in name:
            seen.add(folded)
            stored.append(name)
    return stored


def prominence_from_income(income: int | None) -> int:
    """The prominence by income, 0 to 9."""
    return sum(income >= least for least in _INCOMES) if income else 0


def non_empty_facts(**facts: object) -> dict[str, object]:
    """Facts without empty values; False and 0 are kept."""
    return {name: value for name, value in facts.items() if value is not None and value not in ("", [], {}, ())}
