"""Parses camt.053 statements (ISO 20022), versions 02 to 14.

Elements that the schemas require but are not needed here may be missing. Elements whose place depends on the version or
the bank are looked for in each place.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Final, NamedTuple

from lxml.etree import _Element as Element

from almoner.giving.banking.bank_statements import movements
from almoner.giving.banking.bank_statements.domain import (
    MAX_STATEMENT,
    BankMovement,
    BankStatement,
    BankStatementError,
    ParsedStatements,
    contains_donation_reference,
)
from almoner.kit.money import EXPONENTS
from almoner.platform.files import iso20022
from almoner.platform.files.iso20022 import (
    MessageRefused,
    child_elements,
    descendant_texts,
    element_text_at_path,
    find_element_by_path,
    find_elements_by_path,
)

_MESSAGE: Final = "camt.053.001"
_VERSIONS: Final = range(2, 15)
_OTHER_MESSAGES: Final = {
    "camt.052.001": "a report of the day (camt.052), whose entries may still change. Ask the bank for statements, "
    "camt.053",
    "camt.054.001": "a notification of single entries (camt.054), without balances. Ask the bank for statements, "
    "camt.053",
    "pain.002.001": "a status report (pain.002). Import it under Payment files in the console, or with `almoner "
    "payment-files import-status`",
    "pain.001.001": "a payment file (pain.001), as it is sent to a bank",
}
_BOOKED: Final = {"", "BOOK", "BOOKED"}
_NOT_BOOKED: Final = {"PDNG", "INFO", "FUTR", "PENDING"}
_NO_SIGN: Final = 0
_COMMA: Final = re.compile(r"(\d*),(\d{1,2})", re.ASCII)
"""An amount with a decimal comma; three digits behind it could be thousands."""
_REFERENCES: Final = ("InstrId", "TxId", "AcctOwnrTxId", "MndtId", "ChqNb", "ClrSysRef")
_COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
"""A bank's own count of entries, which is not a reference."""


class _Line(NamedTuple):
    """An entry or one of its details."""

    part: Element | None
    minor: int
    reference: str | None


class _Unreadable(Exception):
    """An entry cannot be read; the message says why."""


def parse_statements(content: bytes) -> ParsedStatements:
    """Parse a file.

    Raises BankStatementError if it is not a camt.053 file.
    """
    try:
        kind, version, message = iso20022.parse_message(content)
    except MessageRefused as refused:
        raise BankStatementError(f"This is not a bank statement: {refused}") from refused
    if kind != _MESSAGE or version not in _VERSIONS:
        what = _OTHER_MESSAGES.get(kind, f"{kind}.{version:02}")
        if kind == _MESSAGE:
            what += f", and what is read is {_MESSAGE}.{_VERSIONS[0]:02} to .{_VERSIONS[-1]:02}"
        raise BankStatementError(f"This is not a bank statement but {what}.")
    digest, wrong, found = sha256(content).digest(), list[str](), list[BankStatement]()
    file_page = find_element_by_path(message, "GrpHdr", "MsgPgntn")  # version 2 has it once for the whole file
    for one in child_elements(message, "Stmt"):
        problems: list[str] = []
        page = find_element_by_path(one, "StmtPgntn")
        if statement := _statement(one, file_page if page is None else page, digest, problems):
            found.append(statement)
        name = element_text_at_path(one, "Id") or "without a number"
        wrong += [f"{_account(one) or 'no account'}, {name}: {problem}" for problem in problems]
    return ParsedStatements(found, wrong)


def _statement(element: Element, page: Element | None, digest: bytes, problems: list[str]) -> BankStatement | None:
    account, currency = _account(element), _currency(element)
    if not account:
        problems.append("it has no account number")
    if currency is None:
        problems.append("it has no ISO 4217 currency")
    balances = _balances(element, currency)
    first, last = [_signed(balance, currency, problems) for balance in balances]
    if problems or currency is None:
        return None
    ended = _day(find_element_by_path(balances[1], "Dt")) or _day(find_element_by_path(element, "FrToDt", "ToDtTm"))
    reading = _StatementReader(currency, ended)
    found = [
        moved
        for position, entry in enumerate(child_elements(element, "Ntry"), 1)
        for moved in reading.read(entry, position)
    ]
    sequence = (element_text_at_path(element, "ElctrncSeqNb") or element_text_at_path(element, "LglSeqNb") or "")[
        :MAX_STATEMENT
    ] or None
    name = element_text_at_path(element, "Id") or sequence or (ended.isoformat() if ended else digest.hex()[:16])
    return BankStatement(
        account=account,
        reference=movements.shorten_with_hash(_page_name(name, page), MAX_STATEMENT),
        currency=currency,
        opening_minor=first,
        closing_minor=last,
        sha256=digest,
        movements=tuple(found),
        ends_on=ended,
        sequence_number=sequence,
        file_format="camt.053",
        rejected=tuple(reading.rejected),
    )


def _account(element: Element) -> str:
    for way in (("IBAN",), ("Othr", "Id"), ("BBAN",), ("PrtryAcct", "Id"), ("UPIC",)):
        if found := element_text_at_path(element, "Acct", "Id", *way):
            return found
    return ""


def _currency(element: Element) -> str | None:
    """The currency of the account, else of its balances, else of all entries; None if unknown."""
    stated = element_text_at_path(element, "Acct", "Ccy")
    if stated is None:
        balances = {_currency_of(balance) for balance in child_elements(element, "Bal")} - {None}
        entries = {_currency_of(entry) for entry in child_elements(element, "Ntry")} - {None}
        stated = next((some.pop() for some in (balances, entries) if len(some) == 1), None)
    return stated.upper() if stated and stated.upper() in EXPONENTS else None


def _currency_of(element: Element) -> str | None:
    amount = find_element_by_path(element, "Amt")
    return (amount.get("Ccy") or "").strip().upper() or None if amount is not None else None


def _balances(element: Element, currency: str | None) -> tuple[Element | None, Element | None]:
    """The first opening balance and the last closing balance; a statement of several days has a pair for each.

    Balances in another currency than the account's are ignored.
    """
    by_code: dict[str, list[Element]] = {}
    ours = [some for some in child_elements(element, "Bal") if _currency_of(some) in (currency, None)]
    for balance in sorted(ours, key=lambda some: _day(find_element_by_path(some, "Dt")) or date.min):
        ways = (("CdOrPrtry", "Cd"), ("CdOrPrtry", "Prtry"), ("Cd",), ("Prtry",))
        code = next(filter(None, (element_text_at_path(balance, "Tp", *way) for way in ways)), "")
        by_code.setdefault(code.upper(), []).append(balance)
    interim = by_code.get("ITBD", [])
    between = interim if len(interim) > 1 else []
    opened = by_code.get("OPBD") or by_code.get("PRCD") or between
    closed = by_code.get("CLBD") or between
    return opened[0] if opened else None, closed[-1] if closed else None


def _page_name(name: str, page: Element | None) -> str:
    """The bank's name of a statement with its page; a long statement has several pages with their own lines."""
    number = element_text_at_path(page, "PgNb")
    is_whole = number is None or (
        number.lstrip("0") == "1" and element_text_at_path(page, "LastPgInd") in ("true", "1")
    )
    return name if is_whole else f"{name}/{number}"


class _StatementReader:
    """Reads the entries of a statement; keeps an unreadable entry with the reason and reads on."""

    def __init__(self, currency: str, ended: date | None) -> None:
        self._currency, self._ended = currency, ended
        self.rejected: list[str] = []

    def read(self, entry: Element, position: int) -> list[BankMovement]:
        """Read an entry as one movement, or as its details if their amounts are given and add up to it."""
        try:
            return list(self._movements(entry))
        except _Unreadable as why:
            self.rejected.append(f"entry {position}: {why}")
            return []

    def _movements(self, entry: Element) -> Iterator[BankMovement]:
        status = (
            element_text_at_path(entry, "Sts", "Cd")
            or element_text_at_path(entry, "Sts", "Prtry")
            or element_text_at_path(entry, "Sts")
            or ""
        ).upper()
        if status in _NOT_BOOKED:
            return
        if status not in _BOOKED:
            raise _Unreadable(f"the status {status[:40]} is not known")
        details = [*find_elements_by_path(entry, "NtryDtls", "TxDtls"), *child_elements(entry, "TxDtls")]
        whole = self._entry_amount(entry)
        if whole == 0:  # additional information without a movement of money
            return
        sign, reversal = self._sign(entry, details), (element_text_at_path(entry, "RvslInd") or "") in ("true", "1")
        day = self._booking_day(entry)
        lines = self._lines(entry, details, whole, sign, reversal=reversal)
        batch = _batch_references(entry, details) if len(lines) == 1 else []
        for part, minor, reference in lines:
            end_to_end = movements.reference_unless_placeholder(element_text_at_path(part, "Refs", "EndToEndId"))
            yield movements.new_movement(
                booked_on=day,
                amount_minor=sign * minor,
                currency=self._currency,
                bank_reference=reference,
                end_to_end_id=end_to_end,
                counterparty=_counterparty(part, incoming=sign > 0),
                remittance_texts=[*batch, *_texts(part, entry, end_to_end)],
                return_reason=_return_reason(part),
                is_reversal=reversal,
            )

    def _entry_amount(self, entry: Element) -> int:
        """The amount in the account's currency; a converted amount is taken from the entry's details."""
        amounts = [find_element_by_path(entry, "Amt")]
        for kind in ("TxAmt", "CntrValAmt", "InstdAmt"):
            amounts += find_elements_by_path(entry, "AmtDtls", kind, "Amt")
        stated = [one for one in amounts if one is not None]
        if not stated:
            raise _Unreadable("it has no amount")
        ours = [one for one in stated if (one.get("Ccy") or self._currency).strip().upper() == self._currency]
        if not ours:
            raise _Unreadable(f"it is in {stated[0].get('Ccy', '')[:10]}, but the account is in {self._currency}")
        return self._minor(ours[0], "")

    def _minor(self, amount: Element, where: str) -> int:
        found = parse_amount_or_problem(amount, self._currency)
        if isinstance(found, str):
            raise _Unreadable(where + found)
        return found

    def _sign(self, entry: Element, details: Sequence[Element]) -> int:
        stated = element_text_at_path(entry, "CdtDbtInd")
        ways = {stated} if stated else {element_text_at_path(part, "CdtDbtInd") for part in details} - {None}
        sign = {"CRDT": 1, "DBIT": -1}.get((ways.pop() or "").upper(), _NO_SIGN) if len(ways) == 1 else _NO_SIGN
        if sign == _NO_SIGN:
            raise _Unreadable("it does not say whether it came or left")
        return sign

    def _booking_day(self, entry: Element) -> date:
        dates = [one for name in ("BookgDt", "ValDt") if (one := find_element_by_path(entry, name)) is not None]
        if day := next((day for one in dates if (day := _day(one))), None if dates else self._ended):
            return day
        raise _Unreadable("it has no date")

    def _lines(
        self, entry: Element, details: Sequence[Element], whole: int, sign: int, *, reversal: bool
    ) -> list[_Line]:
        named = movements.reference_unless_placeholder(element_text_at_path(entry, "AcctSvcrRef"))
        minors = self._part_amounts(details, sign)
        if len(details) > 1 and sum(one or 0 for one in minors) == whole and all(minors):
            return [
                _Line(part, minors[rank - 1], _reference(part) or (f"{named}/{rank}" if named else None))
                for rank, part in enumerate(details, 1)
            ]
        # A detail of a reversal may still have the direction of the reversed entry.
        alone = details[0] if len(details) == 1 and (reversal or _same_way(details[0], sign)) else None
        return [_Line(alone, whole, _reference(alone) or named)]

    def _part_amounts(self, details: Sequence[Element], sign: int) -> list[int]:
        """The amounts of the details in the account's currency; empty unless each has one in the entry's direction."""
        amounts = [_part_amount(part, self._currency) for part in details]
        found = [self._minor(one, f"part {rank}: ") for rank, one in enumerate(amounts, 1) if one is not None]
        return found if len(found) == len(details) and all(_same_way(part, sign) for part in details) else []


def _part_amount(part: Element, currency: str) -> Element | None:
    stated = [
        find_element_by_path(part, "Amt"),
        *(find_element_by_path(part, "AmtDtls", kind, "Amt") for kind in ("TxAmt", "CntrValAmt", "InstdAmt")),
    ]
    return next(
        (one for one in stated if one is not None and (one.get("Ccy") or currency).strip().upper() == currency), None
    )


def _same_way(part: Element, sign: int) -> bool:
    return element_text_at_path(part, "CdtDbtInd") in (None, "CRDT" if sign > 0 else "DBIT")


def _reference(part: Element | None) -> str | None:
    for name in ("AcctSvcrRef", "AcctSvcrTxId"):
        if found := movements.reference_unless_placeholder(element_text_at_path(part, "Refs", name)):
            return found
    return None


def _counterparty(part: Element | None, *, incoming: bool) -> str | None:
    parties = find_element_by_path(part, "RltdPties")
    for role in ("Dbtr", "UltmtDbtr") if incoming else ("Cdtr", "UltmtCdtr"):
        for way in (
            ("Nm",),
            ("Pty", "Nm"),
            ("Agt", "FinInstnId", "Nm"),
            ("PstlAdr", "AdrLine"),
            ("Pty", "PstlAdr", "AdrLine"),
        ):
            if name := element_text_at_path(parties, role, *way):
                return name
    return None


def _batch_references(entry: Element, parts: Sequence[Element]) -> list[str]:
    """The references of an entry that may cover several payments: of our file, the batch and the payments."""
    if len(parts) == 1 and movements.reference_unless_placeholder(element_text_at_path(parts[0], "Refs", "EndToEndId")):
        return []
    sources = [
        *find_elements_by_path(entry, "NtryDtls", "Btch"),
        *find_elements_by_path(entry, "NtryDtls", "TxDtls", "Refs"),
    ]
    names = [element_text_at_path(some, name) for some in sources for name in ("PmtInfId", "MsgId")]
    names += [element_text_at_path(part, "Refs", "EndToEndId") for part in parts]
    return [one for name in names if (one := movements.reference_unless_placeholder(name))]


def _texts(part: Element | None, entry: Element, end_to_end: str | None) -> Iterator[str]:
    """All elements that can contain a payer's reference, the reference elements first."""
    references = find_element_by_path(part, "Refs")
    names = [element_text_at_path(references, name) for name in _REFERENCES]
    yield from (one for name in names if (one := movements.reference_unless_placeholder(name)) and one != end_to_end)
    yield from descendant_texts(find_element_by_path(references, "Prtry"))
    structured = find_elements_by_path(part, "RmtInf", "Strd")
    for one in (
        inner for outer in structured for name in ("CdtrRefInf", "RfrdDocInf") for inner in child_elements(outer, name)
    ):
        yield from _stated(one, ("Ref",), ("Nb",), ("LineDtls", "Id", "Nb"))
    yield from _stated(part, ("RmtInf", "Ustrd"), ("RmtInf", "Strd", "AddtlRmtInf"), ("AddtlTxInf",))
    for related in find_elements_by_path(part, "RltdRmtInf", "RmtId"):
        yield from descendant_texts(related)
    yield from _stated(entry, ("AddtlNtryInf",))
    if (counted := element_text_at_path(entry, "NtryRef")) and not _COUNT.fullmatch(counted):
        yield counted
    yield from filter(contains_donation_reference, descendant_texts(part))


def _stated(element: Element | None, *ways: Sequence[str]) -> Iterator[str]:
    yield from (
        text for way in ways for text in map(element_text_at_path, find_elements_by_path(element, *way)) if text
    )


def _return_reason(part: Element | None) -> str | None:
    information = find_element_by_path(part, "RtrInf")
    if information is None:
        return None
    code = (
        element_text_at_path(information, "Rsn", "Cd")
        or element_text_at_path(information, "Rsn", "Prtry")
        or "returned"
    )
    more = [text for text in map(element_text_at_path, child_elements(information, "AddtlInf")) if text]
    return " ".join([code, *more])


def _signed(balance: Element | None, currency: str | None, problems: list[str]) -> int | None:
    amount = find_element_by_path(balance, "Amt")
    if amount is None or currency is None:
        return None
    minor = parse_amount_or_problem(amount, currency)
    if isinstance(minor, str):
        problems.append(f"a balance: {minor}")
        return None
    return minor if element_text_at_path(balance, "CdtDbtInd") != "DBIT" else -minor


def parse_amount_or_problem(element: Element, currency: str) -> int | str:
    """An amount in minor units, or the problem with it."""
    text = "".join((element.text or "").split())
    if comma := _COMMA.fullmatch(text):
        text = f"{comma[1]}.{comma[2]}"
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("nan")
    return movements.parse_minor_units_or_problem(value, currency, f"{text[:40] or 'nothing'} {currency}")


def _day(element: Element | None) -> date | None:
    text = element_text_at_path(element, "Dt") or element_text_at_path(element, "DtTm") or element_text_at_path(element)
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:  # a year outside the calendar's range
        return None
