"""HMRC's schedule of the gifts of a claim: who may be on it, one gift a line or small ones together; pure.

After "Schedule spreadsheet to claim back tax on Gift Aid donations" (gov.uk, as of 28 November 2025): the title has at
most 4 characters, first name (or first initial) and last name 35, hyphens of a last name are spaces, the postcode is in
capitals with a space, dates are DD/MM/YY, amounts have two decimals, what does not apply is left blank. A postcode of X
stands for an address that is not in the United Kingdom. Gifts of at most 20 pounds from different donors may stand
together on a line of up to 1,000 pounds, without a name: so HMRC's page of 2013, that of 2025 says under 30.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from almoner.giving.gift_aid.claims.domain import Gift, LeftOut, Listed, YearEnd
from almoner.giving.gift_aid.declarations.domain import Declarer

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
MAX_LINES: Final = 1000
"""Of one schedule."""
SMALL: Final = 20_00
TOGETHER: Final = 1000_00
ABROAD: Final = "X"
_TITLE: Final = 4
_NAME: Final = 35
_HOUSE: Final = 40
_AGGREGATED: Final = "Gifts of at most 20 pounds"
_TITLES: Final = {"professor": "Prof", "reverend": "Rev", "doctor": "Dr", "captain": "Capt", "mister": "Mr"}
_POSTCODE: Final = re.compile(
    r"(GIR 0AA|[A-PR-UWYZ][A-HK-Y]?[0-9][0-9A-HJKMNPR-Y]? [0-9][ABD-HJLNP-UW-Z]{2})", re.ASCII
)
_ISLANDS: Final = ("JE", "GY", "IM")
"""Jersey, Guernsey and Man have postcodes of the same form, and are not in the United Kingdom."""
_HOME: Final = frozenset(
    {
        *("uk", "gb", "gbr", "united kingdom", "the united kingdom", "great britain", "britain"),
        *("england", "scotland", "wales", "northern ireland"),
        "united kingdom of great britain and northern ireland",
    }
)
_FORMULA: Final = ("=", "+", "-", "@", "|", "%")
"""How a cell begins that a spreadsheet would run. HMRC takes no apostrophe before it, so such a gift is left out."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who gave, as HMRC takes it."""

    title: str
    first_name: str
    last_name: str
    house: str
    postcode: str


@dataclass(slots=True)
class _Together:
    """A line of small gifts, while it is being filled."""

    line: int
    minor: int = 0
    people: set[Person] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Made:
    """A schedule: its gifts on their lines, those that HMRC would not take, and how many wait for the next one."""

    listed: tuple[Listed, ...]
    left_out: tuple[LeftOut, ...]
    waiting: int

    @property
    def lines(self) -> int:
        """How many it has."""
        return max((one.line for one in self.listed), default=0)


def make(gifts: Iterable[Gift], today: date, year: YearEnd, *, together: bool, most: int = MAX_LINES) -> Made:
    """The schedule of these gifts, in their order, of at most ``most`` lines. ``together``: small gifts share lines."""
    listed: list[Listed] = []
    left_out: list[LeftOut] = []
    open_lines: dict[date, list[_Together]] = {}
    lines = waiting = 0
    for gift in gifts:
        person, problems = taken(gift.declarer)
        if (last := year.last_claim(gift.day)) < today:
            problems = (*problems, f"the time to claim ended on {last}")
        if problems or person is None:
            left_out.append(LeftOut(gift.donation_id, problems))
            continue
        shared = None
        if together and gift.minor <= SMALL:
            shared = _place(open_lines.setdefault(year.of(gift.day), []), person, gift.minor, lines + 1, most)
        if (shared is None and lines == most) or (shared is not None and shared.line > most):
            waiting += 1
            continue
        line = shared.line if shared is not None else lines + 1
        lines = max(lines, line)
        listed.append(Listed(line, gift))
    return Made(tuple(listed), tuple(left_out), waiting)


def _place(lines: list[_Together], person: Person, minor: int, number: int, most: int) -> _Together:
    """The first line with room for a small gift, of an accounting year: a line takes one gift of a person."""
    for line in lines:
        if person not in line.people and line.minor + minor <= TOGETHER:
            break
    else:
        line = _Together(number)
        if number <= most:
            lines.append(line)
    line.people.add(person)
    line.minor += minor
    return line


def taken(declarer: Declarer) -> tuple[Person | None, tuple[str, ...]]:
    """Who declared as HMRC takes it, or all that it would not take."""
    problems: list[str] = []
    first = _clean("first name", declarer.first_name or "", problems)
    last = _clean("last name", declarer.last_name.replace("-", " "), problems)
    house = _clean("house name or number", declarer.building_name_number, problems)
    if not first:
        problems.append("there is no first name, and no initial")
    if not last:
        problems.append("there is no last name")
    if len(last) > _NAME:
        problems.append(f"the last name has more than {_NAME} characters")
    postcode = _postcode(declarer)
    if postcode is None:
        problems.append("the postcode is none of the United Kingdom")
    elif postcode == ABROAD:
        house = _whole(declarer, house)
    if len(house) > _HOUSE:
        problems.append(f"the house name or number has more than {_HOUSE} characters")
    if problems or postcode is None:
        return None, tuple(problems)
    return Person(_title(declarer.title), first if len(first) <= _NAME else first[0], last, house, postcode), ()


def _clean(name: str, text: str, problems: list[str]) -> str:
    cleaned = " ".join(text.split())
    if cleaned.startswith(_FORMULA):
        problems.append(f"the {name} begins with {cleaned[0]}, which a spreadsheet would run")
    return cleaned


def _title(text: str) -> str:
    """HMRC does without a title: one that is too long is left blank."""
    cleaned = " ".join(text.split()).rstrip(".")
    short = _TITLES.get(cleaned.casefold(), cleaned)
    return short if len(short) <= _TITLE and not short.startswith(_FORMULA) else ""


def _postcode(declarer: Declarer) -> str | None:
    """``SW1Y 4JH``; X abroad; None for a home address without one."""
    plain = "".join(declarer.postcode.split()).upper()
    spaced = f"{plain[:-3]} {plain[-3:]}"
    if _POSTCODE.fullmatch(spaced):
        return ABROAD if spaced.startswith(_ISLANDS) else spaced
    country = " ".join(declarer.country.replace(".", "").split()).casefold()
    return None if country in _HOME else ABROAD


def _whole(declarer: Declarer, house: str) -> str:
    """Abroad, as much of the address as there is room for tells who it is."""
    parts = [house, *(" ".join(part.split()) for part in (declarer.road_name, declarer.city, declarer.country))]
    text = parts[0]
    for part in parts[1:]:
        if len(text) + 2 + len(part) <= _HOUSE:
            text = f"{text}, {part}"
    return text


def written(listed: Sequence[Listed]) -> str:
    """The schedule as CSV under ``COLUMNS``, line by line. Raises ValueError for a gift that HMRC would not take."""
    lines: dict[int, list[Gift]] = {}
    for one in listed:
        lines.setdefault(one.line, []).append(one.gift)
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    for number in sorted(lines):
        rows.writerow(_row(lines[number]))
    return out.getvalue()


def _row(gifts: list[Gift]) -> list[str]:
    minor = sum(gift.minor for gift in gifts)
    when = [f"{max(gift.day for gift in gifts):%d/%m/%y}", f"{minor // 100}.{minor % 100:02}"]
    if len(gifts) > 1:
        return ["", "", "", "", "", _AGGREGATED, "", *when]
    person, problems = taken(gifts[0].declarer)
    if person is None:
        raise ValueError(f"donation {gifts[0].donation_id}: {'; '.join(problems)}")
    return [person.title, person.first_name, person.last_name, person.house, person.postcode, "", "", *when]
