"""camt.053.001.02 to .12: statements as banks give them (ISO 20022). Imported on first use: its library is large."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from almoner.giving.bank_lines.domain import MAX_WORDS, Movement, Statement, StatementRefused
from almoner.kit.money import EXPONENTS
from almoner.platform import iso20022
from almoner.platform.iso20022 import MessageRefused

_MESSAGE: Final = "camt.053.001"
_VERSIONS: Final = range(2, 13)
_BOOKED: Final = "BOOK"
_NOTHING: Final = {"NOTPROVIDED", "NOTAVAILABLE"}


def read(content: bytes) -> list[Statement]:
    """The statements of a file; what is announced and not booked is left out. Raises StatementRefused."""
    try:
        document = iso20022.read(content, _MESSAGE, _VERSIONS)
    except MessageRefused as refused:
        hint = "" if b"<" in content[:4] else "; of CSV say with --mapping what its columns are"
        raise StatementRefused(f"This is no statement of a bank: {refused}{hint}") from refused
    digest = sha256(content).hexdigest()
    return [_statement(one, digest) for one in document.bk_to_cstmr_stmt.stmt]


def _statement(one: Any, digest: str) -> Statement:
    account = one.acct.id.iban or one.acct.id.othr.id
    balances = {_value(balance.tp.cd_or_prtry.cd): balance for balance in one.bal}
    opening, closing = balances.get("OPBD") or balances.get("PRCD"), balances.get("CLBD")
    either: Any = opening or closing
    currency = one.acct.ccy or (either.amt.ccy if either is not None else "")
    if currency not in EXPONENTS:
        raise StatementRefused(f"the statement {one.id} names no currency of ISO 4217")
    whole = opening is not None and closing is not None
    return Statement(
        account=account,
        reference=one.id,
        currency=currency,
        opening_minor=_signed(opening) if whole else None,
        closing_minor=_signed(closing) if whole else None,
        sha256=digest,
        movements=tuple(movement for entry in one.ntry for movement in _movements(one.id, entry)),
    )


def _movements(statement: str, entry: Any) -> Iterator[Movement]:
    """An entry as one movement, or each of its parts where the bank tells their amounts and they come to it."""
    if _value(getattr(entry.sts, "cd", entry.sts)) != _BOOKED:
        return
    parts = [detail for details in entry.ntry_dtls for detail in details.tx_dtls]
    amounts = [_amount_of(part) for part in parts]
    minors = [_minor(amount) for amount in amounts if amount is not None]
    split = len(parts) > 1 and len(minors) == len(parts) and sum(minors) == _minor(entry.amt)
    sign = 1 if (_value(entry.cdt_dbt_ind) == "CRDT") else -1
    day = _day(entry.bookg_dt or entry.val_dt)
    if day is None:
        raise StatementRefused(f"an entry of the statement {statement} has no day")
    named = entry.acct_svcr_ref or entry.ntry_ref
    for rank, part in enumerate(parts if split else [parts[0] if len(parts) == 1 else None], 1):
        own = _reference(part) or named or f"{statement}/{entry.ntry_ref or ''}"
        yield Movement(
            booked_on=day,
            minor=sign * (_minor(amounts[rank - 1]) if split else _minor(entry.amt)),
            currency=entry.amt.ccy,
            reference=(f"{own}/{rank}" if split and not _reference(part) else own)[:140],
            end_to_end_id=_end_to_end(part),
            counterparty=_counterparty(part, came=sign > 0),
            words=_words(part, entry),
            return_reason=_returned(part),
        )


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


def _words(part: Any, entry: Any) -> str | None:
    said = []
    if part is not None and part.rmt_inf:
        said += part.rmt_inf.ustrd
        said += [one.cdtr_ref_inf.ref for one in part.rmt_inf.strd if one.cdtr_ref_inf and one.cdtr_ref_inf.ref]
    said += [part.addtl_tx_inf if part is not None else None, entry.addtl_ntry_inf]
    return " ".join(" ".join(one for one in said if one).split())[:MAX_WORDS] or None


def _returned(part: Any) -> str | None:
    information = part.rtr_inf if part is not None else None
    if not information:
        return None
    code = information.rsn and (information.rsn.cd or information.rsn.prtry)
    return " ".join([str(_value(code) or "returned"), *information.addtl_inf])[:400]


def _signed(balance: Any) -> int:
    return _minor(balance.amt) * (1 if _value(balance.cdt_dbt_ind) == "CRDT" else -1)


def _minor(amount: Any) -> int:
    """Of an amount with its currency. Raises StatementRefused when it has parts of a minor unit."""
    minor = Decimal(str(amount.value)).scaleb(EXPONENTS.get(amount.ccy, 2))
    if minor != int(minor):
        raise StatementRefused(f"{amount.value} {amount.ccy} is no amount of this currency")
    return int(minor)


def _day(moment: Any) -> date | None:
    if moment is None:
        return None
    found = moment.dt or moment.dt_tm
    return date.fromisoformat(str(found)[:10]) if found else None


def _value(code: Any) -> Any:
    return getattr(code, "value", code)
