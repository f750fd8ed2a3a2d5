"""Parses MT940, SWIFT's older statement format, in the dialects of banks; unreadable entries do not stop the others.

Fields are found by their tags at the beginning of a line; field 61 is read by position up to the amount, on which banks
agree, and by its marks after it. Field 86 has a dialect for each bank (``mt940_details``).
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Final

from almoner.giving.banking.bank_statements import movements, mt940_details
from almoner.giving.banking.bank_statements.domain import (
    MAX_STATEMENT,
    BankMovement,
    BankStatement,
    BankStatementError,
    ParsedStatements,
)
from almoner.kit.money import EXPONENTS

_TAGS: Final = frozenset("20 21 25 25P 28 28C 60F 60M 61 62F 62M 64 65 86 NS 13 13D 34F 90C 90D".split())
_AMONG_ENTRIES: Final = frozenset("61 62F 62M 86 NS 90C 90D".split())
"""The fields that may follow an entry; 90C and 90D are of MT942."""
_AFTER_20: Final = frozenset("21 25 25P 28 28C".split())
"""A statement begins with field 20 and one of these."""
_FIELD: Final = re.compile(r":(\d{2}[A-Z]?|NS):(.*)", re.ASCII)
_LONE_COLON: Final = re.compile(r"\n:[ \t]*\n(?=\d{2}[A-Z]?:)", re.ASCII)
_LOOKS_SO: Final = re.compile(rb"^[ \t]*(?:\{1:[^\r\n]*)?:?(?:20|25|60F|61|940):", re.MULTILINE)
_UMLAUTS: Final = re.compile(rb"[A-Za-z][\x81\x84\x94][a-z]")
"""\u00fc, \u00e4 and \u00f6 in the character set of DOS; in that of Windows these are quotation marks."""
_SNIFFED: Final = 4096
_AMOUNT: Final = r"\d[\d.,]*"
_BALANCE: Final = re.compile(rf"\s*([CD])(\d{{6}})([A-Z]{{3}})?\s*({_AMOUNT})", re.ASCII)
_ENTRY: Final = re.compile(
    r"(?P<value>\d{6})(?P<booked>\d{4}| {4})?\s*(?P<kind>[RE])?(?P<way>[CD])[A-Z]{0,3}\s*"
    rf"(?P<amount>{_AMOUNT})(?P<rest>.*)",
    re.ASCII | re.DOTALL,
)
_CLEAR_AMOUNT: Final = re.compile(r"(?:\d+|\d{1,3}(?:\.\d{3})+),\d*|\d+(?:\.\d{0,2})?", re.ASCII)
"""With a decimal comma; without one, three digits behind a point could be thousands."""
_TYPE: Final = re.compile(r"[NFS][A-Z0-9 ]{3}", re.ASCII)
_LONG_NUMBER: Final = re.compile(r"[0-9A-Z]{16,35}", re.ASCII)
_NUMBER: Final = re.compile(r"0*(\d+)(?:\s*/\s*0*(\d+))?", re.ASCII)


@dataclass(slots=True)
class _Entry:
    """Field 61 with the lines after it, and the lines of each of its fields 86."""

    lines: list[str]
    details: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class _Message:
    """One statement's fields. ``is_closed``: its closing balance was read."""

    fields: dict[str, str] = field(default_factory=dict)
    entries: list[_Entry] = field(default_factory=list)
    is_closed: bool = False


class _Unreadable(Exception):
    """An entry cannot be read; the message says why."""


def is_mt940(content: bytes) -> bool:
    """Whether a file is in MT940 format."""
    return _LOOKS_SO.search(_as_utf8(content[:_SNIFFED]).lstrip(b"\xef\xbb\xbf\x01").replace(b"\r", b"\n")) is not None


def parse_statements(content: bytes) -> ParsedStatements:
    """Parse a file. Raises BankStatementError."""
    messages = list(_messages(_decoded(content)))
    if messages and all("34F" in one.fields or "13D" in one.fields for one in messages):
        raise BankStatementError(
            "This is not a bank statement but a report of the day (MT942), whose entries may still change. Ask the "
            "bank for statements, MT940."
        )
    digest, wrong, found = sha256(content).digest(), list[str](), list[BankStatement]()
    for one in messages:
        problems: list[str] = []
        if statement := _statement(one, digest, problems):
            found.append(statement)
        name = f"{one.fields.get('25', '').strip() or 'no account'}, {one.fields.get('28C', '').strip() or 'no number'}"
        wrong += [f"{name}: {problem}" for problem in problems]
    return ParsedStatements(found, wrong)


def _decoded(content: bytes) -> str:
    """Decode a file; files do not state their encoding: UTF-8 if valid, else the one that most banks use."""
    content = _as_utf8(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp850" if _UMLAUTS.search(content) else "cp1252", "replace")
    return _LONE_COLON.sub("\n:", text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", ""))


def _as_utf8(content: bytes) -> bytes:
    """A file in UTF-16, known by its byte order mark, in UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode()
    return content


def _messages(text: str) -> Iterator[_Message]:
    """The statements, each starting at its field 20; a line that starts like a tag but cannot be one is text."""
    message, last = _Message(), ""
    lines = [line for line in text.split("\n") if line]
    for place, line in enumerate(lines, 1):
        tag, value = _tag_and_value(line)
        following = (lines[at] for at in range(place, len(lines)))
        is_field = tag in _TAGS and not _is_text(message, tag, value, following)
        if is_field and (tag == "20" or (tag == "61" and message.is_closed)):
            if message.fields or message.entries:
                yield message
            message = _Message()
        if is_field:
            last = _add_field(message, tag, value)
        elif last and not (message.is_closed and line.strip().startswith("-")):
            _continue_field(message, last, line)
    if message.fields or message.entries:
        yield message


def _tag_and_value(line: str) -> tuple[str, str]:
    """The tag at the beginning of a line, and what follows it; "" for none."""
    plain = line.lstrip("\x01 \t")
    found = _FIELD.match(plain) if plain.startswith(":") else None
    return (found[1], found[2]) if found else ("", "")


def _is_text(message: _Message, tag: str, value: str, following: Iterator[str]) -> bool:
    """Whether a line only looks like this field: payers may write anything. ``following``: the lines after it."""
    if tag in ("25", "28", "28C", "60F", "60M") and _known(tag) in message.fields:
        return True
    if not message.entries or message.is_closed:
        return False
    if tag == "20":
        tags = (_tag_and_value(line)[0] for line in following)
        return next((one for one in tags if one in _TAGS), "") not in _AFTER_20
    return tag not in _AMONG_ENTRIES or (tag in ("62F", "62M") and _BALANCE.match(value) is None)


def _known(tag: str) -> str:
    """The name under which a field is stored, whichever of its forms the bank uses."""
    return {"28": "28C", "60M": "60F", "62M": "62F", "25P": "25"}.get(tag, tag)


def _add_field(message: _Message, tag: str, value: str) -> str:
    if tag == "61":
        message.entries.append(_Entry([value]))
    elif tag in ("86", "NS"):
        if message.entries and not message.is_closed:
            message.entries[-1].details.append([value if tag == "86" else f":NS:{value}"])
    else:
        message.fields[_known(tag)] = value
        message.is_closed = message.is_closed or tag in ("62F", "62M")
    return tag


def _continue_field(message: _Message, tag: str, line: str) -> None:
    if tag == "61":
        message.entries[-1].lines.append(line)
    elif tag in ("86", "NS") and message.entries and not message.is_closed and message.entries[-1].details:
        message.entries[-1].details[-1].append(line)


def _statement(one: _Message, digest: bytes, problems: list[str]) -> BankStatement | None:
    opening, closing = (_BALANCE.match(one.fields.get(tag, "")) for tag in ("60F", "62F"))
    stated = next((some[3] for some in (opening, closing) if some is not None and some[3]), "")
    account = _account(one.fields.get("25", ""), stated)
    if not account:
        problems.append("it has no account number")
    if stated not in EXPONENTS:
        problems.append("it has no ISO 4217 currency")
    if opening and closing and opening[3] and closing[3] and opening[3] != closing[3]:
        problems.append(f"its balances are in {opening[3]} and {closing[3]}")
    if problems:
        return None
    first, last = [_signed(some, stated, problems) for some in (opening, closing)]
    ended = _day(closing[2]) if closing else None
    reading = _EntryReader(stated)
    found = [moved for rank, entry in enumerate(one.entries, 1) for moved in reading.read(entry, rank)]
    number = _NUMBER.match(one.fields.get("28C", "").strip())
    name = "/".join(part for part in number.groups() if part) if number and number[1] != "0" else ""
    if problems:
        return None
    return BankStatement(
        account=account,
        reference=movements.shorten_with_hash(name or (f"{ended}" if ended else digest.hex()[:16]), MAX_STATEMENT),
        currency=stated,
        opening_minor=first,
        closing_minor=last,
        sha256=digest,
        movements=tuple(found),
        ends_on=ended,
        sequence_number=name or None,
        file_format="mt940",
        rejected=tuple(reading.rejected),
    )


def _account(stated: str, currency: str) -> str:
    """An account number, without the currency that some banks append."""
    account = stated.strip().strip("/")
    for end in (f"/{currency}", currency):
        if currency and account.endswith(end) and len(account) > len(end):
            return account.removesuffix(end).strip()
    return account


def _signed(balance: re.Match[str] | None, currency: str, problems: list[str]) -> int | None:
    if balance is None:
        return None
    minor = _minor(balance[4], currency)
    if isinstance(minor, str):
        problems.append(f"a balance: {minor}")
        return None
    return minor if balance[1] == "C" else -minor


def _minor(text: str, currency: str) -> int | str:
    plain = text.replace(".", "").replace(",", ".") if "," in text else text
    value = Decimal(plain) if _CLEAR_AMOUNT.fullmatch(text) else Decimal("nan")
    return movements.parse_minor_units_or_problem(value, currency, f"{text[:40]} {currency}")


def _day(text: str) -> date | None:
    """A YYMMDD date; 30 February, as in some interest calculations, is the last day of the month."""
    year, month, day = 2000 + int(text[:2]), int(text[2:4]), int(text[4:6])
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    following = date(year + month // 12, month % 12 + 1, 1)
    return min(date(year, month, 1) + timedelta(days=day - 1), following - timedelta(days=1))


class _EntryReader:
    """Reads the entries of a statement; what cannot be read is kept with the reason."""

    def __init__(self, currency: str) -> None:
        self._currency = currency
        self.rejected: list[str] = []

    def read(self, entry: _Entry, position: int) -> Sequence[BankMovement]:
        """The movement of an entry; empty if no money moved."""
        try:
            return self._movement(entry)
        except _Unreadable as why:
            self.rejected.append(f"entry {position}: {why}")
            return ()

    def _movement(self, entry: _Entry) -> Sequence[BankMovement]:
        text = "\n".join(entry.lines).strip()
        found = _ENTRY.match(text)
        if found is None:
            raise _Unreadable(f"{' '.join(text.split())[:60]} is no entry (field 61)")
        minor = _minor(found["amount"], self._currency)
        if isinstance(minor, str):
            raise _Unreadable(minor)
        if minor == 0 or found["kind"] == "E":  # for information, or expected
            return ()
        sign = 1 if found["way"] == "C" else -1
        customer, bank, more = _references(found["rest"])
        customer, _, beside = (customer or "").partition("  ")  # one bank puts the name there
        details = mt940_details.parse_details(["\n".join(lines) for lines in entry.details], is_incoming=sign > 0)
        return [
            movements.new_movement(
                booked_on=_booking_day(found["value"], found["booked"]),
                amount_minor=-sign * minor if found["kind"] == "R" else sign * minor,
                currency=self._currency,
                bank_reference=bank,
                end_to_end_id=details.end_to_end_id,
                counterparty=details.counterparty_name or beside,
                remittance_texts=[*details.remittance_texts, *(one for one in (customer, beside, more) if one)],
                return_reason=details.return_reason,
                is_reversal=found["kind"] == "R",
            )
        ]


def _booking_day(value: str, booked: str | None) -> date:
    """The booking date, in the year nearest to the value date; without one, the value date."""
    valued = _day(value)
    if valued is None:
        raise _Unreadable(f"{value} is no date")
    if booked is None or not booked.strip():
        return valued
    near = [_day(f"{(valued.year + by) % 100:02}{booked}") for by in (-1, 0, 1)]
    days = [day for day in near if day is not None]
    return min(days, key=lambda day: abs(day - valued)) if days else valued


def _references(rest: str) -> tuple[str | None, str | None, str]:
    """The customer's reference, the bank's, and further text after the amount."""
    first, _, more = rest.lstrip().partition("\n")
    if kind := _TYPE.match(first):
        first = first[kind.end() :]
    customer, _, bank = first.partition("//")
    supplement = " ".join(more.split())
    named = movements.reference_unless_placeholder(bank.partition("  ")[0])
    if named is None and _LONG_NUMBER.fullmatch(supplement) and any(one.isdigit() for one in supplement):
        named = supplement
    return movements.reference_unless_placeholder(customer), named, supplement
