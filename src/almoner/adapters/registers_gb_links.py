"""Read relations between British charities: mergers, re-registrations, dual registrations.

The tables of charity-lookups (ODbL 1.0, compiled from the registers and from charities' reports). They list no
charities, and are never shipped: operators who use them fetch them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from almoner.adapters.registers_tables import DelimitedTable
from almoner.adapters.registers_values import ValueReader, clean_text
from almoner.nonprofits.registers.domain import RegisterLink, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.nonprofits.registries.domain import parse_number_key

CCEW, OSCR = "CCEW", "OSCR"
_NO_CHARITY: Final = frozenset(("", "000000"))
_COMPANY: Final = re.compile(r"[0-9]{8}", re.ASCII)
"""A Companies House number, which is not a charity."""
_Rows = Iterator[SourceRow]


class _LinksReader:
    """The base of the three readers.

    Rows without a charity's number on one side, and those within one charity, are counted as unnumbered: they relate no
    two charities.
    """

    registry_code = CCEW
    lists_organisations = False
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers: frozenset[str] = frozenset()


class CharityMergersReader(_LinksReader):
    """Reads the register of mergers.

    Many merged charities were excepted or never registered: their rows have no number.
    """

    code = "gb-mergers"

    def read(self, files: Sequence[SourceFile]) -> _Rows:
        """One link for each merger of two registered charities."""
        for place, file in enumerate(files):
            table = DelimitedTable(file, place=place)
            columns = table.get_column_indexes(
                "transferor_regno", "transferor_subno", "transferee_regno", "transferee_subno",
                "date_property_transferred", "date_vesting_declaration", "date_merger_registered",
            )  # fmt: skip
            for row in table:
                if isinstance(row, RejectedRow):
                    yield row
                    continue
                giver, giver_sub, taker, taker_sub, *days = (clean_text(row.fields[column]) for column in columns)
                day = next(filter(None, days), "")
                ends = (CCEW, _linked_number(giver, giver_sub)), (CCEW, _linked_number(taker, taker_sub))
                yield from _link("merged", ends, day, row.line_number, place)


class ReregistrationsReader(_LinksReader):
    """Reads charities that were registered again under a new number, usually as incorporated ones."""

    code = "gb-reregistrations"

    def read(self, files: Sequence[SourceFile]) -> _Rows:
        """One link for each row."""
        for place, file in enumerate(files):
            table = DelimitedTable(file, place=place)
            old, new = table.get_column_indexes("Old charity number", "New charity number")
            for row in table:
                if isinstance(row, RejectedRow):
                    yield row
                else:
                    ends = (CCEW, clean_text(row.fields[old])), (CCEW, clean_text(row.fields[new]))
                    yield from _link("reregistered", ends, "", row.line_number, place)


class DualRegistrationsReader(_LinksReader):
    """Reads charities that are registered in Scotland and in England and Wales."""

    code = "gb-dual"
    registry_code = OSCR

    def read(self, files: Sequence[SourceFile]) -> _Rows:
        """One link for each pair."""
        for place, file in enumerate(files):
            table = DelimitedTable(file, place=place)
            scottish, english = table.get_column_indexes("Scottish Charity Number", "E&W Charity Number")
            for row in table:
                if isinstance(row, RejectedRow):
                    yield row
                else:
                    ends = (OSCR, clean_text(row.fields[scottish])), (CCEW, clean_text(row.fields[english]))
                    yield from _link("same", ends, "", row.line_number, place)


def _linked_number(number: str, linked: str) -> str:
    """A number with its linked charity's number, written ``1``, ``01`` or ``001``; 0 is the main charity."""
    own = linked.lstrip("0")
    return f"{number}-{own}" if own else number


def _link(
    kind: Literal["same", "merged", "reregistered"],
    ends: tuple[tuple[str, str], tuple[str, str]],
    day: str,
    line: int,
    place: int,
) -> _Rows:
    (registry, written), (to_registry, to_written) = ends
    if written == to_written or not _NO_CHARITY.isdisjoint((written, to_written)):
        yield RowWithoutNumber(line, place)
        return
    if _COMPANY.fullmatch(to_written):
        yield RowWithoutNumber(line, place)
        return
    number, to_number = parse_number_key(registry, written), parse_number_key(to_registry, to_written)
    if number is None or to_number is None:
        yield RejectedRow(line, f"{registry if number is None else to_registry} has no such number", "", place)
        return
    reading = ValueReader(place)
    yield RegisterLink(kind, registry, number, to_registry, to_number, reading.read_date("date", day))
    yield from reading.pop_unreadable_values(line)
