"""camt.053.001.02 to .12: statements as banks give them (ISO 20022). Imported on first use: its library is large."""

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import reduce
from hashlib import sha256
from typing import Any, Final

from almoner.giving.banking.bank_statements.domain import MAX_REMITTANCE_TEXT, BankMovement, Statement, StatementError
from almoner.kit.money import EXPONENTS, MAX_MINOR
from almoner.platform.files import iso20022
from almoner.platform.files.iso20022 import MessageRefused

_MESSAGE: Final = "camt.053.001"
_VERSIONS: Final = range(2, 13)
_BOOKED: Final = "BOOK"
_NOTHING: Final = {"NOTPROVIDED", "NOTAVAILABLE"}
_MOST_DIGITS: Final = 18
"""Of an amount, by ISO 20022."""


def parse_statements(content: bytes) -> tuple[list[Statement], list[str]]:
    """The statements of a file, and all that cannot be read of them; what is announced and not booked is left out.

    Raises StatementRefused when it is none.
    """
    try:
        document = iso20022.parse_message(content, _MESSAGE, _VERSIONS)
    except MessageRefused as refused:
        hint = "" if b"<" in content[:4] else ". If it is a CSV file, use --mapping"
        raise StatementError(f"This is not a bank statement: {refused}{hint}") from refused
    digest = sha256(content).hexdigest()
    pages = document.bk_to_cstmr_stmt.grp_hdr.msg_pgntn
    wrong: list[str] = []
    found = [_statement(one, pages, digest, wrong) for one in document.bk_to_cstmr_stmt.stmt]
    return [one for one in found if one is not None], wrong


def _statement(one: Any, pages: Any, digest: str, wrong: list[str]) -> Statement | None:
    account, found = _value_at(one, "acct", "id", "iban") or _value_at(one, "acct", "id", "othr", "id") or "", []
    if not account.strip():
        found.append("it has no account number")
    opening, closing = _balances(one.bal)
    currency = _value_at(one, "acct", "ccy") or _value_at(opening or closing, "amt", "ccy") or ""
    if currency not in EXPONENTS:
        found.append("it has no ISO 4217 currency")
    if {_value_at(balance, "amt", "ccy") for balance in (opening, closing) if balance is not None} - {currency}:
        found.append("its balances are in another currency")
    movements = tuple(
        moved for rank, entry in enumerate(one.ntry, 1) for moved in _movements(one.id, entry, rank, found)
    )
    first, last = [_signed(balance, found) for balance in (opening, closing)]
    wrong += [f"{account or 'no account'}, {one.id}: {problem}" for problem in found]
    if found:
        return None
    reference = _statement_name(one.id, getattr(one, "stmt_pgntn", pages))  # version 2 has it for the whole file
    days = [one.booked_on for one in movements] + [day for day in [closing and _day(closing.dt)] if day]
    return Statement(account, reference, currency, first, last, digest, movements, max(days, default=None))


def _balances(balances: Sequence[Any]) -> tuple[Any, Any]:
    """The first opening balance and the last closing one: a statement of several days has a pair for each."""
    days = sorted(balances, key=lambda one: _day(one.dt) or date.min)
    by_code: dict[Any, list[Any]] = {}
    for balance in days:
        by_code.setdefault(_value(_value_at(balance, "tp", "cd_or_prtry", "cd")), []).append(balance)
    opened, closed = by_code.get("OPBD") or by_code.get("PRCD"), by_code.get("CLBD")
    return opened[0] if opened else None, closed[-1] if closed else None


def _statement_name(name: str, page: Any) -> str:
    """The bank's name of a statement; a long one comes in pages, each of which has lines of its own."""
    return name if not name or page is None or (page.pg_nb == "1" and page.last_pg_ind) else f"{name}/{page.pg_nb}"


def _movements(statement: str, entry: Any, position: int, found: list[str]) -> Iterator[BankMovement]:
    """An entry as one movement, or each of its parts where the bank tells their amounts and they come to it.

    Nothing of one that cannot be read, which ``found`` then names.
    """
    if _value(getattr(entry.sts, "cd", entry.sts)) != _BOOKED:
        return
    where, reversal = f"entry {position}", bool(entry.rvsl_ind)
    whole, day = _minor(entry.amt, where, found), _day(entry.bookg_dt or entry.val_dt)
    if day is None:
        found.append(f"{where} has no date")
    parts = [detail for details in entry.ntry_dtls for detail in details.tx_dtls]
    minors = _part_amounts(entry, parts, where, found)
    if whole is None or day is None or None in minors:
        return
    split = len(parts) > 1 and sum(one or 0 for one in minors) == whole
    sign = 1 if _value(entry.cdt_dbt_ind) == "CRDT" else -1
    # Banks may count NtryRef from 1 in each statement: only AcctSvcrRef is a name of its own.
    named = entry.acct_svcr_ref or f"{statement}/{entry.ntry_ref or position}"
    # Of a reversal the part may still tell the way of what it reverses.
    alone = parts[0] if len(parts) == 1 and (reversal or _same_way(entry, parts[0])) else None
    batch = [] if split else _batch_references(entry, parts)
    for rank, part in enumerate(parts if split else [alone], 1):
        own = _reference(part) or named
        yield BankMovement(
            booked_on=day,
            minor=sign * ((minors[rank - 1] or 0) if split else whole),
            currency=entry.amt.ccy,
            reference=f"{own}/{rank}" if split and not _reference(part) else own,
            end_to_end_id=_end_to_end(part),
            counterparty=_counterparty(part, came=sign > 0),
            remittance_information=_remittance_text(part, entry, batch),
            return_reason=_return_reason(part),
            reversal=reversal,
        )


def _part_amounts(entry: Any, parts: Sequence[Any], where: str, found: list[str]) -> list[int | None]:
    """The amounts of its parts, when each has one, in the currency and of the way of the entry; else nothing.

    None of one that is no amount, which ``found`` then names.
    """
    amounts = [_amount_of(part) for part in parts]
    minors = [_minor(one, f"part {rank} of {where}", found) for rank, one in enumerate(amounts, 1) if one is not None]
    reported = all(one is not None and one.ccy == entry.amt.ccy for one in amounts)
    return minors if None in minors or (reported and all(_same_way(entry, part) for part in parts)) else []


def _same_way(entry: Any, part: Any) -> bool:
    way = _value(getattr(part, "cdt_dbt_ind", None))
    return way is None or way == _value(entry.cdt_dbt_ind)


def _amount_of(part: Any) -> Any:
    direct = getattr(part, "amt", None)
    if direct is not None:
        return direct
    details = part.amt_dtls
    exact = details and (details.tx_amt or details.instd_amt)
    return exact.amt if exact else None


def _reference(part: Any) -> str | None:
    return part.refs.acct_svcr_ref if part is not None and part.refs else None


def _end_to_end(part: Any) -> str | None:
    found = part.refs.end_to_end_id if part is not None and part.refs else None
    return found if found and found not in _NOTHING else None


def _counterparty(part: Any, *, came: bool) -> str | None:
    parties = part.rltd_pties if part is not None else None
    other = (parties.dbtr if came else parties.cdtr) if parties else None
    name = getattr(getattr(other, "pty", None) or other, "nm", None)
    return name[:140] if name else None


def _batch_references(entry: Any, parts: Sequence[Any]) -> list[str]:
    """What an entry names that may be of several payments: our file, the batch, the payments."""
    if len(parts) == 1 and _end_to_end(parts[0]):
        return []
    reported = [one for details in entry.ntry_dtls if (some := details.btch) for one in (some.pmt_inf_id, some.msg_id)]
    references = [part.refs for part in parts if part.refs]
    reported += [one for refs in references for one in (refs.pmt_inf_id, refs.msg_id)]
    reported += [_end_to_end(part) for part in parts]
    return [one for one in dict.fromkeys(reported) if one and one not in _NOTHING]


def _remittance_text(part: Any, entry: Any, batch: Sequence[str]) -> str | None:
    stated: list[str | None] = [*batch]
    if part is not None and part.rmt_inf:
        stated += part.rmt_inf.ustrd
        stated += [one.cdtr_ref_inf.ref for one in part.rmt_inf.strd if one.cdtr_ref_inf and one.cdtr_ref_inf.ref]
    stated += [part.addtl_tx_inf if part is not None else None, entry.addtl_ntry_inf]
    return " ".join(" ".join(one for one in stated if one).split())[:MAX_REMITTANCE_TEXT] or None


def _return_reason(part: Any) -> str | None:
    information = part.rtr_inf if part is not None else None
    if not information:
        return None
    code = information.rsn and (information.rsn.cd or information.rsn.prtry)
    return " ".join([str(_value(code) or "returned"), *information.addtl_inf])[:400]


def _signed(balance: Any, found: list[str]) -> int | None:
    if balance is None:
        return None
    minor = _minor(balance.amt, "a balance", found)
    return None if minor is None else minor * (1 if _value(balance.cdt_dbt_ind) == "CRDT" else -1)


def _minor(amount: Any, where: str, found: list[str]) -> int | None:
    """Of an amount with its currency; None of one that is none, which ``found`` then names."""
    try:
        value = Decimal(str(amount.value))
    except InvalidOperation:
        value = Decimal("nan")
    stated = f"{where}: {str(amount.value)[:40]} {amount.ccy}"
    if not value.is_finite() or value < 0 or len(value.as_tuple().digits) > _MOST_DIGITS:
        found.append(f"{stated} is not a valid amount")
        return None
    exponent = EXPONENTS.get(amount.ccy, 2)
    if value > Decimal(MAX_MINOR).scaleb(-exponent):
        found.append(f"{stated} is more than the ledger can hold")
        return None
    minor = value.scaleb(exponent)
    if minor != int(minor):
        found.append(f"{stated} is not a valid amount in this currency")
        return None
    return int(minor)


def _day(moment: Any) -> date | None:
    found = moment and (moment.dt or moment.dt_tm)
    try:
        return date.fromisoformat(str(found)[:10]) if found else None
    except ValueError:  # of a year that no calendar here has
        return None


def _value_at(one: Any, *names: str) -> Any:
    """What is there, or None when something on the way is missing."""
    return reduce(lambda found, name: getattr(found, name, None), names, one)


def _value(code: Any) -> Any:
    return getattr(code, "value", code)
