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
