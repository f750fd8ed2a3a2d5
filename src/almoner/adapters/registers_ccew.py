"""Read the extract of the Charity Commission for England and Wales, all its tables together (OGL v3).

Its columns are mapped here and documented in ``docs/guides/registers.md``. Trustees, telephone numbers and email
addresses are never read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from almoner.adapters import registers_uk
from almoner.adapters.registers_ccew_join import CharityTableJoin, JoinedCharity, open_table_join
from almoner.adapters.registers_ccew_tables import (
    AREAS,
    CHARITY,
    CLASSES,
    DOCUMENT,
    EVENTS,
    EXTRACT,
    NAMES,
    PART_A,
    PART_B,
    REGULATORS,
    REPORTS,
    RETURNS,
    TABLES,
    ExtractRow,
    ExtractTable,
    map_tables_to_file_indexes,
    parse_charity_number,
    read_rows,
)
from almoner.adapters.registers_values import ValueReader, format_date, parse_date, parse_websites, parse_whole_amount
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers import ports as registers_ports
from almoner.nonprofits.registers.domain import (
    RegisterEntry,
    RegisterFileRemark,
    RegisterLink,
    RejectedRow,
    UnreadableValue,
)
from almoner.nonprofits.registers.ports import SourceFile

_REGISTRY: Final = "CCEW"
_WHOLE_PART: Final = "all"
_ORGANISATION: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_Adder = Callable[[CharityTableJoin, int, list[str], int, ValueReader], None]
_CLASS: Final = re.compile(r"[0-9]{3}", re.ASCII)
_SAYS: Final = {"true": True, "false": False}
_WORKING, _PREVIOUS = "Working name", "Previous name"
_LATEST_RETURNS: Final = 5
_NOT_FINANCE: Final = frozenset(("organisation_number", "latest_fin_period_submitted_ind", "fin_period_end_date"))
_BOOLEANS: Final = {
    "charity_insolvent": "insolvent",
    "charity_in_administration": "in_administration",
    "charity_previously_excepted": "previously_excepted",
    "charity_is_cdf_or_cif": "is_cdf_or_cif",
    "charity_is_cio": "is_cio",
    "cio_is_dissolved": "cio_is_dissolved",
    "charity_gift_aid": "gift_aid",
    "charity_has_land": "has_land",
}
_DAYS: Final = (
    "date_of_registration", "date_of_removal", "latest_acc_fin_period_start_date", "latest_acc_fin_period_end_date",
    "date_cio_dissolution_notice",
)  # fmt: skip
_AT: Final = {name: place for place, name in enumerate(CHARITY.columns)}
_ADDRESS: Final = [_AT[f"charity_contact_address{line}"] for line in range(1, 6)]


class CcewReader:
    """The reader of ``publicextract.charity.zip`` and its further tables, in text or JSON."""

    code = "ccew"
    registry_code = _REGISTRY
    lists_organisations = True
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = True
    ignored_columns = frozenset(
        {"income", "expenditure", "financial_year_start", "financial_year_end", "annual_returns", "finance"}
    )
    canary_numbers = frozenset({"202918", "205846", "208791", "213890", "220949", "1089464"})
    """Oxfam, National Trust, Royal Geographical Society, Save the Children, British Red Cross, Cancer Research UK."""

    def data_date(self, files: Sequence[SourceFile]) -> datetime | None:
        """The date on which the extract was made, from its first row."""
        first = next(read_rows(EXTRACT, files[map_tables_to_file_indexes(files)[CHARITY.name]], 0), None)
        return parse_date(first.column_values[0]) if isinstance(first, ExtractRow) else None

    def read(self, files: Sequence[SourceFile]) -> Iterator[registers_ports.SourceRow]:
        """Read the charities of an extract, then their successors.

        Missing tables are noted in the load.
        """
        places = map_tables_to_file_indexes(files)
        with open_table_join() as join:
            for name, table in TABLES.items():
                if name in places:
                    yield from _read_table(join, table, files[places[name]], places[name])
                else:
                    yield RegisterFileRemark(
                        f"the table {name} is not among the files; not known: {table.unknown_without_table}"
                    )
            join.join_rows()
            for charity in join.read_charities():
                yield _entry(charity)
            yield from _links(join)


def _read_table(
    join: CharityTableJoin, table: ExtractTable, file: SourceFile, place: int
) -> Iterator[RejectedRow | UnreadableValue]:
    """Store a table's rows for the join; invalid rows are reported and kept without their content."""
    reading = ValueReader(place)
    for row in read_rows(table, file, place):
        if isinstance(row, RejectedRow):
            yield row
            continue
        reported = list(reading.clean_texts_in_place(dict(zip(table.columns, row.column_values, strict=True))).values())
        try:
            if not _ORGANISATION.fullmatch(reported[0]):
                raise ValueError("organisation_number is not a number")
            _ADDERS[table.name](join, int(reported[0]), reported, row.line_number, reading)
        except ValueError as error:
            reading.discard_unreadable_values()
            content = f"organisation_number {reported[0]}" if _ORGANISATION.fullmatch(reported[0]) else ""
            yield _with_charity_number(join, table, reported, RejectedRow(row.line_number, str(error), content, place))
        else:
            yield from reading.pop_unreadable_values(row.line_number)


def _with_charity_number(
    join: CharityTableJoin, table: ExtractTable, reported: Sequence[str], row: RejectedRow
) -> RejectedRow:
    """The row with the number of its charity added, unless it has one."""
    if table is not CHARITY:
        return row._replace(lists_organisation=False)
    number, linked, name = reported[1:4]
    if _ORGANISATION.fullmatch(reported[0]) and join.find_charity_number(int(reported[0])) == (
        number,
        linked.lstrip("0") or "0",
    ):
        return row._replace(lists_organisation=False)
    return row._replace(
        number_key=parse_charity_number(number, linked), organisation_name=registers_uk.clean_name(name)
    )


def _add_charity(
    join: CharityTableJoin, organisation: int, reported: list[str], line: int, reading: ValueReader
) -> None:
    number, linked, name = reported[1:4]
    if parse_charity_number(number, "0") is None:
        raise ValueError("registered_charity_number has not 6 or 7 digits")
    if parse_charity_number(number, linked) is None:
        raise ValueError("linked_charity_number is not a number")
    if not name:
        raise ValueError("charity_name is empty or damaged")
    status = reported[_AT["charity_registration_status"]].capitalize()
    if status not in ("Registered", "Removed"):
        raise ValueError("charity_registration_status is neither Registered nor Removed")
    reported[_AT["charity_registration_status"]] = status
    for column in _BOOLEANS:
        if reading.read_choice(column, reported[_AT[column]], _SAYS) is None:
            reported[_AT[column]] = ""
    for column in ("latest_income", "latest_expenditure"):
        reported[_AT[column]] = _amount(column, reported[_AT[column]], reading)
    for column in _DAYS:
        reported[_AT[column]] = _day(column, reported[_AT[column]], reading)
    days = reported[_AT["date_of_registration"]], reported[_AT["date_of_removal"]]
    if not join.add_charity((number, int(linked)), organisation, status == "Registered", days, line, reported):
        raise ValueError("the organisation number stands twice in the table")


def _day(column: str, text: str, reading: ValueReader) -> str:
    return format_date(reading.read_date(column, text)) or ""


def _amount(column: str, text: str, reading: ValueReader) -> str:
    found = reading.read_whole_amount(column, text)
    return "" if found is None else str(found)


def _add_class(
    join: CharityTableJoin, organisation: int, reported: list[str], _line: int, _reading: ValueReader
) -> None:
    if not _CLASS.fullmatch(reported[1]):
        raise ValueError("classification_code has not three digits")
    join.add_related_row(organisation, CLASSES.name, reported[1:])


def _add_event(
    join: CharityTableJoin, organisation: int, reported: list[str], _line: int, reading: ValueReader
) -> None:
    _, kind, day, reason, taker, taker_number = reported
    day = _day("date_of_event", day, reading)
    join.add_related_row(organisation, EVENTS.name, (kind, day, reason, taker_number))
    incorporated = "incor" in reason.lower()  # "Funds transferred (incor)"
    if kind == "Removed" and incorporated:
        join.mark_incorporated(organisation)
    other = int(taker) if _ORGANISATION.fullmatch(taker) else None
    if other is None:
        return
    number = taker_number if parse_charity_number(taker_number, "0") else ""
    if kind == "Asset transfer out":
        join.add_asset_transfer(organisation, other, number, day, incorporated)
    elif kind == "Asset transfer in":
        join.add_asset_transfer(other, organisation, "", day, incorporated)


def _add_report(
    join: CharityTableJoin, organisation: int, reported: list[str], _line: int, reading: ValueReader
) -> None:
    join.add_related_row(organisation, REPORTS.name, (reported[1], _day("date_published", reported[2], reading)))


def _add_return(
    join: CharityTableJoin, organisation: int, reported: list[str], _line: int, reading: ValueReader
) -> None:
    columns = RETURNS.columns
    days = [_day(columns[at], reported[at], reading) for at in (2, 3, 4)]
    amounts = [_amount(columns[at], reported[at], reading) for at in (5, 6)]
    join.add_related_row(organisation, RETURNS.name, (reported[1], *days, *amounts, reported[7]))


def _add_latest(table: ExtractTable) -> _Adder:
    """Keep the latest annual return."""

    def add(join: CharityTableJoin, organisation: int, reported: list[str], _line: int, _reading: ValueReader) -> None:
        if reported[1].lower() == "true":
            join.add_related_row(organisation, table.name, reported)

    return add


def _add_verbatim(table: ExtractTable) -> _Adder:
    def add(join: CharityTableJoin, organisation: int, reported: list[str], _line: int, _reading: ValueReader) -> None:
        join.add_related_row(organisation, table.name, reported[1:])

    return add


_ADDERS: Final[Mapping[str, _Adder]] = {
    CHARITY.name: _add_charity,
    CLASSES.name: _add_class,
    EVENTS.name: _add_event,
    REPORTS.name: _add_report,
    RETURNS.name: _add_return,
    **{table.name: _add_verbatim(table) for table in (NAMES, AREAS, DOCUMENT, REGULATORS)},
    **{table.name: _add_latest(table) for table in (PART_A, PART_B)},
}


def _key(number: str, linked: int) -> str:
    return parse_charity_number(number, str(linked)) or number


def _links(join: CharityTableJoin) -> Iterator[RegisterLink]:
    for gone in join.read_successors():
        kind: Literal["reregistered", "merged"] = "reregistered" if gone.became_incorporated else "merged"
        numbers = (
            _key(gone.charity_number, gone.linked_number),
            _key(gone.successor_charity_number, gone.successor_linked_number),
        )
        yield RegisterLink(kind, _REGISTRY, numbers[0], _REGISTRY, numbers[1], parse_date(gone.transfer_date))


def _iso_date(text: str) -> str | None:
    return format_date(parse_date(text))


def _entry(charity: JoinedCharity) -> RegisterEntry:
    reported = dict(zip(CHARITY.columns, charity.column_values, strict=True))
    main, linked = reported["registered_charity_number"], int(reported["linked_charity_number"])
    name = registers_uk.clean_name(reported["charity_name"])
    names = _names(charity)
    place = registers_uk.parse_address(
        (charity.column_values[line] for line in _ADDRESS), reported["charity_contact_postcode"]
    )
    income = parse_whole_amount(reported["latest_income"])
    return RegisterEntry(
        number=_key(main, linked),
        part=_WHOLE_PART,
        name=name,
        display_name=to_title_case(name),
        other_names=registers_uk.distinct_other_names(name, (further for kind in names.values() for further in kind)),
        description=registers_uk.clean_text_without_contact_details(reported["charity_activities"]),
        types=["nonprofit"],
        active=reported["charity_registration_status"] == "Registered",
        websites=parse_websites(reported["charity_contact_web"]),
        address_line_1=place.address_line_1,
        address_line_2=place.address_line_2,
        city=place.city,
        state=place.state,
        postcode=place.postcode,
        registration_date=parse_date(reported["date_of_registration"]),
        is_branch_parent=charity.has_linked_charities,
        parent_number=main if linked else None,
        prominence=registers_uk.prominence_from_income(income),
        facts={**_charity_facts(reported, income), **_further_facts(charity, reported, names)},
        until=parse_date(reported["date_of_removal"]),
    )


def _names(charity: JoinedCharity) -> dict[str, list[str]]:
    """Further names by kind; the name of a previous organisation with the same number is a previous name."""
    names: dict[str, list[str]] = {}
    for kind, name in charity.rows_by_table.get(NAMES.name, ()):
        names.setdefault(kind, []).append(registers_uk.clean_name(name))
    for earlier in charity.rows_by_table.get("earlier", ()):
        names.setdefault(_PREVIOUS, []).append(registers_uk.clean_name(earlier[_AT["charity_name"]]))
    return names


def _charity_facts(reported: Mapping[str, str], income: int | None) -> dict[str, object]:
    """The facts from the table charity."""
    return registers_uk.non_empty_facts(
        organisation_number=reported["organisation_number"],
        linked_charity_number=reported["linked_charity_number"] if reported["linked_charity_number"] != "0" else None,
        registration_status=reported["charity_registration_status"],
        reporting_status=reported["charity_reporting_status"],
        charity_type=reported["charity_type"],
        company_number=reported["charity_company_registration_number"],
        removed=_iso_date(reported["date_of_removal"]),
        cio_dissolution_notice=_iso_date(reported["date_cio_dissolution_notice"]),
        income=income,
        expenditure=parse_whole_amount(reported["latest_expenditure"]),
        financial_year_start=_iso_date(reported["latest_acc_fin_period_start_date"]),
        financial_year_end=_iso_date(reported["latest_acc_fin_period_end_date"]),
        **{fact: _SAYS.get(reported[column].lower()) for column, fact in _BOOLEANS.items()},
    )


def _further_facts(
    charity: JoinedCharity, reported: Mapping[str, str], names: Mapping[str, list[str]]
) -> dict[str, object]:
    """The facts from the other tables."""
    stated = charity.rows_by_table
    events = stated.get(EVENTS.name, [])
    registered = _iso_date(reported["date_of_registration"])
    registrations = sorted(day for kind, day, _, _ in events if kind.lower().endswith("registration") and day)
    removals = [(day, reason) for kind, day, reason, _ in events if kind == "Removed" and reason]
    document, objects, benefit = stated.get(DOCUMENT.name, [["", "", ""]])[0]
    areas: dict[str, list[str]] = {}
    for kind, area, _ in stated.get(AREAS.name, ()):
        areas.setdefault(kind, []).append(area)
    return registers_uk.non_empty_facts(
        working_names=names.get(_WORKING),
        previous_names=names.get(_PREVIOUS),
        names_by_kind={kind: stored for kind, stored in names.items() if kind not in (_WORKING, _PREVIOUS)},
        earlier_organisation_numbers=[row[0] for row in stated.get("earlier", ())],
        classification=sorted({code for (code,) in stated.get(CLASSES.name, ())}),
        areas=areas,
        in_wales=True if any(welsh.lower() == "true" for _, _, welsh in stated.get(AREAS.name, ())) else None,
        governing_document=registers_uk.clean_text_without_contact_details(document),
        objects=registers_uk.clean_text_without_contact_details(objects),
        area_of_benefit=registers_uk.clean_text_without_contact_details(benefit),
        regulators=[name for name, _ in stated.get(REGULATORS.name, ())],
        reports=[registers_uk.non_empty_facts(name=name, published=day) for name, day in stated.get(REPORTS.name, ())],
        first_registered=registrations[0] if registrations and registrations[0] != registered else None,
        reregistered=[day for kind, day, _, _ in events if kind == "Re-registered"],
        removal_reason=max(removals)[1] if removals and reported["charity_registration_status"] == "Removed" else None,
        events=[
            registers_uk.non_empty_facts(event=kind, on=day, reason=reason, number=number)
            for kind, day, reason, number in events
        ],
        annual_returns=_returns(stated.get(RETURNS.name, [])),
        finance=_finance(stated),
    )


def _returns(rows_of_it: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    """The latest annual returns, newest first."""
    newest = sorted(rows_of_it, key=lambda row: row[1], reverse=True)[:_LATEST_RETURNS]
    return [
        registers_uk.non_empty_facts(
            cycle=cycle,
            year_end=end,
            due=due,
            received=received,
            income=parse_whole_amount(income),
            expenditure=parse_whole_amount(spent),
            accounts_qualified=_SAYS.get(qualified.lower()),
        )
        for cycle, end, due, received, income, spent, qualified in newest
    ]


def _finance(stated: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, object]:
    """The latest annual return in detail, by the names of its columns."""
    facts: dict[str, object] = {}
    for table in (PART_A, PART_B):
        for row in stated.get(table.name, ())[:1]:
            found = zip(table.columns, row, strict=True)
            facts |= {name: value for name, value in found if value and name not in _NOT_FINANCE}
    return facts
