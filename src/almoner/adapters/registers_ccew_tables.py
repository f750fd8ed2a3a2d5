"""Read the tables of the Charity Commission's extract, as text or JSON, row by row.

The text form has tabs, no quotes, backslash as its escape character and CRLF. Some rows are broken in two at the end of
a field: the next line then starts with the tab. The JSON form is one large array with the same columns.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple
from zipfile import BadZipFile

from almoner.adapters import registers_json
from almoner.adapters.registers_values import clean_text
from almoner.nonprofits.registers.domain import ImportRefused, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile
from almoner.nonprofits.registries.domain import parse_number_key

_NAMED: Final = re.compile(r"(?:^|[^a-z_])(charity(?:_[a-z]+)*)\.(?:txt|json)(?:\.|$)", re.IGNORECASE)
_DAMAGED: Final = (BadZipFile, EOFError, OSError, zlib.error)
_LONGEST_RECORD: Final = 500_000
_SLASH, _TAB = "\ue000", "\ue001"  # placeholders for escaped ones while a row is split
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,8}", re.ASCII)


NUMBER: Final = "registered_charity_number"
LINKED: Final = "linked_charity_number"
_CHARITY_NUMBER: Final = re.compile(r"[0-9]{6,7}", re.ASCII)
_LINKED: Final = re.compile(r"[0-9]{1,5}", re.ASCII)


class ExtractRow(NamedTuple):
    """One row: the line where it starts (in JSON: its index) and the table's columns in order."""

    line_number: int
    column_values: list[str]


class ExtractTable(NamedTuple):
    """A table that is read. ``unknown_without_table``: empty if the table is required."""

    name: str
    columns: tuple[str, ...]
    unknown_without_table: str = ""


def _table(name: str, columns: str, missing: str = "") -> ExtractTable:
    return ExtractTable(name, tuple(columns.split()), missing)


CHARITY: Final = _table(
    "charity",
    # without charity_contact_phone and charity_contact_email
    """
    organisation_number registered_charity_number linked_charity_number charity_name charity_type
    charity_registration_status date_of_registration date_of_removal charity_reporting_status
    latest_acc_fin_period_start_date latest_acc_fin_period_end_date latest_income latest_expenditure
    charity_contact_address1 charity_contact_address2 charity_contact_address3 charity_contact_address4
    charity_contact_address5 charity_contact_postcode charity_contact_web charity_company_registration_number
    charity_insolvent charity_in_administration charity_previously_excepted charity_is_cdf_or_cif charity_is_cio
    cio_is_dissolved date_cio_dissolution_notice charity_activities charity_gift_aid charity_has_land
    """,
)
EXTRACT: Final = _table("charity", "date_of_extract")
"""The column of the charity table with the extract's date."""
NAMES: Final = _table(
    "charity_other_names", "organisation_number charity_name_type charity_name", "working and previous names"
)
CLASSES: Final = _table(
    "charity_classification", "organisation_number classification_code", "classification, and with it activity tags"
)
AREAS: Final = _table(
    "charity_area_of_operation",
    "organisation_number geographic_area_type geographic_area_description welsh_ind",
    "areas of operation",
)
DOCUMENT: Final = _table(
    "charity_governing_document",
    "organisation_number governing_document_description charitable_objects area_of_benefit",
    "governing document and objects",
)
EVENTS: Final = _table(
    "charity_event_history",
    "organisation_number event_type date_of_event reason assoc_organisation_number assoc_registered_charity_number",
    "reasons of removal, mergers and earlier registrations",
)
REGULATORS: Final = _table(
    "charity_other_regulators", "organisation_number regulator_name regulator_web_url", "other regulators"
)
REPORTS: Final = _table(
    "charity_published_report", "organisation_number report_name date_published", "the Commission's reports on it"
)
RETURNS: Final = _table(
    "charity_annual_return_history",
    """
    organisation_number ar_cycle_reference fin_period_end_date reporting_due_date date_annual_return_received
    total_gross_income total_gross_expenditure accounts_qualified
    """,
    "annual returns",
)
PART_A: Final = _table(
    "charity_annual_return_parta",
    """
    organisation_number latest_fin_period_submitted_ind fin_period_end_date charity_raises_funds_from_public
    charity_professional_fundraiser grant_making_is_main_activity income_from_government_contracts
    income_from_government_grants charity_has_trading_subsidiary employees_salary_over_60k count_volunteers
    """,
    "volunteers, ways of raising funds",
)
PART_B: Final = _table(
    "charity_annual_return_partb",
    """
    organisation_number latest_fin_period_submitted_ind fin_period_end_date income_donations_and_legacies
    income_charitable_activities income_other_trading_activities income_investments income_other
    expenditure_raising_funds expenditure_charitable_expenditure expenditure_grants_institution expenditure_governance
    expenditure_other reserves funds_endowment funds_restricted funds_unrestricted funds_total count_employees
    """,
    "accounts in detail",
)
TABLES: Final[Mapping[str, ExtractTable]] = {
    table.name: table
    for table in (
        CHARITY, NAMES, CLASSES, AREAS, DOCUMENT, EVENTS, REGULATORS, REPORTS, RETURNS, PART_A, PART_B,
    )
}  # fmt: skip
_SKIPPED_TABLES: Final = frozenset({"charity_trustee", "charity_policy"})
"""Trustees are persons; the extract has only the names of policies."""


def map_tables_to_file_indexes(files: Sequence[SourceFile]) -> dict[str, int]:
    """Find the file of each table by the publisher's names. Raises ImportRefused."""
    places: dict[str, int] = {}
    for place, file in enumerate(files):
        named = _NAMED.search(file.name)
        name = named[1].lower() if named else ""
        if name in _SKIPPED_TABLES:
            continue
        if name not in TABLES:
            raise ImportRefused(
                f"{file.name} is not a table of the extract: keep the publisher's names (publicextract.charity.zip)"
            )
        if name in places:
            raise ImportRefused(f"the table {name} is there twice, as {files[places[name]].name} and {file.name}")
        places[name] = place
    if CHARITY.name not in places:
        raise ImportRefused("the table 'charity' is not among the files: nothing can be read without it")
    return places


def read_rows(table: ExtractTable, file: SourceFile, file_index: int) -> Iterator[ExtractRow | RejectedRow]:
    """Read the rows of one table. Raises ImportRefused if a column is missing, or the file is damaged."""
    try:
        if ".json" in file.name.lower():
            yield from _json_rows(table, file, file_index)
        else:
            yield from _text_rows(table, file, file_index)
    except _DAMAGED as error:
        raise ImportRefused(f"{file.name} is cut off or damaged ({error}): download it again") from error


def _text_rows(table: ExtractTable, file: SourceFile, place: int) -> Iterator[ExtractRow | RejectedRow]:
    found = _records(iter(file.lines("utf-8-sig")))
    _, first = next(found, (1, ""))
    if first.lstrip()[:1] in ("[", "{"):
        raise ImportRefused(f"{file.name} contains JSON: its name must end in .json")
    header = [name.strip().lower() for name in first.split("\t")]
    _check_columns(table, file, header)
    places = [header.index(name) for name in table.columns]
    width = len(header)
    for line, record in found:
        values = _fields(record, width)
        if len(values) != width:
            reason = f"the row has {len(values)} fields, the header has {width}"
            yield RejectedRow(
                line,
                reason,
                _safe_content(record),
                place,
                _key(table, header, record),
                lists_organisation=table is CHARITY,
            )
        else:
            yield ExtractRow(line, [values[column] for column in places])


def _records(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """(number of its first line, row); rows that were broken in two are joined.

    A row ends like the header does: with CRLF, or with LF if somebody has converted the file. Other line ends are part
    of a text, and become a blank.
    """
    first = next(lines, "")
    end = "\r\n" if first.endswith("\r\n") else "\n"
    started, pieces, length = 1, [first], 0
    for number, line in enumerate(lines, 2):
        whole = pieces[-1].endswith(end)
        if (line.startswith("\t") or not whole) and length < _LONGEST_RECORD:
            pieces[-1] = pieces[-1].rstrip("\r\n") + ("" if whole else " ")
            pieces.append(line)
            length += len(line)
            continue
        yield started, "".join(pieces).rstrip("\r\n")
        started, pieces, length = number, [line], len(line)
    yield started, "".join(pieces).rstrip("\r\n")


def _fields(record: str, width: int) -> list[str]:
    plain = record.split("\t")
    if "\\" not in record:
        return plain
    held = record.replace("\\\\", _SLASH).replace("\\\t", _TAB)
    values = [value.replace("\\", "").replace(_TAB, " ").replace(_SLASH, "\\") for value in held.split("\t")]
    # A backslash at the end of a text escapes no tab: the number of fields shows that.
    return plain if len(values) != width and len(plain) == width else values


def _check_columns(table: ExtractTable, file: SourceFile, header: Sequence[str]) -> None:
    if missing := [name for name in table.columns if name not in header]:
        raise ImportRefused(
            f"{file.name} has no column {', '.join(missing)}: it is not the table {table.name} of the Charity "
            "Commission's extract, or its format has changed"
        )


def _safe_content(record: str) -> str:
    """The content of an unparsable row that may be stored: its charity number, if it starts like every row."""
    start = record[:80].split("\t")
    if len(start) > 2 and _DAY.match(start[0]) and _NUMBER.fullmatch(start[1]):
        return f"organisation_number {start[1]}"
    return ""


def _key(table: ExtractTable, header: Sequence[str], record: str) -> str | None:
    """The charity number of a row with too few or too many fields: it is among the first fields."""
    fields = dict(zip(header, record.split("\t"), strict=False))
    return parse_charity_number(fields.get(NUMBER, ""), fields.get(LINKED, "")) if table is CHARITY else None


def parse_charity_number(number: str, linked_number: str) -> str | None:
    """The key of a charity: linked charities share the main one's number, and have a further number of their own."""
    number, linked_number = clean_text(number), clean_text(linked_number)
    if not _CHARITY_NUMBER.fullmatch(number) or not _LINKED.fullmatch(linked_number):
        return None
    return parse_number_key("CCEW", f"{number}-{int(linked_number)}" if int(linked_number) else number) or number


def _json_rows(table: ExtractTable, file: SourceFile, place: int) -> Iterator[ExtractRow | RejectedRow]:
    seen = False
    for number, item in enumerate(registers_json.read_array_items(file.open_binary()), 1):
        if item is None:
            yield RejectedRow(number, "the item is no object", "", place, lists_organisation=table is CHARITY)
            continue
        if not seen:
            _check_columns(table, file, list(item))
            seen = True
        values = [_text(item.get(name)) for name in table.columns]
        yield ExtractRow(number, values)


def _text(value: object) -> str:
    """A JSON value as the text form writes it."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() and abs(value.adjusted()) < 20 else ""
    text = value if isinstance(value, str) else str(value)
    return " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
