"""Read the notices 990-N (e-Postcards) of small organisations (no header, ``|`` between 26 fields; public domain).

EIN | tax year | name | gross receipts normally not above the limit | terminated | period begin | period end | website |
officer: name and seven fields of an address | the organisation: seven fields of an address | three further names. The
officer's fields are never read, nor is the organisation's street, which is mostly the officer's home.

Names sometimes contain ``|``. The flags and dates after the name, and the country and further names at the end, show
where the fields are; if they do not, the row is rejected.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import ValueReader, clean_text, format_date, parse_websites
from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_FIELDS: Final = 26
_NAME: Final = 2
_FLAGS: Final = 3
_BEHIND_NAME: Final = _FIELDS - _FLAGS
_FLAG: Final = frozenset({"T", "F"})
_DAY: Final = re.compile(r"([0-9]{2})-([0-9]{2})-([0-9]{4})")
_COUNTRY: Final = re.compile(r"(?:[A-Z]{2})?")
_ZIP: Final = re.compile(r"[0-9-]*", re.ASCII)
_YEAR: Final = re.compile(r"[0-9]{4}", re.ASCII)
_OPTIONAL: Final = ("CITY", "STATE", "ZIP", "COUNTRY", "NAME_2", "NAME_3", "NAME_4")


class Irs990NReader:
    """The reader of ``data-download-epostcard.txt``."""

    code = "irs-990n"
    registry_code = "IRS"
    lists_organisations = False
    is_format_unverified = False
    has_repeated_numbers = True  # a number may have rows for several years
    reads_files_together = False
    ignored_columns = frozenset({"TAX_YEAR", "PERIOD_BEGIN", "PERIOD_END", "GROSS_RECEIPTS_NORMALLY_SMALL"})
    canary_numbers: frozenset[str] = frozenset()  # no organisation is known to file this notice every year

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """The rows of each file. Raises ImportRefused if a file is another list or is truncated."""
        for place, file in enumerate(files):
            reading = ValueReader(place)
            for line, fields in irs.read_rows(file, irs.NOTICES):
                result = _entry(fields, reading)
                if isinstance(result, RegisterEntry):
                    yield result
                    yield from reading.pop_unreadable_values(line)
                    continue
                reading.discard_unreadable_values()
                # If a row cannot be parsed, only its number is certainly not an officer's.
                name = clean_text(fields[_NAME]) if len(fields) == _FIELDS else ""
                number = clean_text(fields[0])
                yield irs.build_rejected_row(
                    line,
                    result,
                    irs.find_leading_numbers_of_malformed_row(fields),
                    file_index=place,
                    entered_ein=number,
                    organisation_name=name,
                )


def _entry(fields: list[str], reading: ValueReader) -> RegisterEntry | str:
    """The entry of one row, or the sentence that states its problem."""
    if len(fields) < _FIELDS:
        return f"the row has {len(fields)} fields, the list has {_FIELDS}"
    flags = _find_flags(fields)
    if flags is None:
        return "no two flags T or F and two days like 04-01-2009 follow the name"
    if len(fields) - flags < _BEHIND_NAME:
        return "the row lacks fields behind the name"
    ein, year, name = clean_text(fields[0]), clean_text(fields[1]), clean_text("|".join(fields[_NAME:flags]))
    if wrong := irs.find_row_problem(ein, name):
        return wrong
    if not _YEAR.fullmatch(year):  # the newest year counts
        return "the tax year is no year"
    small, terminated, begin, end, website = map(clean_text, fields[flags : flags + 5])
    if terminated not in _FLAG:
        return "whether it is terminated is neither T nor F"
    columns = dict(zip(_OPTIONAL, (*fields[-8:-7], *fields[-6:]), strict=True))
    if not _has_fields_in_place(columns, further=len(fields) - flags > _BEHIND_NAME, exact=len(fields) == _FIELDS):
        return "the fields of the address are not in their places"
    city, state, zip_code, country, *further = reading.clean_texts_in_place(columns).values()
    if not _COUNTRY.fullmatch(country):
        reading.report_unreadable_value("COUNTRY", country)
        country = ""
    if small and small not in _FLAG:
        reading.report_unreadable_value("GROSS_RECEIPTS_NORMALLY_SMALL", small)
        small = ""
    facts = {
        "TAX_YEAR": year,
        "GROSS_RECEIPTS_NORMALLY_SMALL": small,
        "TERMINATED": terminated,
        "PERIOD_BEGIN": _read_day("PERIOD_BEGIN", begin, reading),
        "PERIOD_END": _read_day("PERIOD_END", end, reading),
        "COUNTRY": country,
    }
    return RegisterEntry(
        number=ein,
        part=irs.WHOLE_PART,
        name=irs.strip_care_of_suffix(name),
        other_names=[other for other in map(irs.strip_care_of_line, further) if other and "@" not in other],
        websites=() if irs.has_invalid_characters(website) else parse_websites(website),
        city=city or None,
        state=state or None,
        postcode=irs.format_zip_code(zip_code),
        facts={column: value for column, value in facts.items() if value},
    )


def _has_fields_in_place(columns: dict[str, str], *, further: bool, exact: bool) -> bool:
    """Whether the country, or else the ZIP code, confirms the positions of the address fields."""
    zip_code, country = clean_text(columns["ZIP"]), clean_text(columns["COUNTRY"])
    if not _COUNTRY.fullmatch(country):
        return exact and _ZIP.fullmatch(zip_code) is not None
    return bool(country) or not further


def _find_flags(fields: list[str]) -> int | None:
    """The position of the flags and dates after the name; in a row of the right length, one of them may be wrong."""
    if len(fields) == _FIELDS:
        reported = [clean_text(field) for field in fields[_FLAGS : _FLAGS + 4]]
        right = [
            *(flag in _FLAG for flag in reported[:2]),
            *(not day or _iso_date(day) is not None for day in reported[2:]),
        ]
        return _FLAGS if sum(right) >= len(right) - 1 else None
    for place in range(_FLAGS, len(fields) - 3):
        if fields[place] in _FLAG and fields[place + 1] in _FLAG:
            days = fields[place + 2], fields[place + 3]
            if all(not written.strip() or _iso_date(written.strip()) for written in days):
                return place
    return None


def _read_day(column: str, text: str, reading: ValueReader) -> str | None:
    return _iso_date(text) or format_date(reading.read_date(column, text))


@lru_cache(maxsize=8192)
def _iso_date(written: str) -> str | None:
    found = _DAY.fullmatch(written)
    return irs.format_iso_date(found[3], int(found[1]), found[2]) if found else None
