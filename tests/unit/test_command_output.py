"""What commands print: tables that fit the terminal, JSON for programs, and an exit status that tells of failures."""

import errno
import json
import os
import pty
import stat
import subprocess
import sys
import termios
from datetime import date
from pathlib import Path
from typing import BinaryIO

import pytest
import typer

from almoner.cli import outputs
from almoner.cli.amounts import format_decimal, parse_amount
from almoner.cli.tables import ErrorOutput, FieldList, Table, print_output
from almoner.cli.terminal import exit_with_error_message
from almoner.giving.banking.bank_statements.domain import BankStatementError

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


def test_columns_stay_aligned_below_wide_and_combining_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = Table(("name", "id"), [("国境なき医師団", 1), ("Re\u0301seau", 2), ("Ｒed Cross", 3)])
    monkeypatch.setenv("COLUMNS", "18")
    print_output(names)
    assert printed(capsys) == [
        "name            id",
        "国境なき医師団  1",
        "Re\u0301seau          2",
        "Ｒed Cross      3",
    ]
    monkeypatch.setenv("COLUMNS", "17")
    print_output(names)
    assert printed(capsys)[:2] == ["name  国境なき医師団", "id    1"]


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


def test_a_file_is_complete_or_not_there_and_private(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"

    def fail(opened: BinaryIO) -> None:
        opened.write(b"half of it")
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"), outputs.create_file(path) as opened:
        fail(opened)
    assert not path.exists()
    outputs.write_file(path, b"all of it")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"all of it", 0o600)
    with pytest.raises(FileExistsError):
        outputs.write_file(path, b"something else")
    assert path.read_bytes() == b"all of it"


def test_what_a_message_quotes_does_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_output("Line 1: \x1b]0;owned\x07 is no entry.\nLine 2: \u202eevil\u202c.\rDone.")
    assert printed(capsys) == ["Line 1:  ]0;owned  is no entry.", "Line 2:  evil . Done."]


def test_lines_of_a_csv_file_keep_their_endings(capsys: pytest.CaptureFixture[str]) -> None:
    print_output("Date,Amount\r\n26/11/26,20.00\r")
    assert capsys.readouterr().out == "Date,Amount\r\n26/11/26,20.00\r\n"


def test_an_error_that_quotes_a_file_does_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), exit_with_error_message():
        raise BankStatementError("\x1b[2J is no entry\n\x9b31m is no day")
    assert capsys.readouterr().err == " [2J is no entry\n 31m is no day\n"


def test_progress_stays_on_one_line_of_a_narrow_terminal() -> None:
    screen, other = pty.openpty()
    termios.tcsetwinsize(other, (24, 30))
    program = (
        "from almoner.cli.progress import ProgressLine; line = ProgressLine(); "
        "line.show('reading: ' + '9' * 60); line.clear()"
    )
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    subprocess.run([sys.executable, "-c", program], stdout=other, env=kept, check=True)
    os.close(other)
    shown = os.read(screen, 1024).decode().split("\r")
    os.close(screen)
    assert shown[1].startswith("  reading: 999")
    assert max(map(len, shown)) < 30


def test_letters_that_the_terminal_does_not_have_are_escaped() -> None:
    program = (
        "from almoner.cli import outputs, tables; outputs.escape_unencodable_characters(); "
        "outputs.detect_full_disk_on_stdout(); "
        "[tables.print_output('Caf\xe9 \u30c6', as_json=as_json) for as_json in (False, True)]"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", program],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    shown, _, as_json = done.stdout.decode("latin-1").partition("\n")
    assert shown == "Caf\xe9 \\u30c6"
    assert json.loads(as_json) == {"message": "Caf\xe9 \u30c6"}


@pytest.mark.parametrize(("minor", "currency"), [(123456, "GBP"), (99, "GBP"), (123456789, "JPY"), (1234567, "KWD")])
def test_an_amount_is_read_as_commands_show_it(minor: int, currency: str) -> None:
    assert parse_amount(format_decimal(minor, currency), currency).minor == minor
    with pytest.raises(typer.BadParameter, match="is not an amount"):
        parse_amount("12,34", currency)
