"""Reads the extract of the Charity Commission for England and Wales, all its tables together (OGL v3).

What becomes of its columns is decided here and told in ``docs/guides/registers.md``. Trustees, telephone numbers and
e-mail addresses are never read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from almoner.adapters import registers_uk as uk
from almoner.adapters.registers_ccew_join import Charity, Join, joining
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
    Row,
    Table,
    found_in,
    key_of,
    rows,
)
from almoner.adapters.registers_values import Reading, amount_of, any_day, websites, written_day
from almoner.adapters.title_case import to_title_case
from almoner.nonprofits.registers import ports
from almoner.nonprofits.registers.domain import BadRow, Entry, Link, Note, Unread
from almoner.nonprofits.registers.ports import SourceFile

REGISTRY: Final = "CCEW"
EVERYTHING: Final = "all"
_ORGANISATION: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_Adder = Callable[[Join, int, list[str], int, Reading], None]
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


class Ccew:
    """The reader of ``publicextract.charity.zip`` and its further tables, in text or JSON."""

    code = "ccew"
    registry_code = REGISTRY
    lists = True
    unverified = False
    repeats = False
    joined = True
    ignored_columns = frozenset(
        {"income", "expenditure", "financial_year_start", "financial_year_end", "annual_returns", "finance"}
    )
    canaries = frozenset({"202918", "205846", "208791", "213890", "220949", "1089464"})
    """Oxfam, National Trust, Royal Geographical Society, Save the Children, British Red Cross, Cancer Research UK."""

    def day(self, files: Sequence[SourceFile]) -> datetime | None:
        """The day on which the extract was made, which its rows begin with."""
        first = next(rows(EXTRACT, files[found_in(files)[CHARITY.name]], 0), None)
        return any_day(first.values[0]) if isinstance(first, Row) else None

    def read(self, files: Sequence[SourceFile]) -> Iterator[ports.Row]:
        """The bodies of an extract, then who went into whom.

        Tables that are not there are noted: the load counts, and says what it lacks.
        """
        places = found_in(files)
        with joining() as join:
            for name, table in TABLES.items():
                if name in places:
                    yield from _table(join, table, files[places[name]], places[name])
                else:
                    yield Note(f"the table {name} is not among the files; not known: {table.lacking}")
            join.arrange()
            for charity in join.charities():
                yield _entry(charity)
            yield from _links(join)


def _table(join: Join, table: Table, file: SourceFile, place: int) -> Iterator[BadRow | Unread]:
    """Keep the rows of a table for the join; what is wrong with one is told and kept without its content."""
    reading = Reading(place)
    for row in rows(table, file, place):
        if isinstance(row, BadRow):
            yield row
            continue
        told = list(reading.texts(dict(zip(table.columns, row.values, strict=True))).values())
        try:
            if not _ORGANISATION.fullmatch(told[0]):
                raise ValueError("organisation_number is not a number")
            _ADDERS[table.name](join, int(told[0]), told, row.line, reading)
        except ValueError as error:
            reading.forget()
            content = f"organisation_number {told[0]}" if _ORGANISATION.fullmatch(told[0]) else ""
            yield _rejected(join, table, told, BadRow(row.line, str(error), content, place))
        else:
            yield from reading.unread(row.line)


def _rejected(join: Join, table: Table, told: Sequence[str], row: BadRow) -> BadRow:
    """The row with the number of its charity, unless that was there before."""
    if table is not CHARITY:
        return row._replace(lists=False)
    number, linked, name = told[1:4]
    if _ORGANISATION.fullmatch(told[0]) and join.number_of(int(told[0])) == (number, linked.lstrip("0") or "0"):
        return row._replace(lists=False)
    return row._replace(number=key_of(number, linked), name=uk.name_of(name))


def _add_charity(join: Join, organisation: int, told: list[str], line: int, reading: Reading) -> None:
    number, linked, name = told[1:4]
    if key_of(number, "0") is None:
        raise ValueError("registered_charity_number has not 6 or 7 digits")
    if key_of(number, linked) is None:
        raise ValueError("linked_charity_number is not a number")
    if not name:
        raise ValueError("charity_name is empty or damaged")
    status = told[_AT["charity_registration_status"]].capitalize()
    if status not in ("Registered", "Removed"):
        raise ValueError("charity_registration_status is neither Registered nor Removed")
    told[_AT["charity_registration_status"]] = status
    for column in _BOOLEANS:
        if reading.one_of(column, told[_AT[column]], _SAYS) is None:
            told[_AT[column]] = ""
    for column in ("latest_income", "latest_expenditure"):
        told[_AT[column]] = _amount(column, told[_AT[column]], reading)
    for column in _DAYS:
        told[_AT[column]] = _day(column, told[_AT[column]], reading)
    days = told[_AT["date_of_registration"]], told[_AT["date_of_removal"]]
    if not join.add_charity((number, int(linked)), organisation, status == "Registered", days, line, told):
        raise ValueError("the organisation number stands twice in the table")


def _day(column: str, text: str, reading: Reading) -> str:
    return written_day(reading.day(column, text)) or ""


def _amount(column: str, text: str, reading: Reading) -> str:
    found = reading.amount(column, text)
    return "" if found is None else str(found)


def _add_class(join: Join, organisation: int, told: list[str], _line: int, _reading: Reading) -> None:
    if not _CLASS.fullmatch(told[1]):
        raise ValueError("classification_code has not three digits")
    join.add(organisation, CLASSES.name, told[1:])


def _add_event(join: Join, organisation: int, told: list[str], _line: int, reading: Reading) -> None:
    _, kind, day, reason, taker, taker_number = told
    day = _day("date_of_event", day, reading)
    join.add(organisation, EVENTS.name, (kind, day, reason, taker_number))
    incorporated = "incor" in reason.lower()  # "Funds transferred (incor)"
    if kind == "Removed" and incorporated:
        join.add_incorporated(organisation)
    other = int(taker) if _ORGANISATION.fullmatch(taker) else None
    if other is None:
        return
    number = taker_number if key_of(taker_number, "0") else ""
    if kind == "Asset transfer out":
        join.add_transfer(organisation, other, number, day, incorporated)
    elif kind == "Asset transfer in":
        join.add_transfer(other, organisation, "", day, incorporated)


def _add_report(join: Join, organisation: int, told: list[str], _line: int, reading: Reading) -> None:
    join.add(organisation, REPORTS.name, (told[1], _day("date_published", told[2], reading)))


def _add_return(join: Join, organisation: int, told: list[str], _line: int, reading: Reading) -> None:
    columns = RETURNS.columns
    days = [_day(columns[at], told[at], reading) for at in (2, 3, 4)]
    amounts = [_amount(columns[at], told[at], reading) for at in (5, 6)]
    join.add(organisation, RETURNS.name, (told[1], *days, *amounts, told[7]))


def _add_latest(table: Table) -> _Adder:
    """Of annual returns in detail, the latest is kept."""

    def add(join: Join, organisation: int, told: list[str], _line: int, _reading: Reading) -> None:
        if told[1].lower() == "true":
            join.add(organisation, table.name, told)

    return add


def _add_as_it_is(table: Table) -> _Adder:
    def add(join: Join, organisation: int, told: list[str], _line: int, _reading: Reading) -> None:
        join.add(organisation, table.name, told[1:])

    return add


_ADDERS: Final[Mapping[str, _Adder]] = {
    CHARITY.name: _add_charity,
    CLASSES.name: _add_class,
    EVENTS.name: _add_event,
    REPORTS.name: _add_report,
    RETURNS.name: _add_return,
    **{table.name: _add_as_it_is(table) for table in (NAMES, AREAS, DOCUMENT, REGULATORS)},
    **{table.name: _add_latest(table) for table in (PART_A, PART_B)},
}


def _key(number: str, linked: int) -> str:
    return key_of(number, str(linked)) or number


def _links(join: Join) -> Iterator[Link]:
    for gone in join.successors():
        kind: Literal["reregistered", "merged"] = "reregistered" if gone.incorporated else "merged"
        numbers = _key(gone.number, gone.linked), _key(gone.to_number, gone.to_linked)
        yield Link(kind, REGISTRY, numbers[0], REGISTRY, numbers[1], any_day(gone.day))


def _written(text: str) -> str | None:
    return written_day(any_day(text))


def _entry(charity: Charity) -> Entry:
    told = dict(zip(CHARITY.columns, charity.told, strict=True))
    main, linked = told["registered_charity_number"], int(told["linked_charity_number"])
    name = uk.name_of(told["charity_name"])
    names = _names(charity)
    place = uk.place_of((charity.told[line] for line in _ADDRESS), told["charity_contact_postcode"])
    income = amount_of(told["latest_income"])
    return Entry(
        number=_key(main, linked),
        part=EVERYTHING,
        name=name,
        display_name=to_title_case(name),
        other_names=uk.other_names(name, (further for kind in names.values() for further in kind)),
        description=uk.free_text(told["charity_activities"]),
        types=["nonprofit"],
        active=told["charity_registration_status"] == "Registered",
        websites=websites(told["charity_contact_web"]),
        address_line_1=place.address_line_1,
        address_line_2=place.address_line_2,
        city=place.city,
        state=place.state,
        postcode=place.postcode,
        registration_date=any_day(told["date_of_registration"]),
        is_branch_parent=charity.has_linked,
        parent_number=main if linked else None,
        prominence=uk.prominence_of(income),
        facts={**_own_facts(told, income), **_said_facts(charity, told, names)},
        until=any_day(told["date_of_removal"]),
    )


def _names(charity: Charity) -> dict[str, list[str]]:
    """Further names by kind; what a body of the same number was called before is a previous name."""
    names: dict[str, list[str]] = {}
    for kind, name in charity.said.get(NAMES.name, ()):
        names.setdefault(kind, []).append(uk.name_of(name))
    for earlier in charity.said.get("earlier", ()):
        names.setdefault(_PREVIOUS, []).append(uk.name_of(earlier[_AT["charity_name"]]))
    return names


def _own_facts(told: Mapping[str, str], income: int | None) -> dict[str, object]:
    """The facts of the table charity."""
    return uk.kept(
        organisation_number=told["organisation_number"],
        linked_charity_number=told["linked_charity_number"] if told["linked_charity_number"] != "0" else None,
        registration_status=told["charity_registration_status"],
        reporting_status=told["charity_reporting_status"],
        charity_type=told["charity_type"],
        company_number=told["charity_company_registration_number"],
        removed=_written(told["date_of_removal"]),
        cio_dissolution_notice=_written(told["date_cio_dissolution_notice"]),
        income=income,
        expenditure=amount_of(told["latest_expenditure"]),
        financial_year_start=_written(told["latest_acc_fin_period_start_date"]),
        financial_year_end=_written(told["latest_acc_fin_period_end_date"]),
        **{fact: _SAYS.get(told[column].lower()) for column, fact in _BOOLEANS.items()},
    )


def _said_facts(charity: Charity, told: Mapping[str, str], names: Mapping[str, list[str]]) -> dict[str, object]:
    """The facts of the other tables."""
    said = charity.said
    events = said.get(EVENTS.name, [])
    registered = _written(told["date_of_registration"])
    registrations = sorted(day for kind, day, _, _ in events if kind.lower().endswith("registration") and day)
    removals = [(day, reason) for kind, day, reason, _ in events if kind == "Removed" and reason]
    document, objects, benefit = said.get(DOCUMENT.name, [["", "", ""]])[0]
    areas: dict[str, list[str]] = {}
    for kind, area, _ in said.get(AREAS.name, ()):
        areas.setdefault(kind, []).append(area)
    return uk.kept(
        working_names=names.get(_WORKING),
        previous_names=names.get(_PREVIOUS),
        names_by_kind={kind: kept for kind, kept in names.items() if kind not in (_WORKING, _PREVIOUS)},
        earlier_organisation_numbers=[row[0] for row in said.get("earlier", ())],
        classification=sorted({code for (code,) in said.get(CLASSES.name, ())}),
        areas=areas,
        in_wales=True if any(welsh.lower() == "true" for _, _, welsh in said.get(AREAS.name, ())) else None,
        governing_document=uk.free_text(document),
        objects=uk.free_text(objects),
        area_of_benefit=uk.free_text(benefit),
        regulators=[name for name, _ in said.get(REGULATORS.name, ())],
        reports=[uk.kept(name=name, published=day) for name, day in said.get(REPORTS.name, ())],
        first_registered=registrations[0] if registrations and registrations[0] != registered else None,
        reregistered=[day for kind, day, _, _ in events if kind == "Re-registered"],
        removal_reason=max(removals)[1] if removals and told["charity_registration_status"] == "Removed" else None,
        events=[uk.kept(event=kind, on=day, reason=reason, number=number) for kind, day, reason, number in events],
        annual_returns=_returns(said.get(RETURNS.name, [])),
        finance=_finance(said),
    )


def _returns(rows_of_it: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    """The latest years, the newest first."""
    newest = sorted(rows_of_it, key=lambda row: row[1], reverse=True)[:_LATEST_RETURNS]
    return [
        uk.kept(
            cycle=cycle,
            year_end=end,
            due=due,
            received=received,
            income=amount_of(income),
            expenditure=amount_of(spent),
            accounts_qualified=_SAYS.get(qualified.lower()),
        )
        for cycle, end, due, received, income, spent, qualified in newest
    ]


def _finance(said: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, object]:
    """The latest annual return in detail, under the names of its columns."""
    facts: dict[str, object] = {}
    for table in (PART_A, PART_B):
        for row in said.get(table.name, ())[:1]:
            found = zip(table.columns, row, strict=True)
            facts |= {name: value for name, value in found if value and name not in _NOT_FINANCE}
    return facts
