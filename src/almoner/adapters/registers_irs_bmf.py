"""Read the IRS Exempt Organizations Business Master File (28 columns, looked up by name; public domain).

Its codes are mapped here and documented in ``docs/guides/registers.md``. The column ICO ("in care of", mostly a private
person) is never read, and is removed from a row in quarantine; so are "in care of" persons in NAME, STREET and
SORT_NAME.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from operator import itemgetter
from typing import Any, Final, NamedTuple

from almoner.adapters import irs
from almoner.adapters.registers_values import ValueReader, clean_text
from almoner.kit.title_case import join_name_lines
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.nonprofits.registries import domain as registries_domain

COLUMNS: Final = (
    "EIN NAME STREET CITY STATE ZIP GROUP SUBSECTION AFFILIATION CLASSIFICATION RULING DEDUCTIBILITY FOUNDATION "
    "ACTIVITY ORGANIZATION STATUS TAX_PERIOD ASSET_CD INCOME_CD FILING_REQ_CD PF_FILING_REQ_CD ACCT_PD ASSET_AMT "
    "INCOME_AMT REVENUE_AMT NTEE_CD SORT_NAME"
).split()
"""Every column but the personal one, ICO; each is a fact with the column's name."""
_AMOUNTS: Final = ("ASSET_AMT", "INCOME_AMT", "REVENUE_AMT")
"""Whole dollars, which may be negative."""
_CAN_LACK: Final = frozenset({*_AMOUNTS, *"ACTIVITY ORGANIZATION TAX_PERIOD ASSET_CD PF_FILING_REQ_CD ACCT_PD".split()})
NEEDED: Final = tuple(column for column in COLUMNS if column not in _CAN_LACK)
"""The columns that records and decisions depend on: a file without one of them is refused."""
_LONGEST_AMOUNT: Final = 19
_CODES: Final = (("DEDUCTIBILITY", 1), ("AFFILIATION", 1), ("GROUP", 4), ("INCOME_CD", 1))
_NOTHING: Final = frozenset("- -- . ? N/A n/a NULL null None none NaN nan #N/A".split())
_WITH_PERSONS: Final = (("STREET", irs.strip_care_of_line), ("SORT_NAME", irs.clean_second_name_line))
_PROMINENCE: Final[Mapping[str | None, int]] = {str(code): code for code in range(10)}
"""INCOME_CD, the size of an organisation: it orders those whose names match equally well."""

_CHARITABLE: Final = frozenset({"03", "50", "60", "70", "71", "92"})
"""501(c)(3), (e) hospital services, (f) school investments, (k) child care, (n) risk pools, 4947(a)(1) trusts."""
_SOCIAL_WELFARE: Final = "04"
_DEDUCTIBLE: Final = "1"
_SCHOOLS: Final = frozenset({"11", "13"})
CENTRAL: Final = frozenset({"6", "8"})
_SUBORDINATE: Final = "9"
IRS: Final = "IRS"


class IrsBmfReader:
    """The reader of ``eo1.csv`` .. ``eo4.csv`` and of the files of one state each."""

    code = "irs-bmf"
    registry_code = IRS
    lists_organisations = True
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns = frozenset(
        """
        TAX_PERIOD ASSET_AMT INCOME_AMT REVENUE_AMT ASSET_CD INCOME_CD FILING_REQ_CD PF_FILING_REQ_CD ACCT_PD ACTIVITY
        """.split()
    )
    canary_numbers = frozenset({"135562976", "200049703", "363673599", "530196605", "942278431"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows of each file. Raises ImportRefused if a required column is missing or a file is truncated."""
        for place, file in enumerate(files):
            yield from _read_rows(file, place)


class _ColumnLayout(NamedTuple):
    """The positions of the columns of a file."""

    width: int
    columns: tuple[str, ...]
    pick: Callable[[list[str]], tuple[str, ...]]
    ein: int


def _read_header(file: SourceFile, line: str) -> _ColumnLayout:
    header = [name.strip().strip('"').upper() for name in line.split(",")]
    if missing := [column for column in NEEDED if column not in header]:
        why = (
            f"it has no column {', '.join(missing)}" if len(missing) < len(NEEDED) else irs.explain_unknown_format(line)
        )
        raise ImportRefused(f"{file.name} is not an IRS business master file, or its format has changed: {why}")
    columns = tuple(column for column in COLUMNS if column in header)
    return _ColumnLayout(len(header), columns, itemgetter(*map(header.index, columns)), header.index("EIN"))


def _read_rows(file: SourceFile, place: int) -> Iterator[SourceRow]:
    lines = file.lines(irs.ENCODING)
    width, columns, pick, ein = _read_header(file, next(lines, ""))
    reading = ValueReader(place)
    nth = 1
    for nth, line in enumerate(lines, start=2):
        fields = _fields(line)
        if len(fields) == width:
            values = pick(fields)
            facts = dict(compress(zip(columns, values, strict=True), values))
            if not line.isascii() or _has_control_characters(line) or not _NOTHING.isdisjoint(values):
                facts = {column: text for column, text in reading.clean_texts_in_place(facts).items() if text}
            result = _entry(facts, reading)
            if isinstance(result, RegisterEntry):
                yield result
                yield from reading.pop_unreadable_values(nth)
            else:
                reading.discard_unreadable_values()
                stated = facts.get
                yield irs.build_rejected_row(
                    nth,
                    result,
                    values,
                    file_index=place,
                    entered_ein=stated("EIN", ""),
                    organisation_name=stated("NAME", ""),
                )
        elif line.endswith(("\n", "\r")):
            if not line.isspace():
                reason = f"the row has {len(fields)} fields, the header has {width}"
                number = clean_text(fields[ein]) if len(fields) > ein else ""
                yield irs.build_rejected_row(
                    nth, reason, irs.find_leading_numbers_of_malformed_row(fields), file_index=place, entered_ein=number
                )
        else:
            raise ImportRefused(f"{file.name} ends in the middle of line {nth}: it was cut off, download it again")
    if nth == 1:
        raise ImportRefused(f"{file.name} has a header but no rows: download it again")


def _has_control_characters(line: str) -> bool:
    """Whether a line contains control characters or HTML entities."""
    return not line.rstrip("\r\n").isprintable() or ("&" in line and ";" in line)


def _fields(line: str) -> list[str]:
    """The fields of one line, without blanks around them; no row of this file spans several lines."""
    if '"' in line:
        try:
            return [field.strip() for field in next(csv.reader([line.rstrip("\r\n")], strict=True))]
        except csv.Error:
            return []  # a quote that is never closed: the field positions are unsure
    if " ," in line or ", " in line:
        return [field.strip() for field in line.split(",")]
    return line.rstrip().split(",")


def _entry(facts: dict[str, Any], reading: ValueReader) -> RegisterEntry | str:
    """The entry of a row, or its problem; ``facts`` are the non-empty columns."""
    stated = facts.get
    number = stated("EIN", "")
    if not irs.is_ein(number):
        return irs.EIN_PROBLEM
    if "NAME" not in facts:
        return "NAME is empty or damaged"
    if wrong := _code_problem(facts):
        return wrong
    _clean_facts(facts, reading)
    name, state = facts["NAME"], stated("STATE")
    group, affiliation = stated("GROUP", ""), stated("AFFILIATION")
    grouped = group if group.strip("0") else None
    city, second = stated("CITY"), stated("SORT_NAME")
    return RegisterEntry(
        number=number,
        part=state if state in registries_domain.REQUIRED_PARTS[IRS] else registries_domain.ABROAD_PART,
        name=name,
        display_name=join_name_lines(name, second),
        secondary_name=second,
        types=organisation_types(stated("SUBSECTION", ""), stated("DEDUCTIBILITY", ""), stated("FOUNDATION", "")),
        address_line_1=stated("STREET"),
        address_line_2=None if state else city,  # outside the US, CITY holds the country's name
        city=city if state else None,
        state=state,
        postcode=irs.format_zip_code(stated("ZIP", "")),
        registration_date=_ruling_month(facts, reading),
        group_key=grouped,
        is_branch_parent=grouped is not None and affiliation in CENTRAL,
        usa_group_exempt=grouped is not None and affiliation == _SUBORDINATE,
        prominence=_PROMINENCE.get(stated("INCOME_CD"), 0),
        facts=facts,
    )


def _code_problem(facts: Mapping[str, str]) -> str | None:
    """The problem of a row with an invalid state, subsection or deductibility code; None if it has none."""
    if (state := facts.get("STATE")) and not (len(state) == 2 and state.isalpha()):
        return "STATE is not a code of two letters"
    if (subsection := facts.get("SUBSECTION")) and not (len(subsection) == 2 and subsection.isdigit()):
        return "SUBSECTION is not a code of two digits"
    if subsection not in _CHARITABLE and len(facts.get("DEDUCTIBILITY", "")) > 1:
        return "DEDUCTIBILITY is not a code of one digit"
    return None


def _clean_facts(facts: dict[str, Any], reading: ValueReader) -> None:
    """Convert the amounts to numbers; omit invalid codes, and persons in the lines that have them."""
    for column in _AMOUNTS:
        if column in facts:
            amount: str = facts[column]
            if amount.isascii() and amount.removeprefix("-").isdigit() and len(amount) < _LONGEST_AMOUNT:
                facts[column] = int(amount)
            elif (read := reading.read_whole_amount(column, amount)) is None:
                del facts[column]
            else:
                facts[column] = read
    for column, length in _CODES:
        if column in facts and not (len(facts[column]) == length and facts[column].isdigit()):
            reading.report_unreadable_value(column, facts.pop(column))
    facts["NAME"] = irs.strip_care_of_suffix(facts["NAME"])
    for column, without_persons in _WITH_PERSONS:
        if column in facts and not (stored := without_persons(facts[column])):
            del facts[column]
        elif column in facts:
            facts[column] = stored


def _ruling_month(facts: dict[str, Any], reading: ValueReader) -> datetime | None:
    """The month of the ruling; None for zeros, which mean unknown."""
    ruling = facts.get("RULING", "")
    found = _first_of_month(ruling)
    if found is None and ruling.strip("0"):
        reading.report_unreadable_value("RULING", facts.pop("RULING"))
    return found


@lru_cache(maxsize=4096)
def organisation_types(subsection: str, deductibility: str, foundation: str) -> tuple[str, ...]:
    """The types that follow from the IRS codes.

    ``nonprofit`` for charities and for organisations to which gifts are deductible, plus ``education`` for schools
    among them; ``social_impact`` for other social welfare organisations; unions, business leagues, clubs and the rest
    have no type.
    """
    if subsection in _CHARITABLE or deductibility == _DEDUCTIBLE:
        return ("nonprofit", "education") if foundation in _SCHOOLS and subsection == "03" else ("nonprofit",)
    return ("social_impact",) if subsection == _SOCIAL_WELFARE else ()


@lru_cache(maxsize=4096)
def _first_of_month(ruling: str) -> datetime | None:
    """Parse RULING, which is YYYYMM; 000000 if it is unknown."""
    if not (len(ruling) == 6 and ruling.isascii() and ruling.isdigit()):
        return None
    year, month = int(ruling[:4]), int(ruling[4:])
    return datetime(year, month, 1, tzinfo=UTC) if year >= 1800 and 1 <= month <= 12 else None
