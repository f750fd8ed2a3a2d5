"""Reads the register of the Scottish charity regulator and the one of its former charities (OGL).

Two files, each with one CSV: what stands in both is a charity today, so both are read together and the live one first.

The column "Principal Office/Trustees Address" holds, for a body without an office, the address of one of its trustees,
and nothing tells which it is. Bodies corporate must have an office, and theirs is kept; of associations and trusts only
the town and the district of the postcode.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from almoner.adapters import registers_uk as uk
from almoner.adapters.registers_tables import Table
from almoner.adapters.registers_values import Reading, websites, written_day
from almoner.adapters.title_case import to_title_case
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused
from almoner.nonprofits.registers.ports import Row, SourceFile
from almoner.nonprofits.registries.domain import number_key

REGISTRY: Final = "OSCR"
LIVE, FORMER = "live", "former"
ADDRESS: Final = "Principal Office/Trustees Address"
NEEDED: Final = (
    "Charity Number", "Charity Name", "Registered Date", "Known As", "Charity Status", "Postcode",
    "Constitutional Form", "Geographical Spread", "Main Operating Location", "Purposes", "Beneficiaries", "Activities",
    "Objectives", ADDRESS, "Website", "Most recent year income", "Most recent year expenditure", "Parent Charity Name",
    "Parent charity number", "Parent charity country of registration", "Designated religious body", "Regulatory Type",
)  # fmt: skip
_RELIGIOUS: Final = "Designated religious body"
CEASED, REASON = "Ceased Date", "Reason for Removal"
_FURTHER: Final = ("Previous Constitutional Form 1", "Year End", "Date annual return received", CEASED, REASON)
_FINANCE: Final = (
    "Donations and legacies income", "Charitable activities income", "Other trading activities income",
    "Investments income", "Other income", "Raising funds spending", "Charitable activities spending", "Other spending",
)  # fmt: skip
_CORPORATE: Final = ("scio", "cio", "company", "statutory", "royal charter", "body corporate", "industrial")
_NUMBER: Final = re.compile(r"^SC[0-9]{6}", re.ASCII)
_YES_NO: Final = {"yes": True, "no": False, "true": True, "false": False}
_GONE: Final = ("remov", "ceas", "former", "dissol")


class Oscr:
    """The reader of the charity register and the former charity register."""

    code = "oscr"
    registry_code = REGISTRY
    lists = True
    unverified = False
    repeats = False
    joined = True
    ignored_columns = frozenset({"income", "expenditure", "finance", "annual_return_received", "year_end"})
    canaries = frozenset({"SC005336", "SC007410", "SC009359", "SC037605", "SC037624", "SC037654"})
    """University of Edinburgh, National Trust for Scotland, Salvation Army, Barnardo's, Tearfund, RSPB."""

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The charities, then the former ones that are none today.

        The former register alone is refused: it does not tell which of its numbers are in use again.
        """
        tables = [(Table(file, number=_NUMBER, place=place), place) for place, file in enumerate(files)]
        live = [found for found in tables if found[0].place(CEASED) is None]
        former = [found for found in tables if found[0].place(CEASED) is not None]
        if len(live) != 1 or len(former) > 1:
            raise ImportRefused(
                "name the charity register, and with it at most the former charity register of the same day: "
                f"{len(live)} and {len(former)} were named"
            )
        seen: set[str] = set()
        for table, place in (*live, *former):
            part = FORMER if former and table is former[0][0] else LIVE
            for row in _rows(table, place, part):
                if isinstance(row, Entry):
                    if part == FORMER and row.number in seen:
                        continue
                    seen.add(row.number)
                yield row


def _rows(table: Table, place: int, part: str) -> Iterator[Row]:
    columns = dict(zip(NEEDED, table.places(*NEEDED), strict=True))
    further = {name: table.place(name) for name in (*_FURTHER, *_FINANCE)}
    columns |= {name: at for name, at in further.items() if at is not None}
    table.numbered(columns["Charity Number"], partial(number_key, REGISTRY))
    reading = Reading(place)
    for row in table:
        if isinstance(row, BadRow):
            yield row
            continue
        told = reading.texts({name: row.fields[at] for name, at in columns.items()})
        key = number_key(REGISTRY, told["Charity Number"])
        if key is None:
            reading.forget()
            name = uk.name_of(told["Charity Name"])
            yield BadRow(row.line, "Charity Number is not SC and six digits", "", place, name=name)
            continue
        if not uk.name_of(told["Charity Name"]):
            reading.forget()
            yield BadRow(row.line, "Charity Name is empty or damaged", key, place, key)
            continue
        yield _entry(key, part, told, reading)
        yield from reading.unread(row.line)


def _entry(key: str, part: str, told: Mapping[str, str], reading: Reading) -> Entry:
    name = uk.name_of(told["Charity Name"])
    ceased = reading.day(CEASED, told.get(CEASED, ""))
    income, spent = (
        reading.amount(column, told[column]) for column in ("Most recent year income", "Most recent year expenditure")
    )
    place = _place(told)
    return Entry(
        number=key,
        part=part,
        name=name,
        display_name=to_title_case(name),
        other_names=uk.other_names(name, [told["Known As"]]),
        description=uk.free_text(told["Objectives"]),
        types=["nonprofit"],
        active=part == LIVE and not told["Charity Status"].lower().startswith(_GONE),
        websites=websites(told["Website"]),
        address_line_1=place.address_line_1,
        address_line_2=place.address_line_2,
        city=place.city,
        state=place.state,
        postcode=place.postcode,
        registration_date=reading.day("Registered Date", told["Registered Date"]),
        parent_number=_parent(key, told),
        prominence=uk.prominence_of(income),
        facts=_facts(told, written_day(ceased), income, spent, reading),
        until=ceased,
    )


def _facts(
    told: Mapping[str, str], ceased: str | None, income: int | None, spent: int | None, reading: Reading
) -> dict[str, object]:
    amounts = {column: reading.amount(column, told.get(column, "")) for column in _FINANCE}
    finance = {column: amount for column, amount in amounts.items() if amount is not None}
    return uk.kept(
        registration_status=told["Charity Status"],
        regulatory_type=told["Regulatory Type"],
        constitutional_form=told["Constitutional Form"],
        previous_constitutional_form=told.get("Previous Constitutional Form 1"),
        removed=ceased,
        removal_reason=told.get(REASON),
        purposes=_list("Purposes", told, reading),
        beneficiaries=_list("Beneficiaries", told, reading),
        activities=_list("Activities", told, reading),
        geographical_spread=told["Geographical Spread"],
        main_operating_location=told["Main Operating Location"],
        designated_religious_body=reading.one_of(_RELIGIOUS, told[_RELIGIOUS], _YES_NO),
        parent=uk.kept(
            name=told["Parent Charity Name"],
            number=told["Parent charity number"],
            country=told["Parent charity country of registration"],
        ),
        income=income,
        expenditure=spent,
        finance=finance,
        year_end=told.get("Year End"),
        annual_return_received=told.get("Date annual return received"),
    )


def _list(column: str, told: Mapping[str, str], reading: Reading) -> list[str]:
    """The items of a list whose quotes are single ones: items hold commas themselves."""
    try:
        items = next(csv.reader([told[column]], quotechar="'", skipinitialspace=True), [])
    except csv.Error:
        reading.lose(column, told[column])
        return []
    return [tidy for item in items if (tidy := " ".join(item.split()).strip("'"))]


def _parent(key: str, told: Mapping[str, str]) -> str | None:
    """The parent in this register; one in another register is a fact alone."""
    parent = number_key(REGISTRY, told["Parent charity number"])
    return parent if parent != key else None


def _place(told: Mapping[str, str]) -> uk.Place:
    pieces = told[ADDRESS].split(",")
    place = uk.place_of(pieces, told["Postcode"])
    if told["Constitutional Form"].lower().startswith(_CORPORATE):
        return place
    town = place.city if place.address_line_1 else None  # a lone line may be the name of a house
    return uk.Place(city=town, state=place.state, postcode=uk.outward(told["Postcode"]))
