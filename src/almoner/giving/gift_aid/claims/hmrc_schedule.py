"""HMRC's schedule of a claim: who may be listed, and one donation or several small ones a line; pure.

After "Schedule spreadsheet to claim back tax on Gift Aid donations" (gov.uk, as of 28 November 2025): the title has at
most 4 characters, first name (or first initial) and last name 35, hyphens of a last name become spaces, the postcode is
in capitals with a space, dates are DD/MM/YY, amounts have two decimals, and fields that do not apply are blank. The
postcode X means an address outside the United Kingdom. Donations of at most 20 pounds from different donors may share a
line of up to 1,000 pounds, without a name: HMRC's page of 2013 says so, that of 2025 says under 30.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from almoner.giving.gift_aid.claims.domain import (
    AccountingYearEnd,
    ClaimableDonation,
    ClaimScheduleEntry,
    ExcludedDonation,
)
from almoner.giving.gift_aid.declarations import claimable
from almoner.giving.gift_aid.declarations.claimable import DeclarerProblem
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.text import is_spreadsheet_formula

COLUMNS: Final = (
    "Title",
    "First name or initial",
    "Last name",
    "House name or number",
    "Postcode",
    "Aggregated donations",
    "Sponsored event",
    "Donation date",
    "Amount",
)
_MAX_LINES: Final = 1000
"""The maximum number of lines of one schedule."""
_MAX_AGGREGATED_DONATION: Final = 20_00
_MAX_AGGREGATED_LINE: Final = 1000_00
_TITLE: Final = 4
_NAME: Final = 35
_HOUSE: Final = claimable.MAX_HOUSE
_AGGREGATED: Final = "Gifts of at most 20 pounds"
_TITLES: Final = {"professor": "Prof", "reverend": "Rev", "doctor": "Dr", "captain": "Capt", "mister": "Mr"}
_FIELDS: Final = {
    "first_name": "the first name",
    "last_name": "the last name",
    "building_name_number": "the house name or number",
    "postcode": "the postcode",
    "country": "the country",
}


@dataclass(frozen=True, slots=True)
class ScheduleDonor:
    """The donor in HMRC's format."""

    title: str
    first_name: str
    last_name: str
    house_name_or_number: str
    postcode: str


@dataclass(slots=True)
class _AggregatedLine:
    """A line of small donations that is being filled."""

    line: int
    minor: int = 0
    people: set[ScheduleDonor] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ClaimSchedule:
    """A schedule: donations by line, excluded ones, and the number that wait for the next claim."""

    entries: tuple[ClaimScheduleEntry, ...]
    excluded_donations: tuple[ExcludedDonation, ...]
    deferred_donation_count: int

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return max((one.line_number for one in self.entries), default=0)


def build_schedule(
    donations: Iterable[ClaimableDonation],
    today: date,
    year_end: AccountingYearEnd,
    *,
    aggregate_small_donations: bool,
    max_lines: int = _MAX_LINES,
) -> ClaimSchedule:
    """Build the schedule of donations, with at most ``max_lines`` lines.

    ``aggregate_small_donations``: combine small ones.
    """
    listed: list[ClaimScheduleEntry] = []
    left_out: list[ExcludedDonation] = []
    open_lines: dict[date, list[_AggregatedLine]] = {}
    lines = waiting = 0
    for gift in donations:
        person, problems = build_schedule_donor_or_list_problems(gift.declarer)
        if (last := year_end.claim_deadline(gift.donation_date)) < today:
            problems = (*problems, f"the deadline for claiming was {last}")
        if problems or person is None:
            left_out.append(ExcludedDonation(gift.donation_id, problems))
            continue
        shared = None
        if aggregate_small_donations and gift.amount_minor <= _MAX_AGGREGATED_DONATION:
            shared = _find_line(
                open_lines.setdefault(year_end.end_of_year_containing(gift.donation_date), []),
                person,
                gift.amount_minor,
                lines + 1,
                max_lines,
            )
        if (shared is None and lines == max_lines) or (shared is not None and shared.line > max_lines):
            waiting += 1
            continue
        line = shared.line if shared is not None else lines + 1
        lines = max(lines, line)
        listed.append(ClaimScheduleEntry(line, gift))
    return ClaimSchedule(tuple(listed), tuple(left_out), waiting)


def _find_line(
    lines: list[_AggregatedLine], person: ScheduleDonor, minor: int, number: int, max_count: int
) -> _AggregatedLine:
    """The first line of the accounting year with room for a small donation; a line has one donation of each person."""
    for line in lines:
        if person not in line.people and line.minor + minor <= _MAX_AGGREGATED_LINE:
            break
    else:
        line = _AggregatedLine(number)
        if number <= max_count:
            lines.append(line)
    line.people.add(person)
    line.minor += minor
    return line


def build_schedule_donor_or_list_problems(declarer: Declarer) -> tuple[ScheduleDonor | None, tuple[str, ...]]:
    """The donor in HMRC's format, or the reasons why HMRC would not accept them."""
    found = claimable.find_declarer_problems(declarer)
    # The title is optional for HMRC.
    problems = [f"{_FIELDS[field]} {problem.description}" for field, problem in found.items() if field != "title"]
    if found.get("title") is DeclarerProblem.SEVERAL_PEOPLE:
        problems.insert(0, f"the title {DeclarerProblem.SEVERAL_PEOPLE.description}")
    postcode = claimable.postcode_for_hmrc(declarer)
    if problems or postcode is None:
        return None, tuple(problems)
    first = " ".join((declarer.first_name or "").split())
    house = " ".join(declarer.building_name_number.split())
    return ScheduleDonor(
        "" if "title" in found else _title(declarer.title),
        first if len(first) <= _NAME else first[0],
        claimable.last_name_for_hmrc(declarer.last_name),
        _overseas_house(declarer, house) if postcode == claimable.OVERSEAS_POSTCODE else house,
        postcode,
    ), ()


def _title(text: str) -> str:
    """The title; "" if it is too long."""
    cleaned = " ".join(text.split()).rstrip(".")
    short = _TITLES.get(cleaned.casefold(), cleaned)
    return short if len(short) <= _TITLE and not is_spreadsheet_formula(short) else ""


def _overseas_house(declarer: Declarer, house: str) -> str:
    """The house name or number; abroad, as much of the address as fits."""
    parts = [house, *(" ".join(part.split()) for part in (declarer.road_name, declarer.city, declarer.country))]
    text = parts[0]
    for part in parts[1:]:
        if len(text) + 2 + len(part) <= _HOUSE:
            text = f"{text}, {part}"
    return text


def render_schedule_csv(entries: Sequence[ClaimScheduleEntry]) -> str:
    """The schedule as CSV. Raises ValueError for a donation that HMRC would not accept."""
    lines: dict[int, list[ClaimableDonation]] = {}
    for one in entries:
        lines.setdefault(one.line_number, []).append(one.donation)
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    for number in sorted(lines):
        rows.writerow(_row(lines[number]))
    return out.getvalue()


def _row(gifts: list[ClaimableDonation]) -> list[str]:
    minor = sum(gift.amount_minor for gift in gifts)
    when = [f"{max(gift.donation_date for gift in gifts):%d/%m/%y}", f"{minor // 100}.{minor % 100:02}"]
    if len(gifts) > 1:
        return ["", "", "", "", "", _AGGREGATED, "", *when]
    person, problems = build_schedule_donor_or_list_problems(gifts[0].declarer)
    if person is None:
        raise ValueError(f"donation {gifts[0].donation_id}: {'; '.join(problems)}")
    return [
        person.title,
        person.first_name,
        person.last_name,
        person.house_name_or_number,
        person.postcode,
        "",
        "",
        *when,
    ]
