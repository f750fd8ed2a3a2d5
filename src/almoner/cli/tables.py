"""Print the output of commands as messages, tables and fields, or as JSON with ``--json``."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from almoner.cli import outputs
from almoner.kit.text import count_terminal_columns, sanitise_for_terminal

MAX_ROWS: Final = 1_000_000
Limit = Annotated[int, typer.Option(min=1, max=MAX_ROWS, help="Maximum number of rows to show.")]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with column titles."""

    titles: Sequence[str]
    rows: Sequence[Sequence[object]]

    def to_json(self) -> list[dict[str, object]]:
        """A JSON object for each row, with the column titles as keys."""
        keys = [_key(title) for title in self.titles]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def print(self) -> None:
        """Print aligned columns, or one value per line if the terminal is too narrow."""
        lines = [list(self.titles), *([_cell(cell) for cell in row] for row in self.rows)]
        widths = [max(count_terminal_columns(line[column]) for line in lines) for column in range(len(self.titles))]
        if self.rows and sum(widths) + 2 * (len(widths) - 1) > _terminal_width():
            for number, row in enumerate(self.rows):
                if number:
                    typer.echo()
                FieldList(list(zip(self.titles, row, strict=True))).print()
            return
        for line in lines:
            typer.echo("  ".join(_padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip())


@dataclass(frozen=True, slots=True)
class FieldList:
    """The named values of one record."""

    pairs: Sequence[tuple[str, object]]

    def to_json(self) -> dict[str, object]:
        """A JSON object with the names as keys."""
        return {_key(name): value for name, value in self.pairs}

    def print(self) -> None:
        """Print one value per line, aligned."""
        width = max((len(name) for name, _ in self.pairs), default=0)
        for name, value in self.pairs:
            typer.echo(f"{name.ljust(width)}  {_cell(value)}")


@dataclass(frozen=True, slots=True)
class ErrorOutput:
    """An error message. It is printed on standard error, and the exit status is 1."""

    message: str

    def to_json(self) -> dict[str, object]:
        """A JSON object with only the error."""
        return {"error": self.message}

    def print(self) -> None:
        """Print the error on standard error, on one line."""
        typer.echo(sanitise_for_terminal(self.message), err=True)


Part = str | Table | FieldList | ErrorOutput
Output = Part | Sequence[Part] | None
"""The output of a command. A blank line separates tables from text."""


def print_output(output: Output, *, as_json: bool = False) -> None:
    """Print the parts in order. With JSON output, a single part is printed alone and several parts as an array."""
    parts: Sequence[Part] = () if output is None else (output,) if isinstance(output, Part) else output
    if as_json:
        values = [{"message": part} if isinstance(part, str) else part.to_json() for part in parts]
        value = values[0] if len(values) == 1 else values
        typer.echo(json.dumps(value, default=str, ensure_ascii=not outputs.is_stdout_utf_8(), indent=2))
    else:
        for number, part in enumerate(parts):
            if number and isinstance(parts[number - 1], Table):
                typer.echo()
            if isinstance(part, str):
                outputs.echo(part)
            else:
                part.print()
    if any(isinstance(part, ErrorOutput) for part in parts):
        raise typer.Exit(1)


def _cell(value: object) -> str:
    """Format a value on one line.

    Control characters are removed, so that user input cannot add lines or move the cursor.
    """
    return "-" if value is None else sanitise_for_terminal(str(value))


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - count_terminal_columns(cell))


def _key(title: str) -> str:
    return title.replace(" ", "_")


def _terminal_width() -> float:
    """The width of the terminal. None if the output is not a terminal, so that rows are not wrapped."""
    return shutil.get_terminal_size((0, 0)).columns or float("inf")
