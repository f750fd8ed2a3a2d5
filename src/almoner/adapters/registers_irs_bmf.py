"""Reads the IRS Exempt Organizations Business Master File (28 columns, looked up by name; public domain).

What becomes of its codes is decided here and told in ``docs/guides/registers.md``. The column ICO ("in care of",
mostly a private
person) is never read, and is cut out of a row that goes to quarantine.
"""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from almoner.adapters.capitals import readable
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused
from almoner.nonprofits.registries.domain import number_key

NEEDED: Final = (
    "EIN",
    "NAME",
    "STREET",
    "CITY",
    "STATE",
    "ZIP",
    "GROUP",
    "SUBSECTION",
    "AFFILIATION",
    "RULING",
    "DEDUCTIBILITY",
    "FOUNDATION",
    "INCOME_CD",
    "SORT_NAME",
)
PERSONAL: Final = "ICO"

CHARITABLE: Final = frozenset({"03", "50", "60", "70", "71", "92"})
"""501(c)(3), (e) hospital services, (f) school investments, (k) child care, (n) risk pools, 4947(a)(1) trusts."""
SOCIAL_WELFARE: Final = "04"
DEDUCTIBLE: Final = "1"
SCHOOLS: Final = frozenset({"11", "13"})
CENTRAL: Final = frozenset({"6", "8"})
SUBORDINATE: Final = "9"
ABROAD: Final = "abroad"
"""The part of the rows without a state: they come in one file."""


class IrsBmf:
    """The reader of ``eo1.csv`` .. ``eo4.csv`` and of the files of one state each."""

    code = "irs-bmf"
    registry_code = "IRS"
    encoding = "utf-8-sig"

    def read(self, lines: Iterable[str]) -> Iterator[Entry | BadRow]:
        """The rows of one file. Raises ImportRefused when a needed column is missing or the file is no CSV."""
        rows = csv.reader(lines)
        header = [name.strip().upper() for name in next(rows, [])]
        if missing := [name for name in NEEDED if name not in header]:
            raise ImportRefused(
                f"the file has no column {', '.join(missing)}: "
                "it is not an IRS business master file, or its form has changed"
            )
        places = [header.index(name) for name in NEEDED]
        width = len(header)
        personal = header.index(PERSONAL) if PERSONAL in header else width
        try:
            for row in rows:
                if len(row) != width:
                    reason = f"the row has {len(row)} fields, the header has {width}"
                    yield BadRow(rows.line_num, reason, ",".join(row[:2])[:2000])  # which field is personal is unsure
                    continue
                made = _entry([row[place].strip() for place in places])
                yield made if isinstance(made, Entry) else BadRow(rows.line_num, made, _without(row, personal))
        except csv.Error as error:
            raise ImportRefused(f"line {rows.line_num} is not CSV ({error}): fetch the file again") from error


def _entry(values: list[str]) -> Entry | str:
    """The entry of one row, or the sentence that says what is wrong with it."""
    (
        ein, name, street, city, state, zip_code, group, subsection, affiliation, ruling, deductibility, foundation,
        income, sort_name,
    ) = values  # fmt: skip
    number = number_key("IRS", ein)
    if number is None:
        return f"EIN '{ein[:40]}' is not nine digits, or is 000000000"
    if not name:
        return "NAME is empty"
    written = "".join((name, street, city, state, sort_name))
    if (not written.isascii() and "\ufffd" in written) or "\x00" in written:
        return "the row holds characters that are not UTF-8, or NUL"
    grouped = group if group.strip("0") else None
    return Entry(
        number=number,
        part=state or ABROAD,
        name=name,
        display_name=readable(name),
        other_name=sort_name or None,
        types=types_of(subsection, deductibility, foundation),
        address_line_1=street or None,
        address_line_2=None if state else city or None,  # abroad, CITY holds the country's name
        city=(city or None) if state else None,
        state=state or None,
        postcode=_postcode(zip_code),
        registration_date=_first_of_month(ruling),
        group_key=grouped,
        is_branch_parent=affiliation in CENTRAL and grouped is not None,
        usa_group_exempt=affiliation == SUBORDINATE and grouped is not None,
        prominence=int(income) if income.isascii() and income.isdigit() and len(income) == 1 else 0,
    )


def types_of(subsection: str, deductibility: str, foundation: str) -> list[str]:
    """The types that follow from the IRS codes.

    ``nonprofit`` for charities and for bodies to which gifts are deductible, ``education`` beside it for their schools,
    ``social_impact`` for other social welfare bodies; unions, business leagues, clubs and the rest have no type.
    """
    if subsection in CHARITABLE or deductibility == DEDUCTIBLE:
        return ["nonprofit", "education"] if foundation in SCHOOLS and subsection == "03" else ["nonprofit"]
    return ["social_impact"] if subsection == SOCIAL_WELFARE else []


def _postcode(zip_code: str) -> str | None:
    five, _, four = zip_code.partition("-")
    if not five.strip("0"):
        return None
    return five if not four.strip("0") else zip_code


@lru_cache(maxsize=4096)
def _first_of_month(ruling: str) -> datetime | None:
    """RULING is YYYYMM, 000000 where it is unknown."""
    if not (len(ruling) == 6 and ruling.isascii() and ruling.isdigit()):
        return None
    year, month = int(ruling[:4]), int(ruling[4:])
    return datetime(year, month, 1, tzinfo=UTC) if year >= 1800 and 1 <= month <= 12 else None


def _without(row: list[str], personal: int) -> str:
    """The row as text without the personal column."""
    kept = [value for place, value in enumerate(row) if place != personal]
    return ",".join(kept)[:2000]
