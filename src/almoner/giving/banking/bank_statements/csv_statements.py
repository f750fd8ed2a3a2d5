"""Statements as CSV: any bank's columns, by a mapping that names ours (docs/runbooks/bank.md)."""

import csv
import io
import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from almoner.giving.banking.bank_statements.domain import MAX_REMITTANCE_TEXT, BankMovement, Statement, StatementError
from almoner.kit.money import EXPONENTS, MAX_MINOR

_COLUMNS: Final = ("day", "amount", "reference", "end_to_end_id", "counterparty", "words")
_NEEDED: Final = ("day", "amount", "reference")
_KNOWN: Final = {"account", "currency", "delimiter", "decimal", "day_form", "columns"}
_REPORTED: Final = 200
_GROUPS: Final = " \u00a0\u202f'\u2019"
"""How banks group thousands, beside the comma or the point that is not their decimal sign."""
_FORM: Final = "[+-]?(?:[0-9]+|[0-9]{{1,3}}([{groups}])[0-9]{{3}}(?:\\1[0-9]{{3}})*)(?:{decimal}([0-9]+))?"


def parse_statement(content: bytes, mapping: Path) -> list[Statement]:
    """The statement of a file. Raises StatementRefused with every problem of the mapping, or of the file."""
    form = _load_mapping(mapping)
    try:
        text = content.decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=form["delimiter"], strict=True))
    except UnicodeDecodeError as error:
        raise StatementError("the file is not UTF-8") from error
    except csv.Error as error:
        raise StatementError(f"the file is not valid CSV: {error}") from error
    columns = form["columns"]
    if missing := [name for name in columns.values() if rows and name not in rows[0]]:
        raise StatementError(f"the file has no column {', '.join(missing)}")
    found: list[str] = []
    movements = [_movement(number, row, form, found) for number, row in enumerate(rows, 2)]
    if found:
        rest = f"\nand {len(found) - _REPORTED:,} more" if len(found) > _REPORTED else ""
        raise StatementError("\n".join(found[:_REPORTED]) + rest)
    digest = sha256(content).hexdigest()
    stored = tuple(one for one in movements if one is not None)
    return [Statement(form["account"], digest[:16], form["currency"], None, None, digest, stored, export=True)]


def _load_mapping(mapping: Path) -> dict[str, Any]:
    try:
        form = tomllib.loads(mapping.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StatementError(f"{mapping} cannot be read: {error}") from error
    columns = form.get("columns")
    found = [f"{name} is not one of {', '.join(sorted(_KNOWN))}" for name in form.keys() - _KNOWN]
    if not isinstance(columns, dict):
        columns, found = {}, [*found, "[columns] is required"]
    found += [f"columns.{name} is not one of {', '.join(_COLUMNS)}" for name in columns.keys() - set(_COLUMNS)]
    found += [f"columns.{name} is required" for name in _NEEDED if name not in columns]
    found += [f"{name} is required" for name in ("account", "currency") if not form.get(name)]
    if form.get("currency") and form["currency"] not in EXPONENTS:
        found.append("currency is not an active ISO 4217 currency")
    if form.get("decimal", ".") not in {".", ","}:
        found.append("decimal must be . or ,")
    if len(str(form.get("delimiter", ","))) != 1:
        found.append("delimiter must be one character")
    if found:
        raise StatementError(f"{mapping}: " + "; ".join(found))
    return {"delimiter": ",", "decimal": ".", "day_form": "%Y-%m-%d", **form}


def _movement(number: int, row: Mapping[str, str], form: Mapping[str, Any], found: list[str]) -> BankMovement | None:
    given = {name: (row.get(column) or "").strip() for name, column in form["columns"].items()}
    day, minor = _day(given["day"], form["day_form"]), _minor(given["amount"], form)
    problems = [] if day else [f"line {number}: {given['day']!r} is not a date in the format {form['day_form']}"]
    if minor is None:
        problems.append(f"line {number}: {given['amount']!r} is not a valid amount in {form['currency']}")
    if not given["reference"]:
        problems.append(f"line {number}: the bank's reference is missing")
    found += problems
    if day is None or minor is None or problems:
        return None
    words = given.get("words", "")[:MAX_REMITTANCE_TEXT] or None
    other = given.get("counterparty", "")[:140] or None
    named = given.get("end_to_end_id", "")[:35] or None
    return BankMovement(day, minor, form["currency"], given["reference"][:140], named, other, words, None)


def _day(text: str, form: str) -> date | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC).date()
    except ValueError:
        return None


def _minor(text: str, form: Mapping[str, Any]) -> int | None:
    """None unless thousands are grouped by three, or not at all: the sign of another bank would move the point."""
    decimal: str = form["decimal"]
    groups = _GROUPS + ("," if decimal == "." else ".")
    exponent = EXPONENTS[form["currency"]]
    found = re.fullmatch(_FORM.format(groups=re.escape(groups), decimal=re.escape(decimal)), text)
    if found is None or len(found[2] or "") > max(exponent, 2):
        return None
    minor = Decimal(re.sub(f"[{re.escape(groups)}]", "", text).replace(decimal, ".")).scaleb(exponent)
    return int(minor) if minor == int(minor) and abs(minor) <= MAX_MINOR else None
