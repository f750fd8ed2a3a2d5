"""Read the register of the Scottish charity regulator and the one of its former charities (OGL).

Two files, each with one CSV: a number in both is a charity today, so both are read together and the live one first.

For a charity without an office, the column "Principal Office/Trustees Address" has the address of one of its trustees,
and nothing shows which it is. Incorporated charities must have an office, so their address is kept; of associations and
trusts only the town and the district of the postcode.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from almoner.adapters import registers_uk
from almoner.adapters.registers_tables import DelimitedTable
from almoner.adapters.registers_values import ValueReader, format_date, parse_websites
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.nonprofits.registries.domain import parse_number_key

_REGISTRY: Final = "OSCR"
LIVE, FORMER = "live", "former"
_ADDRESS: Final = "Principal Office/Trustees Address"
NEEDED: Final = (
    "Charity Number", "Charity Name", "Registered Date", "Known As", "Charity Status", "Postcode",
    "Constitutional Form", "Geographical Spread", "Main Operating Location", "Purposes", "Beneficiaries", "Activities",
    "Objectives", _ADDRESS, "Website", "Most recent year income", "Most recent year expenditure", "Parent Charity Name",
    "Parent charity number", "Parent charity country of registration", "Designated religious body", "Regulatory Type",
)  # fmt: skip
_RELIGIOUS: Final = "Designated religious body"
CEASED_DATE, REMOVAL_REASON = "Ceased Date", "Reason for Removal"
_FURTHER: Final = (
    "Previous Constitutional Form 1",
    "Year End",
    "Date annual return received",
    CEASED_DATE,
    REMOVAL_REASON,
)
_FINANCE: Final = (
    "Donations and legacies income", "Charitable activities income", "Other trading activities income",
    "Investments income", "Other income", "Raising funds spending", "Charitable activities spending", "Other spending",
)  # fmt: skip
_CORPORATE: Final = ("scio", "cio", "company", "statutory", "royal charter", "body corporate", "industrial")
_NUMBER: Final = re.compile(r"^SC[0-9]{6}", re.ASCII)
_YES_NO: Final = {"yes": True, "no": False, "true": True, "false": False}
_GONE: Final = ("remov", "ceas", "former", "dissol")


class OscrReader:
    """The reader of the charity register and the former charity register."""

    code = "oscr"
    registry_code = _REGISTRY
    lists_organisations = True
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = True
    ignored_columns = frozenset({"income", "expenditure", "finance", "annual_return_received", "year_end"})
    canary_numbers = frozenset({"SC005336", "SC007410", "SC009359", "SC037605", "SC037624", "SC037654"})
    """University of Edinburgh, National Trust for Scotland, Salvation Army, Barnardo's, Tearfund, RSPB."""

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the charities, then the former ones.

        The former register alone is refused: it does not show which of its numbers are in use again.
        """
        tables = [(DelimitedTable(file, number=_NUMBER, place=place), place) for place, file in enumerate(files)]
        live = [found for found in tables if found[0].find_column_index(CEASED_DATE) is None]
        former = [found for found in tables if found[0].find_column_index(CEASED_DATE) is not None]
        if len(live) != 1 or len(former) > 1:
            raise ImportRefused(
                "name the charity register, and with it at most the former charity register of the same day: "
                f"{len(live)} and {len(former)} were named"
            )
        seen: set[str] = set()
        for table, place in (*live, *former):
            part = FORMER if former and table is former[0][0] else LIVE
            for row in _read_rows(table, place, part):
                if isinstance(row, RegisterEntry):
                    if part == FORMER and row.number in seen:
                        continue
                    seen.add(row.number)
                yield row


def _read_rows(table: DelimitedTable, place: int, part: str) -> Iterator[SourceRow]:
    columns = dict(zip(NEEDED, table.get_column_indexes(*NEEDED), strict=True))
    further = {name: table.find_column_index(name) for name in (*_FURTHER, *_FINANCE)}
    columns |= {name: at for name, at in further.items() if at is not None}
    table.set_key_column(columns["Charity Number"], partial(parse_number_key, _REGISTRY))
    reading = ValueReader(place)
    for row in table:
        if isinstance(row, RejectedRow):
            yield row
            continue
        reported = reading.clean_texts_in_place({name: row.fields[at] for name, at in columns.items()})
        key = parse_number_key(_REGISTRY, reported["Charity Number"])
        if key is None:
            reading.discard_unreadable_values()
            name = registers_uk.clean_name(reported["Charity Name"])
            yield RejectedRow(
                row.line_number, "Charity Number is not SC and six digits", "", place, organisation_name=name
            )
            continue
        if not registers_uk.clean_name(reported["Charity Name"]):
            reading.discard_unreadable_values()
            yield RejectedRow(row.line_number, "Charity Name is empty or damaged", key, place, key)
            continue
        yield _entry(key, part, reported, reading)
        yield from reading.pop_unreadable_values(row.line_number)


def _entry(key: str, part: str, reported: Mapping[str, str], reading: ValueReader) -> RegisterEntry:
    name = registers_uk.clean_name(reported["Charity Name"])
    ceased = reading.read_date(CEASED_DATE, reported.get(CEASED_DATE, ""))
    income, spent = (
        reading.read_whole_amount(column, reported[column])
        for column in ("Most recent year income", "Most recent year expenditure")
    )
    place = _parse_place(reported)
    return RegisterEntry(
        number=key,
        part=part,
        name=name,
        display_name=to_title_case(name),
        other_names=registers_uk.distinct_other_names(name, [reported["Known As"]]),
        description=registers_uk.clean_text_without_contact_details(reported["Objectives"]),
        types=["nonprofit"],
        active=part == LIVE and not reported["Charity Status"].lower().startswith(_GONE),
        websites=parse_websites(reported["Website"]),
        address_line_1=place.address_line_1,
        address_line_2=place.address_line_2,
        city=place.city,
        state=place.state,
        postcode=place.postcode,
        registration_date=reading.read_date("Registered Date", reported["Registered Date"]),
        parent_number=_parent_number(key, reported),
        prominence=registers_uk.prominence_from_income(income),
        facts=_facts(reported, format_date(ceased), income, spent, reading),
        until=ceased,
    )


def _facts(
    reported: Mapping[str, str], ceased: str | None, income: int | None, spent: int | None, reading: ValueReader
) -> dict[str, object]:
    amounts = {column: reading.read_whole_amount(column, reported.get(column, "")) for column in _FINANCE}
    finance = {column: amount for column, amount in amounts.items() if amount is not None}
    return registers_uk.non_empty_facts(
        registration_status=reported["Charity Status"],
        regulatory_type=reported["Regulatory Type"],
        constitutional_form=reported["Constitutional Form"],
        previous_constitutional_form=reported.get("Previous Constitutional Form 1"),
        removed=ceased,
        removal_reason=reported.get(REMOVAL_REASON),
        purposes=_split_list("Purposes", reported, reading),
        beneficiaries=_split_list("Beneficiaries", reported, reading),
        activities=_split_list("Activities", reported, reading),
        geographical_spread=reported["Geographical Spread"],
        main_operating_location=reported["Main Operating Location"],
        designated_religious_body=reading.read_choice(_RELIGIOUS, reported[_RELIGIOUS], _YES_NO),
        parent=registers_uk.non_empty_facts(
            name=reported["Parent Charity Name"],
            number=reported["Parent charity number"],
            country=reported["Parent charity country of registration"],
        ),
        income=income,
        expenditure=spent,
        finance=finance,
        year_end=reported.get("Year End"),
        annual_return_received=reported.get("Date annual return received"),
    )


def _split_list(column: str, reported: Mapping[str, str], reading: ValueReader) -> list[str]:
    """Split a list with single quotes: items contain commas themselves."""
    try:
        items = next(csv.reader([reported[column]], quotechar="'", skipinitialspace=True), [])
    except csv.Error:
        reading.report_unreadable_value(column, reported[column])
        return []
    return [tidy for item in items if (tidy := " ".join(item.split()).strip("'"))]


def _parent_number(key: str, reported: Mapping[str, str]) -> str | None:
    """The parent's number, if it is in this register; one in another register is only a fact."""
    parent = parse_number_key(_REGISTRY, reported["Parent charity number"])
    return parent if parent != key else None


def _parse_place(reported: Mapping[str, str]) -> registers_uk.UkAddress:
    pieces = reported[_ADDRESS].split(",")
    place = registers_uk.parse_address(pieces, reported["Postcode"])
    if reported["Constitutional Form"].lower().startswith(_CORPORATE):
        return place
    town = place.city if place.address_line_1 else None  # a single line may be the name of a house
    return registers_uk.UkAddress(
        city=town, state=place.state, postcode=registers_uk.outward_code(reported["Postcode"])
    )
