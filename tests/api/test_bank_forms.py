"""Statements as banks hand them out, each with what it must give: what is not needed is not demanded (M7)."""

import io
import tarfile
import zipfile
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError, UnreconciledLineReason
from tests.support import bank, books, camt
from tests.support import giving as support
from tests.support.camt import Entry
from tests.support.client import Client
from tests.support.giving import Giving
from tests.support.requests import asked, requests
from tests.support.service import Service
from tests.support.transfers import begun, came, reference


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def lines(alone: Service) -> list[BankLine]:
    """All lines, the oldest first."""
    async with alone.db.read() as tx:
        return (await bank_statements.list_oldest_open_or_newest_lines(tx, 1000, newest_of_any_status=True))[::-1]


async def donor(alone: Service, partner: Client) -> tuple[Giving, str]:
    """A donor who will transfer 25 dollars, and the reference."""
    giving = await support.open_session(alone, partner)
    await begun(giving)
    return giving, await reference(giving)


async def imported(alone: Service, content: bytes, matched: int = 1) -> list[BankLine]:
    """A statement without a problem, of which so many lines are matched now."""
    looked = await bank.stated(alone, content)
    assert (list(looked.problems), looked.matched_line_count) == ([], matched)
    return await lines(alone)


def without(content: bytes, *left_out: str) -> bytes:
    """A statement without these elements, written so."""
    for one in left_out:
        assert one.encode() in content, one
        content = content.replace(one.encode(), b"")
    return content


BALANCE: Final = (
    '<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="USD">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>'
    "<Dt><Dt>2026-03-02</Dt></Dt></Bal>"
)


@pytest.mark.parametrize(
    "left_out",
    [
        ("<BkTxCd/>",),
        ("<Ccy>USD</Ccy>",),
        ("<Ccy>USD</Ccy>", BALANCE.format(code="OPBD", amount="0.00"), BALANCE.format(code="CLBD", amount="25.00")),
        ("<CreDtTm>2026-03-02T20:00:00</CreDtTm>",),
        ("<GrpHdr><MsgId>M</MsgId><CreDtTm>2026-03-02T20:00:00</CreDtTm></GrpHdr>",),
        ("<Sts><Cd>BOOK</Cd></Sts>",),
        ("<BookgDt><Dt>2026-03-02</Dt></BookgDt>",),
        ("<AcctSvcrRef>B1</AcctSvcrRef>",),
        ("<Id>S1</Id>",),
        ('<?xml version="1.0"?>',),
    ],
)
async def test_m7_what_is_not_needed_may_be_missing(alone: Service, partner: Client, left_out: tuple[str, ...]) -> None:
    _, named = await donor(alone, partner)
    content = without(camt.statement(came("B1", 2500, named), currency="USD"), *left_out)
    [line] = await imported(alone, content)
    assert (line.matched_as, line.movement.amount_minor, line.movement.currency) == ("donation", 2500, "USD")
    assert (await bank.stated(alone, content)).new_statement_count == 0


PLACES: Final = {
    "unstructured, cut into lines": "<RmtInf><Ustrd>{first}</Ustrd><Ustrd>{rest}</Ustrd></RmtInf>",
    "a creditor's reference": "<RmtInf><Strd><CdtrRefInf><Tp><CdOrPrtry><Cd>SCOR</Cd></CdOrPrtry></Tp>"
    "<Ref>{whole}</Ref></CdtrRefInf></Strd></RmtInf>",
    "a second creditor's reference": "<RmtInf><Strd><CdtrRefInf><Ref>4711</Ref></CdtrRefInf></Strd><Strd><CdtrRefInf>"
    "<Ref>{whole}</Ref></CdtrRefInf></Strd></RmtInf>",
    "more beside a reference": "<RmtInf><Strd><AddtlRmtInf>gift {whole}</AddtlRmtInf></Strd></RmtInf>",
    "a document's number": "<RmtInf><Strd><RfrdDocInf><Nb>{whole}</Nb></RfrdDocInf></Strd></RmtInf>",
    "a document's line": "<RmtInf><Strd><RfrdDocInf><LineDtls><Id><Nb>{whole}</Nb></Id></LineDtls></RfrdDocInf>"
    "</Strd></RmtInf>",
    "an end-to-end id": "<Refs><EndToEndId>{whole}</EndToEndId></Refs>",
    "an instruction's id": "<Refs><InstrId>{whole}</InstrId><EndToEndId>NOTPROVIDED</EndToEndId></Refs>",
    "a transaction's id": "<Refs><EndToEndId>NOT PROVIDED</EndToEndId><TxId>{whole}</TxId></Refs>",
    "a reference of the bank's own kind": "<Refs><Prtry><Tp>OTHER</Tp><Ref>{whole}</Ref></Prtry></Refs>",
    "more of the transaction": "<AddtlTxInf>EREF+NOTPROVIDED SVWZ+{whole}</AddtlTxInf>",
    "remittance sent apart": "<RltdRmtInf><RmtId>{whole}</RmtId></RltdRmtInf>",
}


@pytest.mark.parametrize("place", PLACES)
async def test_m7_a_reference_is_found_wherever_it_stands(alone: Service, partner: Client, place: str) -> None:
    _, named = await donor(alone, partner)
    told = PLACES[place].format(whole=named.lower(), first=f"Gift {named[:7]}", rest=named[7:])
    entry = Entry(
        2500,
        '<Ntry><Amt Ccy="USD">25.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><DtTm>'
        f"2026-03-02T10:00:00+01:00</DtTm></BookgDt><NtryDtls><TxDtls>{told}</TxDtls></NtryDtls></Ntry>",
        True,
    )
    [line] = await imported(alone, camt.statement(entry, currency="USD", version=2))
    assert line.matched_as == "donation"


@pytest.mark.parametrize("at_entry", ["<AddtlNtryInf>{}</AddtlNtryInf>", "<NtryRef>{}</NtryRef>"])
async def test_m7_a_reference_of_an_entry_is_found(alone: Service, partner: Client, at_entry: str) -> None:
    _, named = await donor(alone, partner)
    entry = Entry(
        2500,
        f'<Ntry>{at_entry.format(named)}<Amt Ccy="USD">25.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><ValDt><Dt>2026-03-02'
        "</Dt></ValDt></Ntry>",
        True,
    )
    [line] = await imported(alone, camt.statement(entry, currency="USD"))
    assert line.matched_as == "donation"


@pytest.mark.parametrize(
    ("message", "root", "why"),
    [
        ("camt.052.001.08", "BkToCstmrAcctRpt", r"a report of the day \(camt.052\).* Ask the bank for statements"),
        ("camt.054.001.04", "BkToCstmrDbtCdtNtfctn", r"a notification of single entries \(camt.054\)"),
        ("pain.002.001.10", "CstmrPmtStsRpt", "almoner payment-files import-status"),
        ("camt.053.001.15", "BkToCstmrStmt", r"camt.053.001.15, and what is read is camt.053.001.02 to .14"),
        ("camt.029.001.09", "RsltnOfInvstgtn", "camt.029.001.09"),
    ],
)
async def test_m7_another_message_is_refused_by_its_name(alone: Service, message: str, root: str, why: str) -> None:
    content = f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:{message}"><{root}/></Document>'
    with pytest.raises(
        BankStatementError, match=f"This is not a bank statement but {why}" if "import" not in why else why
    ):
        await bank.stated(alone, content.encode())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda one: b"<!DOCTYPE Document>" + one.partition(b"?>")[2], "it has a document type"),
        (lambda one: one[:-40], "its XML is broken in line 1"),
        (lambda one: one.replace(b"<Id>S1</Id>", b"<Id>S1\x00</Id>"), "its XML is broken in line 1"),
        (lambda one: one.replace(b"S1", b"&x;"), "its XML is broken in line 1"),
        (lambda one: b"<html><body>Log in</body></html>", "the file is a web page"),
        (lambda one: b"<x>1</x>", "it is another kind of XML than the messages of banks"),
        (lambda one: b"%PDF-1.7", "the file is a PDF document"),
        (lambda one: b"a,b", "it is neither XML nor MT940"),
    ],
)
async def test_m7_what_is_wrong_with_a_file_is_told_in_words(
    alone: Service, spoil: Callable[[bytes], bytes], why: str
) -> None:
    with pytest.raises(BankStatementError, match=f"^This is not a bank statement: {why}") as refused:
        await bank.stated(alone, spoil(camt.statement(camt.entry("B1", 500))))
    for inner in ("__", "Error", "argument", "NoneType", "lxml", "xsdata", "object"):
        assert inner not in str(refused.value)


@pytest.mark.parametrize(
    "dress",
    [
        lambda one: b"\xef\xbb\xbf" + one,
        lambda one: b"\r\n" + one.partition(b"?>")[2],
        lambda one: one.partition(b"?>")[2].decode().encode("utf-16"),
        lambda one: one.replace(b'"1.0"', b'"1.0" encoding="ISO-8859-1" standalone="yes"').replace(
            b"gift", b"Spende f\xfcr"
        ),
        lambda one: one.replace(b"urn:iso:std:iso:20022:tech:xsd:", b"ISO:"),
        lambda one: one.replace(b"<Document xmlns=", b"<!-- daily --><Document xmlns:xsi='http://x' xmlns="),
        lambda one: (
            one.replace(b"<", b"<n:").replace(b"<n:/", b"</n:").replace(b"<n:?", b"<?").replace(b"xmlns=", b"xmlns:n=")
        ),
        lambda one: b"<Envelope><Body>" + one.partition(b"?>")[2] + b"</Body></Envelope>",
    ],
)
async def test_m7_a_statement_is_read_however_it_is_dressed(
    alone: Service, partner: Client, dress: Callable[[bytes], bytes]
) -> None:
    _, named = await donor(alone, partner)
    content = camt.statement(camt.entry("B1", 2500, words=f"gift {named}", currency="USD"), currency="USD")
    [line] = await imported(alone, dress(content))
    assert line.matched_as == "donation"


def zipped(*files: tuple[str, bytes]) -> bytes:
    """A zip file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return made.getvalue()


def tarred(*files: tuple[str, bytes]) -> bytes:
    """A tar.gz file."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.mark.parametrize("pack", [zipped, tarred])
async def test_m7_a_packed_file_of_many_days_is_read_whole(
    alone: Service, partner: Client, pack: Callable[..., bytes]
) -> None:
    named = [(await donor(alone, partner))[1] for _ in range(3)]
    days = [
        (f"Auszüge/2026-03-0{day}.XML", camt.statement(came("1", 2500, one), currency="USD", reference=f"S{day}"))
        for day, one in enumerate(named, 1)
    ]
    packed = pack(*days, ("slips/1.tiff", b"II*"), ("__MACOSX/._x.xml", b"x"))
    assert [one.matched_as for one in await imported(alone, packed, 3)] == ["donation"] * 3
    again = zipped(("inner.zip", packed), ("report.xml", camt.statement().replace(b"camt.053", b"camt.052")))
    looked = await bank.stated(alone, again)
    assert looked.new_statement_count == 0
    assert [one.partition(" but ")[0] for one in looked.problems] == ["report.xml: This is not a bank statement"]


ARCHIVES: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "pictures alone": (lambda: zipped(("x.pdf", b"%PDF")), "contains no statement"),
    "nothing": (zipped, "not a bank statement"),
    "cut off": (lambda: zipped(("a.xml", b"<a/>"))[:-30], "cannot be unpacked: download it again"),
    "a bomb": (lambda: zipped(("a.xml", b" " * (65 * 1024 * 1024))), "has more than 64 MB"),
    "many": (lambda: zipped(*((f"{at}.xml", b"x") for at in range(2001))), "2,000 files: import them in parts"),
    "nested": (lambda: zipped(("a", zipped(("b", zipped(("c", zipped(("d", b"")))))))), "archives in archives: unpack"),
    "no gzip": (lambda: b"\x1f\x8b" + b"x" * 20, "cannot be unpacked: download it again"),
}


@pytest.mark.parametrize("kind", ARCHIVES)
async def test_m7_an_archive_that_cannot_be_read_is_refused_in_words(alone: Service, kind: str) -> None:
    pack, why = ARCHIVES[kind]
    with pytest.raises(BankStatementError, match=why):
        await bank.stated(alone, pack())


@pytest.mark.parametrize("name", ["001", "<Id>001</Id><ElctrncSeqNb>1</ElctrncSeqNb>"])
@pytest.mark.parametrize("second", ["2027-03-02", "2026-04-02"])
async def test_m7_a_bank_counts_its_statements_anew(alone: Service, partner: Client, name: str, second: str) -> None:
    """Each year, or each month; and its lines have no name of the bank."""
    for rank, day in enumerate(("2026-03-02", second), 1):
        if day > "2026-03-05":
            alone.clock.advance(days=400)
        _, named = await donor(alone, partner)
        entry = came("B", 2500, named)
        entry = entry._replace(xml=entry.xml.replace("<AcctSvcrRef>B</AcctSvcrRef>", "").replace("2026-03-02", day))
        content = camt.statement(entry, currency="USD", reference="001", day=day, opening=2500 * (rank - 1))
        content = content.replace(b"<Id>001</Id>", name.encode() if "<" in name else b"<Id>001</Id>")
        assert len(await imported(alone, content)) == rank
        assert (await bank.stated(alone, content)).new_statement_count == 0
    async with alone.db.read() as tx:
        assert await bank_statements.list_statement_gaps(tx, 10) == []
    assert await books.in_bank(alone, "USD") == 5000


async def test_m7_several_entries_under_one_reference_are_each_a_movement(alone: Service, partner: Client) -> None:
    """Two gifts, one of another amount, and two requests of one partner: none waits, and none is lost in the month."""
    (_, first), (_, second) = [await donor(alone, partner) for _ in range(2)]
    some, other = await asked(alone, partner, 700), await asked(alone, partner, 300)
    day = [
        came("BATCH1", 2500, first),
        came("BATCH1", 2500, second),
        came("BATCH1", 700, some["reference"]),
        came("BATCH1", 300, other["reference"]),
    ]
    found = await imported(alone, camt.statement(*day, currency="USD"), 4)
    assert [one.matched_as for one in found] == ["donation", "donation", "request", "request"]
    assert [one["status"] for one in await requests(partner)] == ["PAID", "PAID"]
    assert await books.in_bank(alone, "USD") == 6000
    # The month tells of the same four, and of one more of that day: what a person sees of the four says so.
    _, third = await donor(alone, partner)
    month = camt.statement(*day[::-1], came("BATCH1", 2500, third), currency="USD", reference="month")
    found = (await imported(alone, month))[4:]
    assert [one.unreconciled_reason for one in found] == [UnreconciledLineReason.SEEN_BEFORE] * 4 + [None]
    assert await books.in_bank(alone, "USD") == 8500
    assert await books.balanced(alone)


async def test_m7_what_the_bank_adds_under_a_reference_it_has_used_is_new_in_its_words(
    alone: Service, partner: Client
) -> None:
    named = [(await donor(alone, partner))[1] for _ in range(3)]
    entries = [came("BATCH1", 2500, one) for one in named]
    await imported(alone, camt.statement(entries[2], currency="USD"))
    found = await imported(alone, camt.statement(*entries, currency="USD"), 2)
    assert sorted(one.movement.reference_search_text for one in found) == sorted(named)
    assert {one.matched_as for one in found} == {"donation"}


async def test_m7_alike_lines_wait_where_no_balance_proves_that_they_are_two(alone: Service, partner: Client) -> None:
    request = await asked(alone, partner, 5000)
    twice = [came("B1", 2500, request["reference"])] * 2
    await bank.stated(alone, camt.statement(*twice, currency="USD", told=()))
    assert [one.unreconciled_reason for one in await lines(alone)] == [None, UnreconciledLineReason.POSSIBLE_DUPLICATE]
    proven = camt.statement(*[came("B2", 1250, request["reference"])] * 2, currency="USD", reference="S2")
    assert [one.matched_as for one in (await imported(alone, proven, 2))[2:]] == ["request"] * 2
    assert (await requests(partner))[0]["status"] == "PAID"


@pytest.mark.parametrize("amount", ["0.00", "0"])
async def test_a_line_without_an_amount_moves_nothing(alone: Service, amount: str) -> None:
    content = camt.statement(camt.entry("B1", 500), camt.entry("B2", 1)).replace(b">5.01<", b">5.00<")
    content = content.replace(b">0.01<", f">{amount}<".encode())
    assert [one.movement.amount_minor for one in await imported(alone, content, 0)] == [500]
