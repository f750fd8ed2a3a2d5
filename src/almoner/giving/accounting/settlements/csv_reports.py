"""Parses settlement reports: CSV with a header, columns by name (docs/runbooks/disbursements.md lists them).

The optional column ``refund`` holds the provider's ID of each refund or dispute.
"""

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from almoner.giving.accounting.settlements.domain import (
    LineKey,
    SettlementLine,
    SettlementLineKind,
    SettlementReport,
    SettlementReportError,
)
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money

COLUMNS: Final = ("reference", "settled_on", "currency", "kind", "payment", "gross", "fee", "net")
_REFUND: Final = "refund"
_KINDS: Final = " or ".join(SettlementLineKind)
_AMOUNT: Final = re.compile(r"-?\d{1,16}(\.\d{1,4})?", re.ASCII)
_LONGEST_NAME: Final = 255
_REPORTED: Final = 200
_FIRST_ROW: Final = 2  # the header is line 1


class _ReportHeader(NamedTuple):
    """The values that all lines of a report share."""

    reference: str
    settled_on: date
    currency: str


def parse_report(provider: str, content: bytes) -> SettlementReport:
    """Parse a report file. Raises SettlementReportError with every problem."""
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise SettlementReportError(
                f"the file has no column {', '.join(missing)}. The columns are {', '.join(COLUMNS)}"
            )
        read_ = (*COLUMNS, _REFUND)
        numbered = [(rows.line_num, {name: (row.get(name) or "").strip() for name in read_}) for row in rows]
    except UnicodeDecodeError as error:
        raise SettlementReportError("the file is not UTF-8") from error
    except csv.Error as error:
        raise SettlementReportError(f"the file is not valid CSV: {error}") from error
    return _build_report(provider, hashlib.sha256(content).digest(), numbered)


def _build_report(provider: str, sha256: bytes, rows: list[tuple[int, dict[str, str]]]) -> SettlementReport:
    if not rows:
        raise SettlementReportError("the file has no lines")
    problems: list[str] = []
    heads: dict[_ReportHeader, int] = {}
    lines: dict[LineKey, tuple[int, SettlementLine]] = {}
    for number, row in rows:
        found = [f"line {number}: {problem}" for problem in _row_problems(row)]
        problems += found
        if found:
            continue
        heads.setdefault(
            _ReportHeader(row["reference"], date.fromisoformat(row["settled_on"]), row["currency"]), number
        )
        line = _line(row)
        earlier, _ = lines.setdefault(line.key, (number, line))
        if earlier != number:
            named = f" {line.provider_refund_or_dispute_id}" if line.provider_refund_or_dispute_id else ""
            problems.append(
                f"line {number}: {line.kind}{named} {line.provider_payment_id} is already in line {earlier}"
            )
    for number in list(heads.values())[1:]:
        problems.append(f"line {number}: reference, settled_on and currency must be the same in all lines")
    if problems:
        more = [f"and {len(problems) - _REPORTED} more"] if len(problems) > _REPORTED else []
        raise SettlementReportError("\n".join(["the file was not imported:", *problems[:_REPORTED], *more]))
    head = next(iter(heads))
    return SettlementReport(
        provider, head.reference, head.currency, head.settled_on, sha256, tuple(line for _, line in lines.values())
    )


def _row_problems(row: Mapping[str, str]) -> Iterator[str]:
    if not 1 <= len(row["reference"]) <= 100:
        yield "reference must have 1 to 100 characters"
    if not _is_day(row["settled_on"]):
        yield f"settled_on must be a day such as 2026-11-21, not {row['settled_on']!r}"
    if row["kind"] not in set(SettlementLineKind):
        yield f"kind must be {_KINDS}, not {row['kind']!r}"
    if not 1 <= len(row["payment"]) <= 255:
        yield "payment must have 1 to 255 characters"
    yield from _refund_problems(row)
    for name in ("reference", "payment", _REFUND):
        if not row[name].isprintable():
            yield f"{name} must not have control characters"
    if row["currency"] not in EXPONENTS:
        yield f"currency must be an ISO 4217 code such as EUR, not {row['currency']!r}"
        return
    amounts = {name: _minor(row[name], row["currency"]) for name in ("gross", "fee", "net")}
    bad = [name for name, minor in amounts.items() if minor is None]
    for name in bad:
        yield f"{name} must be an amount of {row['currency']} such as {_example(row['currency'])}, not {row[name]!r}"
    if not bad:
        yield from _amount_problems(row["kind"], **{name: minor or 0 for name, minor in amounts.items()})


def _refund_problems(row: Mapping[str, str]) -> Iterator[str]:
    if row["kind"] == SettlementLineKind.PAYMENT and row[_REFUND]:
        yield "refund must be empty for a payment"
    if len(row[_REFUND]) > _LONGEST_NAME:
        yield f"refund must have at most {_LONGEST_NAME} characters"


def _amount_problems(kind: str, gross: int, fee: int, net: int) -> Iterator[str]:
    if net != gross - fee:
        yield "net must be gross minus fee"
    if fee < 0:
        yield "fee must not be below zero"
    if kind in (SettlementLineKind.PAYMENT, SettlementLineKind.DISPUTE_WON) and not 0 < gross >= fee:
        yield f"gross of a {kind} must be above zero and not below its fee"
    if kind in (SettlementLineKind.REFUND, SettlementLineKind.DISPUTE) and gross >= 0:
        yield f"gross of a {kind} must be below zero"


def _line(row: Mapping[str, str]) -> SettlementLine:
    currency = row["currency"]
    gross, fee = _minor(row["gross"], currency) or 0, _minor(row["fee"], currency) or 0
    sums = Money(abs(gross), currency), Money(fee, currency)
    return SettlementLine(SettlementLineKind(row["kind"]), row["payment"], *sums, row[_REFUND])


def _minor(text: str, currency: str) -> int | None:
    """Minor units of a decimal amount; None if it is invalid or has more decimals than the currency."""
    if not _AMOUNT.fullmatch(text):
        return None
    minor = Decimal(text).scaleb(EXPONENTS[currency])
    whole = int(minor)
    return whole if whole == minor and abs(whole) <= MAX_MINOR else None


def _example(currency: str) -> str:
    return f"{Decimal(1234).scaleb(-EXPONENTS[currency]):f}"


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
