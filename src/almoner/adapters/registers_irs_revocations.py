"""Reads the list of automatic revocations (no header, ``|`` between twelve fields; public domain).

EIN | name | second line of the name | street | city | state | ZIP | country | exemption type | revocation date |
posting date | reinstatement date. A number is in it once for each time it was revoked, and stays in it when it is
reinstated: what follows from its rows is decided in ``nonprofits/standing``. The street is not read: it is often
somebody's home.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from almoner.adapters import irs
from almoner.nonprofits.registers.domain import BadRow, Entry
from almoner.nonprofits.registers.ports import SourceFile

FIELDS: Final = 12
_STREET: Final = 3
_MONTHS: Final = {name: nth for nth, name in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), 1)}
_DAY: Final = re.compile(r"([0-9]{2})-([A-Z]{3})-([0-9]{4})")
WRONG: Final = ("2020-04-01", "2020-07-14")
"""Revocation dates from the first to the second of these days are wrong, says the IRS, and mean the next."""
MEANT: Final = "2020-07-15"


class IrsRevocations:
    """The reader of ``data-download-revocation.txt``."""

    code = "irs-revocations"
    registry_code = "IRS"
    lists = False
    unverified = False
    repeats = True
    joined = False
    quiet: frozenset[str] = frozenset()
    canaries = frozenset({"000003154", "001037180", "003754390", "010275502", "570968696", "843824530"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | BadRow]:
        """The rows of each file. Raises ImportRefused when one is another list or was cut off."""
        for place, file in enumerate(files):
            for line, fields in irs.rows(file, irs.REVOCATIONS):
                made = _entry(fields)
                if isinstance(made, Entry):
                    yield made
                else:
                    yield irs.aside(line, made, _kept(fields), file=place)


def _kept(fields: list[str]) -> list[str]:
    return fields[:_STREET] + fields[_STREET + 1 :] if len(fields) == FIELDS else irs.number_alone(fields)


def _entry(fields: list[str]) -> Entry | str:
    """The entry of one row, or the sentence that says what is wrong with it."""
    if len(fields) != FIELDS:
        return f"the row has {len(fields)} fields, the list has {FIELDS}"
    ein, name, second, _, city, state, zip_code, country, subsection, revoked, posted, reinstated = (
        field.strip() for field in fields
    )
    if not irs.is_ein(ein):
        return irs.NO_EIN
    if not name:
        return "the name is empty"
    if irs.is_broken("|".join(fields)):
        return irs.BROKEN
    dates = {"REVOCATION_DATE": revoked, "POSTING_DATE": posted, "REINSTATEMENT_DATE": reinstated}
    facts: dict[str, object] = {"EXEMPTION_TYPE": subsection, "COUNTRY": country}
    for column, written in dates.items():
        if not written and column != "REVOCATION_DATE":
            continue
        day = _day(written)
        if day is None:
            return f"{column} is no day like 15-NOV-2017"
        facts[column] = day
        if column == "REVOCATION_DATE" and WRONG[0] <= day <= WRONG[1]:
            facts["REVOCATION_DATE_CORRECTED"] = MEANT
    second = irs.without_care_of(second)
    return Entry(
        number=ein,
        part=irs.ALL,
        name=irs.body_alone(name),
        other_names=(second,) if second else (),
        city=city or None,
        state=state or None,
        postcode=irs.postcode(zip_code),
        facts={column: value for column, value in facts.items() if value},
    )


@lru_cache(maxsize=8192)
def _day(written: str) -> str | None:
    found = _DAY.fullmatch(written)
    if found is None or found[2] not in _MONTHS:
        return None
    return irs.iso_day(found[3], _MONTHS[found[2]], found[1])
