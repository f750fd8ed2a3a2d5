"""Read the export of the Charity Commission for Northern Ireland (OGL v3; Windows-1252, or UTF-8 line by line).

The columns Email and Telephone are never read; an email address given as the website is dropped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from almoner.adapters import registers_uk
from almoner.adapters.registers_tables import DelimitedTable
from almoner.adapters.registers_values import ValueReader, format_date, parse_websites
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers.domain import RegisterEntry, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.nonprofits.registries.domain import parse_number_key

_REGISTRY: Final = "CCNI"
_WHOLE_PART: Final = "all"
NEEDED: Final = (
    "Reg charity number", "Charity name", "Date registered", "Status", "Date for financial year ending", "Total income",
    "Total spending", "Public address", "Website", "Company number", "What the charity does", "Who the charity helps",
    "How the charity works", "Charitable purposes", "Other name", "Type of governing document",
)  # fmt: skip
_SUB: Final = "Sub charity number"
"""In older exports: rows with it describe a part of a charity that has no number of its own."""
_YEAR_END: Final = "Date for financial year ending"
_FINANCE: Final = (
    "Financial period start", "Financial period end", "Employed staff", "UK and Ireland volunteers",
    "Income from donations and legacies", "Income from charitable activities", "Income from other trading activities",
    "Income from investments", "Income from other", "Total income and endowments", "Expenditure on Raising funds",
    "Expenditure on Charitable activities", "Expenditure on Governance", "Expenditure on Other", "Total expenditure",
    "Assets and liabilities - Total fixed assets", "Total net assets and liabilities",
)  # fmt: skip
_NUMBER: Final = re.compile(r"^(?:NIC)?[0-9]{6}(?=,)", re.ASCII)
_BETWEEN_ITEMS: Final = re.compile(r",(?! )")
"""The separator of items: a comma without a blank after it; commas within items have one."""
_DAYS: Final = re.compile(r"([0-9]{1,5}) days?", re.ASCII)
_COMPANY: Final = re.compile(r"[0-9]{1,6}", re.ASCII)
_NO_COMPANY: Final = frozenset(("", "0", "999999"))
_NO_LONGER: Final = "charity no longer operates"
_GONE: Final = ("remov", "dereg", "de-reg", "cancel", "ceas", "struck", "dissol")


class CcniReader:
    """The reader of ``charitydetails.csv``."""

    code = "ccni"
    registry_code = _REGISTRY
    lists_organisations = True
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns = frozenset({"reporting_days", "income", "expenditure", "financial_year_end", "finance"})
    canary_numbers = frozenset({"100002", "100004", "100012", "100016"})
    """Cancer Lifeline, Disability Action, the council for voluntary action (NICVA), and one more of the first."""

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """The charities, registered and removed."""
        for place, file in enumerate(files):
            yield from _read_rows(DelimitedTable(file, number=_NUMBER, place=place), place)


def _read_rows(table: DelimitedTable, place: int) -> Iterator[SourceRow]:
    columns = dict(zip(NEEDED, table.get_column_indexes(*NEEDED), strict=True))
    columns |= {name: at for name in (*_FINANCE, _SUB) if (at := table.find_column_index(name)) is not None}
    table.set_key_column(columns["Reg charity number"], partial(parse_number_key, _REGISTRY))
    reading = ValueReader(place)
    for row in table:
        if isinstance(row, RejectedRow):
            yield row
            continue
        reported = reading.clean_texts_in_place({name: row.fields[at] for name, at in columns.items()})
        if reading.read_whole_amount(_SUB, reported.get(_SUB, "")):
            yield RowWithoutNumber(row.line_number, place)
            continue
        key = parse_number_key(_REGISTRY, reported["Reg charity number"])
        if key is None:
            reading.discard_unreadable_values()
            name = registers_uk.clean_name(reported["Charity name"])
            yield RejectedRow(
                row.line_number, "Reg charity number has not six digits", "", place, organisation_name=name
            )
            continue
        try:
            yield _entry(key, reported, reading)
        except ValueError as error:
            reading.discard_unreadable_values()
            yield RejectedRow(row.line_number, str(error), key, place, key)
        yield from reading.pop_unreadable_values(row.line_number)


def _entry(key: str, reported: Mapping[str, str], reading: ValueReader) -> RegisterEntry:
    name = registers_uk.clean_name(reported["Charity name"])
    if not name:
        raise ValueError("Charity name is empty or damaged")
    status, days = _status(reported["Status"])
    income, spent = (
        reading.read_whole_amount(column, reported[column]) for column in ("Total income", "Total spending")
    )
    pieces = [] if _NO_LONGER in reported["Public address"].lower() else reported["Public address"].split(",")
    place = registers_uk.parse_address(pieces)
    return RegisterEntry(
        number=key,
        part=_WHOLE_PART,
        name=name,
        display_name=to_title_case(name),
        other_names=registers_uk.distinct_other_names(name, [reported["Other name"]]),
        description=registers_uk.clean_text_without_contact_details(reported["Charitable purposes"]),
        types=["nonprofit"],
        active=not status.lower().startswith(_GONE),
        websites=parse_websites(reported["Website"]),
        address_line_1=place.address_line_1,
        address_line_2=place.address_line_2,
        city=place.city,
        state=place.state,
        postcode=place.postcode,
        registration_date=reading.read_date("Date registered", reported["Date registered"]),
        prominence=registers_uk.prominence_from_income(income),
        facts=registers_uk.non_empty_facts(
            status=status,
            reporting_days=days,
            company_number=_company_number(reported["Company number"], reading),
            governing_document=reported["Type of governing document"],
            purposes=_split_list(reported["What the charity does"]),
            beneficiaries=_split_list(reported["Who the charity helps"]),
            activities=_split_list(reported["How the charity works"]),
            income=income,
            expenditure=spent,
            financial_year_end=format_date(reading.read_date(_YEAR_END, reported[_YEAR_END])),
            finance=_finance(reported, reading),
        ),
    )


def _status(text: str) -> tuple[str, int | None]:
    """(status, days late or overdue): ``Overdue: 838 days`` changes each day, its first word does not.

    ``Received`` and ``Overdue`` describe how a registered charity reports; only ``Removed`` ends the registration.
    """
    status, _, tail = text.partition(":")
    if not status.strip():
        raise ValueError("Status is empty")
    if not status.replace(" ", "").replace("-", "").isalpha():
        raise ValueError("Status is no word")
    found = _DAYS.search(tail)
    return status.strip(), int(found[1]) if found else None


def _split_list(text: str) -> list[str]:
    return [tidy for item in _BETWEEN_ITEMS.split(text) if (tidy := " ".join(item.split()))]


def _finance(reported: Mapping[str, str], reading: ValueReader) -> dict[str, str]:
    """The figures of the accounts as text, where readable."""
    stated = {column: reported[column] for column in _FINANCE if reported.get(column, "0") not in ("", "0")}
    for column, text in list(stated.items()):
        if (reading.read_date if column.startswith("Financial period") else reading.read_whole_amount)(
            column, text
        ) is None:
            del stated[column]
    return stated


def _company_number(text: str, reading: ValueReader) -> str | None:
    """The number at Companies House: NI and six digits; the file omits leading zeros."""
    if text in _NO_COMPANY or not text.strip("0"):
        return None
    if _COMPANY.fullmatch(text):
        return f"NI{int(text):06d}"
    reading.report_unreadable_value("Company number", text)
    return None
