"""Read the list of automatic revocations (no header, ``|`` between twelve fields; public domain).

EIN | name | second line of the name | street | city | state | ZIP | country | exemption type | revocation date |
posting date | reinstatement date. A number has a row for each revocation, and keeps it after reinstatement:
``nonprofits/legal_status`` decides by its rows. The street is not read: it is often somebody's home.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import ValueReader, clean_text, format_date, parse_date
from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_FIELDS: Final = 12
_STREET: Final = 3
_OPTIONAL: Final = ("SECOND_NAME", "CITY", "STATE", "ZIP", "COUNTRY", "EXEMPTION_TYPE")
_DATES: Final = ("REVOCATION_DATE", "POSTING_DATE", "REINSTATEMENT_DATE")
_WRONG_DATES: Final = ("2020-04-01", "2020-07-14")
"""Revocation dates from the first to the second of these days are wrong, according to the IRS, and mean the next day.
"""
_CORRECTED_DATE: Final = "2020-07-15"


class IrsRevocationsReader:
    """The reader of ``data-download-revocation.txt``."""

    code = "irs-revocations"
    registry_code = "IRS"
    lists_organisations = False
    is_format_unverified = False
    has_repeated_numbers = True
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers = frozenset({"000003154", "001037180", "003754390", "010275502", "570968696", "843824530"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows of each file. Raises ImportRefused if one is another list or truncated."""
        for place, file in enumerate(files):
            reading = ValueReader(place)
            for line, fields in irs.read_rows(file, irs.REVOCATIONS):
                result = _entry(fields, reading)
                if isinstance(result, RegisterEntry):
                    yield result
                    yield from reading.pop_unreadable_values(line)
                    continue
                reading.discard_unreadable_values()
                name = clean_text(fields[1]) if len(fields) == _FIELDS else ""
                yield irs.build_rejected_row(
                    line,
                    result,
                    _without_street(fields),
                    file_index=place,
                    entered_ein=clean_text(fields[0]),
                    organisation_name=name,
                )


def _without_street(fields: list[str]) -> list[str]:
    return (
        fields[:_STREET] + fields[_STREET + 1 :]
        if len(fields) == _FIELDS
        else irs.find_leading_numbers_of_malformed_row(fields)
    )


def _entry(fields: list[str], reading: ValueReader) -> RegisterEntry | str:
    """The entry of one row, or the sentence that states its problem."""
    if len(fields) != _FIELDS:
        return f"the row has {len(fields)} fields, the list has {_FIELDS}"
    ein, name = map(clean_text, fields[:2])
    if wrong := irs.find_row_problem(ein, name):
        return wrong
    optional = (*fields[2:_STREET], *fields[_STREET + 1 : -len(_DATES)])
    texts = reading.clean_texts_in_place(dict(zip(_OPTIONAL, optional, strict=True)))
    second, city, state, zip_code, country, subsection = texts.values()
    dates = dict(zip(_DATES, map(clean_text, fields[-len(_DATES) :]), strict=True))
    facts: dict[str, object] = {"EXEMPTION_TYPE": subsection, "COUNTRY": country}
    for column, written in dates.items():
        if not written and column != "REVOCATION_DATE":
            continue
        day = format_date(parse_date(written))
        if day is None and column == "POSTING_DATE":
            reading.report_unreadable_value(column, written)
            continue
        if day is None:  # the other two dates decide whether it is revoked
            return f"{column} is not a date like 15-NOV-2017"
        facts[column] = day
        if column == "REVOCATION_DATE" and _WRONG_DATES[0] <= day <= _WRONG_DATES[1]:
            facts["REVOCATION_DATE_CORRECTED"] = _CORRECTED_DATE
    second = irs.strip_care_of_line(second)
    return RegisterEntry(
        number=ein,
        part=irs.WHOLE_PART,
        name=irs.strip_care_of_suffix(name),
        other_names=(second,) if second else (),
        city=city or None,
        state=state or None,
        postcode=irs.format_zip_code(zip_code),
        facts={column: value for column, value in facts.items() if value},
    )
