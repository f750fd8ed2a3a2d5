"""Mergers, re-registrations and double registrations: by hand, as the tables are never shipped."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_gb_links import CharityMergersReader, DualRegistrationsReader, ReregistrationsReader
from almoner.nonprofits.registers.domain import ImportRefused, RegisterLink
from almoner.nonprofits.registers.ports import RegisterSource
from tests.support.register_files import read

HEADER = (
    "transferor_name,transferor_regno,transferor_subno,transferee_name,transferee_regno,transferee_subno,"
    "date_vesting_declaration,date_property_transferred,date_merger_registered\n"
)


def merger(row: str) -> RegisterLink | str:
    """The link of one row, or what else became of it."""
    found = read(CharityMergersReader(), HEADER + row)
    return found.links[0] if found.links else "unnumbered" if found.unnumbered else found.bad[0].reason


@pytest.mark.parametrize(
    ("row", "number", "to_number", "day"),
    [
        ("A,1100001,0,B,1100002,0,,2003-01-01 00:00:00,2007-11-30 00:00:00", "1100001", "1100002", (2003, 1, 1)),
        ("A,210202,5,B,210202,19,,,2008-01-01 00:00:00", "210202-5", "210202-19", (2008, 1, 1)),
        ("A,1100001,02,B,1100002,00,2020-05-05 00:00:00,,", "1100001-2", "1100002", (2020, 5, 5)),
    ],
)
def test_merger(row: str, number: str, to_number: str, day: tuple[int, int, int]) -> None:
    """Linked charities have numbers of their own; the day is that of the transfer, else the next best."""
    assert merger(row) == RegisterLink("merged", "CCEW", number, "CCEW", to_number, datetime(*day, tzinfo=UTC))


@pytest.mark.parametrize(
    ("row", "became"),
    [
        ("A (unregistered),,,B,1100002,0,,2008-01-01 00:00:00,", "unnumbered"),
        ("A,1100001,0,University (exempt),,,,2008-01-01 00:00:00,", "unnumbered"),
        ("A,518412,0,Museum,000000,0,,2008-01-01 00:00:00,", "unnumbered"),
        ("A,1100001,0,A,1100001,0,,2008-01-01 00:00:00,", "unnumbered"),
        ("A,11,0,B,1100002,0,,2008-01-01 00:00:00,", "CCEW has no such number"),
        ("A,1100001,0,B", "the row has 4 fields, the header has 9"),
    ],
)
def test_no_merger(row: str, became: str) -> None:
    """Who was never registered has no number; what cannot be read is put aside, without the names of persons."""
    assert merger(row) == became


def test_reregistration() -> None:
    """The new number is the body; a company that is no charity has none."""
    text = "Old charity number,New charity number,Name\n1100001,1100002,A\n1100003,13086240,B CIC\n"
    found = read(ReregistrationsReader(), text)
    assert found.links == [RegisterLink("reregistered", "CCEW", "1100001", "CCEW", "1100002")]
    assert len(found.unnumbered) == 1


def test_double_registration() -> None:
    """One body in two registers."""
    text = "Scottish Charity Number,E&W Charity Number,Charity Name (E&W)\nSC000001,1100001,A\nSC1,1100001,A\n"
    found = read(DualRegistrationsReader(), text)
    assert found.links == [RegisterLink("same", "OSCR", "SC000001", "CCEW", "1100001")]
    assert [row.reason for row in found.bad] == ["OSCR has no such number"]


@pytest.mark.parametrize("source", [CharityMergersReader(), ReregistrationsReader(), DualRegistrationsReader()])
def test_refused(source: RegisterSource) -> None:
    """Another file is refused; none of them lists bodies."""
    assert not source.lists_organisations
    with pytest.raises(ImportRefused, match="no column"):
        read(source, "<html>\n")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("source", "name", "links", "unnumbered"),
    [
        (CharityMergersReader(), "ccew-register-of-mergers.csv", 5368, 475),
        (ReregistrationsReader(), "charity-reregistrations.csv", 1929, 2),
        (DualRegistrationsReader(), "dual-registered-uk-charities.csv", 1503, 0),
    ],
)
def test_whole_given_files(given_files: Path, source: RegisterSource, name: str, links: int, unnumbered: int) -> None:
    """All rows of the tables as published; they are not copied, for their licence."""
    found = read(source, given_files / "gb_lookups" / name)
    assert (len(found.links), len(found.unnumbered), found.bad) == (links, unnumbered, [])
