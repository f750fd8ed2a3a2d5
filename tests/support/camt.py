"""camt.053 statements as banks might write them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

ACCOUNT: Final = "NL91ABNA0417164300"


class Entry(NamedTuple):
    """One entry of a statement."""

    minor: int
    xml: str
    booked: bool


def other(number: str) -> str:
    """An account without an IBAN."""
    return f"<Othr><Id>{number}</Id></Othr>"


def _amount(minor: int, currency: str) -> str:
    return f'<Amt Ccy="{currency}">{Decimal(abs(minor)).scaleb(-2)}</Amt>'


def _sign(minor: int) -> str:
    return f"<CdtDbtInd>{'CRDT' if minor >= 0 else 'DBIT'}</CdtDbtInd>"


def entry(
    reference: str,
    minor: int,
    *,
    words: str | None = None,
    end_to_end: str = "NOTPROVIDED",
    name: str | None = None,
    status: str = "BOOK",
    currency: str = "EUR",
    returned: str | None = None,
    day: str = "2026-03-02",
    reversal: bool = False,
) -> Entry:
    """One movement with its details; the statement's version fills in ``{status}``."""
    side = "Dbtr" if minor >= 0 else "Cdtr"
    parties = f"<RltdPties><{side}>{{open}}<Nm>{escape(name)}</Nm>{{close}}</{side}></RltdPties>" if name else ""
    text = f"<RmtInf><Ustrd>{escape(words)}</Ustrd></RmtInf>" if words else ""
    back = f"<RtrInf><Rsn><Cd>{returned}</Cd></Rsn></RtrInf>" if returned else ""
    return Entry(
        minor,
        f"<Ntry>{_amount(minor, currency)}{_sign(minor)}{'<RvslInd>true</RvslInd>' if reversal else ''}"
        f"<Sts>{{status:{status}}}</Sts><BookgDt><Dt>{day}</Dt></BookgDt>"
        f"<AcctSvcrRef>{reference}</AcctSvcrRef><BkTxCd/><NtryDtls><TxDtls><Refs><EndToEndId>{end_to_end}</EndToEndId>"
        f"</Refs>{{amount}}{parties}{text}{back}</TxDtls></NtryDtls></Ntry>",
        status == "BOOK",
    )


def batch(reference: str, minor: int, parts: Sequence[int], currency: str = "EUR") -> Entry:
    """One entry of several parts, each with its amount."""
    details = "".join(f"<TxDtls><AmtDtls><TxAmt>{_amount(part, currency)}</TxAmt></AmtDtls></TxDtls>" for part in parts)
    return Entry(
        minor,
        f"<Ntry>{_amount(minor, currency)}{_sign(minor)}<Sts>{{status:BOOK}}</Sts>"
        f"<BookgDt><Dt>2026-03-02</Dt></BookgDt><AcctSvcrRef>{reference}</AcctSvcrRef><BkTxCd/>"
        f"<NtryDtls>{details}</NtryDtls></Ntry>",
        True,
    )


def at_once(
    reference: str, minor: int, *, names: Sequence[str] = (), payments: Sequence[str] = (), words: str = ""
) -> Entry:
    """One entry of many payments without their amounts: of a batch by its names, or of these end-to-end IDs."""
    tags = "".join(f"<{tag}>{name}</{tag}>" for tag, name in zip(("MsgId", "PmtInfId"), names, strict=False))
    batch_ = f"<Btch>{tags}</Btch>" if tags else ""
    details = "".join(f"<TxDtls><Refs><EndToEndId>{one}</EndToEndId></Refs></TxDtls>" for one in payments)
    return Entry(
        minor,
        f"<Ntry>{_amount(minor, 'USD')}{_sign(minor)}<Sts>{{status:BOOK}}</Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt>"
        f"<AcctSvcrRef>{reference}</AcctSvcrRef><BkTxCd/><NtryDtls>{batch_}{details}"
        f"</NtryDtls>{f'<AddtlNtryInf>{escape(words)}</AddtlNtryInf>' if words else ''}</Ntry>",
        True,
    )


def statement(
    *entries: Entry,
    opening: int = 0,
    version: int = 8,
    reference: str = "S1",
    currency: str = "EUR",
    off: int = 0,
    page: str = "",
    account: str = f"<IBAN>{ACCOUNT}</IBAN>",
    day: str = "2026-03-02",
    told: Sequence[str] = ("OPBD", "CLBD"),
) -> bytes:
    """A statement; ``off``: the error of its closing balance; ``page``: number, and whether it is the last.

    ``day``: of its balances; ``told``: the balances that it contains.
    """
    closing = opening + sum(one.minor for one in entries if one.booked) + off
    balances = "".join(
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_amount(minor, currency)}{_sign(minor)}"
        f"<Dt><Dt>{day}</Dt></Dt></Bal>"
        for code, minor in (("OPBD", opening), ("CLBD", closing))
        if code in told
    )
    number, _, last = page.partition(" ")
    pages = f"<StmtPgntn><PgNb>{number}</PgNb><LastPgInd>{last}</LastPgInd></StmtPgntn>" if page else ""
    rows = "".join(_of_version(one, version, currency) for one in entries)
    return (
        f'<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version:02}">'
        "<BkToCstmrStmt><GrpHdr><MsgId>M</MsgId><CreDtTm>2026-03-02T20:00:00</CreDtTm></GrpHdr>"
        f"<Stmt><Id>{reference}</Id>{pages}<CreDtTm>2026-03-02T20:00:00</CreDtTm><Acct><Id>{account}</Id>"
        f"<Ccy>{currency}</Ccy></Acct>{balances}{rows}</Stmt></BkToCstmrStmt></Document>"
    ).encode()


def _of_version(one: Entry, version: int, currency: str) -> str:
    """Details have amounts from version 3 on, statuses are choices from 7 on, parties have another layer from 8 on."""
    xml = one.xml
    for status in ("BOOK", "PDNG"):
        xml = xml.replace(f"{{status:{status}}}", status if version < 7 else f"<Cd>{status}</Cd>")
    opened, closed = ("<Pty>", "</Pty>") if version >= 8 else ("", "")
    amount = _amount(one.minor, currency) + _sign(one.minor) if version >= 3 else ""
    return xml.replace("{open}", opened).replace("{close}", closed).replace("{amount}", amount)
