"""`--help` of every command: it fits 80 columns, and no summary is cut off."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from almoner.cli.terminal import commands

WIDTH = 80


def _paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if hasattr(command, "list_commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            yield from _paths(command.get_command(context, name), (*path, name))


PATHS = list(_paths(typer.main.get_command(commands)))


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_fits_the_terminal(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is longer than a terminal is wide, and no summary ends in an ellipsis."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    outcome = CliRunner().invoke(commands, [*path, "--help"])

    assert outcome.exit_code == 0
    assert not [line for line in outcome.output.splitlines() if len(line) > WIDTH]
    summaries = outcome.output.partition("Commands:")[2]
    assert not [line for line in summaries.splitlines() if line.endswith("...")]


def _numbers(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, float | None]]:
    """The options with a least value, and their largest value."""
    for option in command.params:
        if getattr(option, "min", None) is not None:
            yield " ".join((*path, option.name)), option.max
    for name, below in getattr(command, "commands", {}).items():
        yield from _numbers(below, (*path, name))


def test_a_number_of_rows_has_a_largest_value() -> None:
    """A number that PostgreSQL cannot read is refused as an option."""
    numbers = dict(_numbers(typer.main.get_command(commands)))
    assert {name for name, largest in numbers.items() if largest is None} == {"refunds create amount_minor"}
    assert "refunds list limit" in numbers
    outcome = CliRunner().invoke(commands, ["refunds", "list", "--limit", "9" * 20])
    assert (outcome.exit_code, "1000000" in outcome.output) == (2, True)
