"""Reads the list of automatic revocations (no header, ``|`` between twelve fields; public domain).

EIN | name | second line of the name | street | city | state | ZIP | country | exemption type | revocation date |
posting date | reinstatement date. A number is in it once for each time it was revoked, and stays in it when it is
reinstated: what follows from its rows is decided in ``nonprofits/standing``. The street is not read: it is often
somebody's home.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import Reading, any_day, tidied, written_day
from almoner.nonprofits.registers.domain import Entry
from almoner.nonprofits.registers.ports import Row, SourceFile

FIELDS: Final = 12
_STREET: Final = 3
_OPTIONAL: Final = ("SECOND_NAME", "CITY", "STATE", "ZIP", "COUNTRY", "EXEMPTION_TYPE")
_DATES: Final = ("REVOCATION_DATE", "POSTING_DATE", "REINSTATEMENT_DATE")
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
    ignored_columns: frozenset[str] = frozenset()
    canaries = frozenset({"000003154", "001037180", "003754390", "010275502", "570968696", "843824530"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The rows of each file. Raises ImportRefused when one is another list or was cut off."""
        for place, file in enumerate(files):
            reading = Reading(place)
            for line, fields in irs.rows(file, irs.REVOCATIONS):
                made = _entry(fields, reading)
                if isinstance(made, Entry):
                    yield made
                    yield from reading.unread(line)
                    continue
                reading.forget()
                name = tidied(fields[1]) if len(fields) == FIELDS else ""
                yield irs.aside(line, made, _kept(fields), file=place, number=tidied(fields[0]), name=name)


def _kept(fields: list[str]) -> list[str]:
    return fields[:_STREET] + fields[_STREET + 1 :] if len(fields) == FIELDS else irs.number_alone(fields)


def _entry(fields: list[str], reading: Reading) -> Entry | str:
    """The entry of one row, or the sentence that says what is wrong with it."""
    if len(fields) != FIELDS:
        return f"the row has {len(fields)} fields, the list has {FIELDS}"
    ein, name = map(tidied, fields[:2])
    if wrong := irs.wrong_with(ein, name):
        return wrong
    optional = (*fields[2:_STREET], *fields[_STREET + 1 : -len(_DATES)])
    texts = reading.texts(dict(zip(_OPTIONAL, optional, strict=True)))
    second, city, state, zip_code, country, subsection = texts.values()
    dates = dict(zip(_DATES, map(tidied, fields[-len(_DATES) :]), strict=True))
    facts: dict[str, object] = {"EXEMPTION_TYPE": subsection, "COUNTRY": country}
    for column, written in dates.items():
        if not written and column != "REVOCATION_DATE":
            continue
        day = written_day(any_day(written))
        if day is None and column == "POSTING_DATE":
            reading.lose(column, written)
            continue
        if day is None:  # whether it is revoked rests on the other two
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
