"""What commands print: tables for people, the API's JSON for programs."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

_DIGITS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
"""Digits after the point, of currencies that do not have two (ISO 4217)."""


@dataclass(frozen=True)
class Column:
    """A column: its title, and the path of its member in the JSON. ``currency``: the path of an amount's currency."""

    title: str
    path: str
    currency: str | None = None

    def text(self, record: dict[str, Any]) -> str:
        """The value as people read it, on one line."""
        value = member(record, self.path)
        if value is None:
            return "-"
        if self.currency is not None and isinstance(value, int):
            return format_money(value, str(member(record, self.currency) or ""))
        return one_line(_readable(value))


def member(record: Any, path: str) -> Any:
    """What is at a path such as ``hosted.sessionId``; None where there is nothing."""
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def format_money(minor: int, currency: str) -> str:
    """An amount with its currency: ``25.00 USD``."""
    digits = _DIGITS.get(currency, 2)
    if not digits:
        return f"{minor} {currency}"
    whole, part = divmod(abs(minor), 10**digits)
    return f"{'-' if minor < 0 else ''}{whole}.{part:0{digits}d} {currency}"


def _readable(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def one_line(text: str) -> str:
    """The text without anything that moves a terminal's cursor: others have typed it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def print_json(value: Any) -> None:
    """JSON, readable."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: Any) -> None:
    """JSON on one line, at once."""
    typer.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    sys.stdout.flush()


def print_table(columns: Sequence[Column], records: Sequence[dict[str, Any]]) -> None:
    """One line a record; one line a value where the terminal is too narrow for that."""
    rows = [[column.text(record) for column in columns] for record in records]
    titles = [column.title for column in columns]
    widths = [max(len(row[number]) for row in [titles, *rows]) for number in range(len(titles))]
    width = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0
    if width and rows and sum(widths) + 2 * (len(widths) - 1) > width:
        for number, row in enumerate(rows):
            if number:
                typer.echo()
            _print_pairs(list(zip(titles, row, strict=True)))
        return
    for row in [titles, *rows]:
        typer.echo("  ".join(cell.ljust(one) for cell, one in zip(row, widths, strict=True)).rstrip())


def print_record(record: dict[str, Any]) -> None:
    """All members of a record, one line each; those of inner objects by their paths."""
    _print_pairs([(path, one_line(_readable(value))) for path, value in _members(record, "") if value is not None])


def _members(record: dict[str, Any], above: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in record.items():
        if isinstance(value, dict) and value:
            found += _members(value, f"{above}{name}.")
        else:
            found.append((above + name, value))
    return found


def _print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        typer.echo(f"{name.ljust(width)}  {value}")
