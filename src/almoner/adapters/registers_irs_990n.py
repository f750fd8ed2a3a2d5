"""Reads the notices 990-N (e-Postcards) of small bodies (no header, ``|`` between 26 fields; public domain).

EIN | tax year | name | gross receipts normally not above the limit | terminated | period begin | period end | website |
officer: name and seven fields of an address | the body: seven fields of an address | three further names. What is
the officer's is never read; nor is the street of the body, which of a body so small is mostly the officer's home.

Names hold ``|`` at times. The flags and days behind the name, and the country and further names at the end, say where
the fields are; where they do not, the row is put aside.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import websites
from almoner.nonprofits.registers.domain import BadRow, Entry
from almoner.nonprofits.registers.ports import SourceFile

FIELDS: Final = 26
_NAME: Final = 2
_FLAGS: Final = 3
_BEHIND_NAME: Final = FIELDS - _FLAGS
_FLAG: Final = frozenset({"T", "F"})
_DAY: Final = re.compile(r"([0-9]{2})-([0-9]{2})-([0-9]{4})")
_COUNTRY: Final = re.compile(r"(?:[A-Z]{2})?")


class Irs990N:
    """The reader of ``data-download-epostcard.txt``."""

    code = "irs-990n"
    registry_code = "IRS"
    lists = False
    unverified = False
    repeats = True  # the layout does not promise one year for each number
    joined = False
    quiet = frozenset({"TAX_YEAR", "PERIOD_BEGIN", "PERIOD_END", "GROSS_RECEIPTS_NORMALLY_SMALL"})
    canaries: frozenset[str] = frozenset()  # no body is known to file this notice every year

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | BadRow]:
        """The rows of each file. Raises ImportRefused when one is another list or was cut off."""
        for place, file in enumerate(files):
            for line, fields in irs.rows(file, irs.NOTICES):
                made = _entry(fields)
                # Of a row that is not understood nothing but the number is certainly not an officer's.
                yield made if isinstance(made, Entry) else irs.aside(line, made, irs.number_alone(fields), file=place)


def _entry(fields: list[str]) -> Entry | str:
    """The entry of one row, or the sentence that says what is wrong with it."""
    if len(fields) < FIELDS:
        return f"the row has {len(fields)} fields, the list has {FIELDS}"
    flags = _flags_at(fields)
    if flags is None:
        return "no two flags T or F and two days like 04-01-2009 follow the name"
    if len(fields) - flags < _BEHIND_NAME:
        return "the row lacks fields behind the name"
    ein, year, name = fields[0].strip(), fields[1].strip(), "|".join(fields[_NAME:flags]).strip()
    city, _, state, zip_code, country, *further = (field.strip() for field in fields[-8:])
    if _COUNTRY.fullmatch(country) is None or (len(fields) - flags > _BEHIND_NAME and not country):
        return "the fields of the address are not in their places"
    if not irs.is_ein(ein):
        return irs.NO_EIN
    if not name:
        return "the name is empty"
    if irs.is_broken("|".join((ein, year, name, city, state, zip_code, *further))):
        return irs.BROKEN
    small, terminated, begin, end, website = (field.strip() for field in fields[flags : flags + 5])
    facts = {
        "TAX_YEAR": year,
        "GROSS_RECEIPTS_NORMALLY_SMALL": small,
        "TERMINATED": terminated,
        "PERIOD_BEGIN": _day(begin),
        "PERIOD_END": _day(end),
        "COUNTRY": country,
    }
    return Entry(
        number=ein,
        part=irs.ALL,
        name=irs.body_alone(name),
        other_names=[other for other in map(irs.without_care_of, further) if other and "@" not in other],
        websites=() if irs.is_broken(website) else websites(website),
        city=city or None,
        state=state or None,
        postcode=irs.postcode(zip_code),
        facts={column: value for column, value in facts.items() if value},
    )


def _flags_at(fields: list[str]) -> int | None:
    """Where the flags and days behind the name begin."""
    for place in range(_FLAGS, len(fields) - 3):
        if fields[place] in _FLAG and fields[place + 1] in _FLAG:
            days = fields[place + 2], fields[place + 3]
            if all(not written.strip() or _day(written.strip()) for written in days):
                return place
    return None


@lru_cache(maxsize=8192)
def _day(written: str) -> str | None:
    found = _DAY.fullmatch(written)
    return irs.iso_day(found[3], int(found[1]), found[2]) if found else None
