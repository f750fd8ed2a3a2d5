"""What commands print: tables that fit the terminal, JSON for programs, and an exit status that tells of failures."""

import json
from datetime import date

import pytest
import typer

from almoner.cli.amounts import format_decimal, parse_amount
from almoner.cli.tables import ErrorOutput, FieldList, Table, print_output

DONATIONS = Table(
    ("donation", "given on", "note"),
    [("donation_1", date(2026, 3, 2), None), ("donation_2", date(2026, 3, 3), "two\nlines, forty letters long, or so")],
)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_table_has_a_line_for_each_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_output(DONATIONS)
    assert printed(capsys) == [
        "donation    given on    note",
        "donation_1  2026-03-02  -",
        "donation_2  2026-03-03  two lines, forty letters long, or so",
    ]


def test_a_table_wider_than_the_terminal_has_a_line_for_each_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    print_output(DONATIONS)
    assert printed(capsys) == [
        "donation  donation_1",
        "given on  2026-03-02",
        "note      -",
        "",
        "donation  donation_2",
        "given on  2026-03-03",
        "note      two lines, forty letters long, or so",
    ]


def test_an_empty_table_shows_its_titles(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    print_output(Table(DONATIONS.titles, []))
    assert printed(capsys) == ["donation  given on  note"]


def test_json_has_one_value_or_an_array_of_all_parts(capsys: pytest.CaptureFixture[str]) -> None:
    print_output(DONATIONS, as_json=True)
    assert json.loads(capsys.readouterr().out)[0] == {"donation": "donation_1", "given_on": "2026-03-02", "note": None}
    print_output([FieldList([("key", "apikey_1")]), "Store it now."], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"key": "apikey_1"}, {"message": "Store it now."}]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_is_told_and_ends_with_status_1(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        print_output(["One was paid.", ErrorOutput("One was not.")], as_json=as_json)
    assert ended.value.exit_code == 1
    out, err = capsys.readouterr()
    assert "One was paid." in out
    assert "One was not." in (out if as_json else err)


@pytest.mark.parametrize(("minor", "currency"), [(123456, "GBP"), (99, "GBP"), (123456789, "JPY"), (1234567, "KWD")])
def test_an_amount_is_read_as_commands_show_it(minor: int, currency: str) -> None:
    assert parse_amount(format_decimal(minor, currency), currency).minor == minor
    with pytest.raises(typer.BadParameter, match="is not an amount"):
        parse_amount("12,34", currency)
