"""Files of payments for our bank, and what its answers do (M11)."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import asyncpg
import pytest
from lxml import etree

from almoner.giving.banking.bank_statements import checks as bank_statements_checks
from almoner.giving.banking.payment_files import checks as payment_files_checks
from almoner.giving.banking.payment_files import service
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.platform.observability import selfcheck
from tests.support import bank, camt, factories
from tests.support.bank import answer
from tests.support.client import Client, data
from tests.support.payouts import gift, payouts, settled, uuid_of, verified
from tests.support.service import Service

SCHEMA = Path(__file__).parents[2] / "src/almoner/giving/banking/payment_files/schemas/pain.001.001.09.xsd"
SPACE = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"}


@pytest.fixture
def service_alone(alone: Service) -> Service:
    """A service of its own: a file takes every payout there is."""
    return alone


@pytest.fixture
async def partner(service_alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = service_alone.client((await service_alone.tenant()).secret)
    yield api
    await api.close()


async def given(service: Service, api: Client, *, homeless: bool = False) -> dict[str, str]:
    """A payout of one gift that was sent; its donation."""
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    made = await settled(service, api, cause)
    if not homeless:
        await bank.account(service, cause)
    await bank.sent(service)
    return made


async def ends(api: Client) -> list[str]:
    return sorted(one["endToEndId"] for one in await payouts(api))


async def test_m11_a_file_is_valid_and_its_sums_are_the_payouts(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    for _ in range(2):
        await given(service_alone, partner)
    await given(service_alone, partner, homeless=True)
    made = await bank.made(service_alone, bank.own(tmp_path, "USD"))
    assert made.file is not None
    assert [one.money.minor for one in made.disbursements_without_account] == [2437]
    content = await bank.released(service_alone, made.file)
    tree = etree.fromstring(content)
    etree.XMLSchema(etree.parse(str(SCHEMA))).assertValid(tree)
    assert tree.findtext(".//p:GrpHdr/p:NbOfTxs", namespaces=SPACE) == "2"
    total = sum(Decimal(one.text) for one in tree.iterfind(".//p:InstdAmt", SPACE))
    assert tree.findtext(".//p:GrpHdr/p:CtrlSum", namespaces=SPACE) == str(total) == "48.74"
    named = [one.text for one in tree.iterfind(".//p:EndToEndId", SPACE)]
    assert len(set(named)) == 2
    assert set(named) < set(await ends(partner))
    assert {one.text for one in tree.iterfind(".//p:Cdtr/p:PstlAdr/p:TwnNm", SPACE)} == {"Berlin"}
    assert {one.text for one in tree.iterfind(".//p:Cdtr/p:PstlAdr/p:Ctry", SPACE)} == {"DE"}
    async with service_alone.db.read() as tx:
        assert service.decrypt_released_content(tx, await service.get(tx, made.file.id)) == content
    assert not (await selfcheck.run_selfcheck(service_alone.db, payment_files_checks.checks)).findings


async def test_m11_a_file_has_the_banks_characters_and_says_what_was_changed(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    cause = await factories.nonprofit(service_alone)
    name = data(await partner.get(f"/v1/organisations/{cause}"))["name"]
    await verified(service_alone, partner, cause)
    await settled(service_alone, partner, cause, currencyCode="EUR")
    proposed = await bank.account(service_alone, cause, "EUR", holder=f"{name} “Ø” & Łódź")
    await bank.sent(service_alone)
    made = await bank.made(service_alone, bank.own(tmp_path, "EUR"))
    assert made.file is not None
    async with service_alone.db.read() as tx:
        [changed] = await service.list_transliterated_texts(tx, made.file.id)
    sent = f"{name} 'O' + Lodz"
    assert (changed.account_id, changed.field_name, changed.sent_text) == (proposed.id, "holder", sent)
    content = await bank.released(service_alone, made.file)
    tree = etree.fromstring(content)
    assert [one.text for one in tree.iterfind(".//p:Cdtr/p:Nm", SPACE)] == [sent]
    assert tree.findtext(".//p:Dbtr/p:Nm", namespaces=SPACE) == "Example + Sohne"
    assert content.isascii()


async def test_m11_a_file_is_written_only_as_it_was_released(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    await given(service_alone, partner)
    made = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert made is not None
    async with service_alone.db.write() as tx:
        with pytest.raises(PaymentFileError, match="Only a released file can be written"):
            service.decrypt_released_content(tx, made)
        with pytest.raises(PaymentFileError, match="The note must have 1 to"):
            await service.withdraw_file(tx, made.id, note="", withdrawn_by="one")
    await bank.released(service_alone, made)
    async with service_alone.db.write() as tx:
        file = await service.get(tx, made.id)
        with pytest.raises(PaymentFileError, match="was changed after it was created"):
            service.decrypt_released_content(tx, replace(file, sha256=bytes(32)))
        with pytest.raises(PaymentFileError, match="released and cannot be withdrawn"):
            await service.withdraw_file(tx, made.id, note="too late", withdrawn_by="one")


async def test_m11_a_payout_is_in_one_file_and_a_file_is_released_once(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    await given(service_alone, partner)
    ours = bank.own(tmp_path, "USD")
    first = (await bank.made(service_alone, ours)).file
    assert first is not None
    assert (await bank.made(service_alone, ours)).file is None
    async with service_alone.db.write() as tx:
        withdrawn = await service.withdraw_file(tx, first.id, note="wrong day", withdrawn_by="one")
    assert withdrawn.status == "withdrawn"
    second = (await bank.made(service_alone, ours)).file
    assert second is not None
    await bank.released(service_alone, second, by="one")  # 24.37 USD: one person may
    for refused in (
        service.release_file(tx, second.id, released_by="two"),
        service.withdraw_file(tx, second.id, note="x", withdrawn_by="two"),
    ):
        async with service_alone.db.write() as tx:
            with pytest.raises(PaymentFileError, match="The file is released"):
                await refused
    assert (await bank.made(service_alone, ours)).file is None


async def test_m12_above_the_limit_somebody_else_releases(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    for _ in range(5):
        await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"), by="one")).file
    assert file is not None
    assert file.requires_second_approval
    with pytest.raises(PaymentFileError, match="somebody else must release it"):
        await bank.released(service_alone, file, by="one")
    await bank.released(service_alone, file, by="two")


async def test_a_file_is_not_released_when_one_of_its_payouts_has_moved(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    (payout,) = await payouts(partner)
    await disbursements_flows.confirm_paid_in_sandbox(
        service_alone.db, uuid_of(service_alone, "disbursement", payout["id"])
    )
    with pytest.raises(PaymentFileError, match="Withdraw the file and create a new one"):
        await bank.released(service_alone, file)


async def test_euros_go_by_sepa_where_sepa_is(service_alone: Service, partner: Client, tmp_path: Path) -> None:
    for iban, bic in ((bank.IBAN, None), ("TR330006100519786457841326", "TCZBTR2A")):
        cause = await factories.nonprofit(service_alone)
        await verified(service_alone, partner, cause)
        await settled(service_alone, partner, cause, currencyCode="EUR")
        await bank.account(service_alone, cause, "EUR", iban, bic=bic)
    await bank.sent(service_alone)
    file = (await bank.made(service_alone, bank.own(tmp_path, "EUR"))).file
    assert file is not None
    tree = etree.fromstring(await bank.released(service_alone, file))
    found = [
        [one.findtext(f".//p:{name}", namespaces=SPACE) for name in ("Cd", "ChrgBr", "NbOfTxs", "CdtrAcct/p:Id/p:IBAN")]
        for one in tree.iterfind(".//p:PmtInf", SPACE)
    ]
    assert [one[1:] for one in found] == [["SLEV", "1", bank.IBAN], ["SHAR", "1", "TR330006100519786457841326"]]
    assert found[0][0] == "SEPA"
    assert tree.findtext(".//p:CdtrAgt//p:BICFI", namespaces=SPACE) == "TCZBTR2A"
    reported = await bank.heard(service_alone, answer(file, whole="ACSC"))
    assert reported.confirmed_count == 2


async def test_the_day_of_a_file_is_near(service_alone: Service, tmp_path: Path) -> None:
    today = service_alone.clock.now().date()
    for day in (today - timedelta(days=1), today + timedelta(days=61)):
        with pytest.raises(PaymentFileError, match="must be today or at most"):
            await bank.made(service_alone, bank.own(tmp_path, "USD"), on=day)


async def test_m11_an_answer_confirms_and_returns_and_a_repeated_one_changes_nothing(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    gifts = [await given(service_alone, partner) for _ in range(3)]
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    await bank.released(service_alone, file)
    paid, rejected, open_ = await ends(partner)
    content = answer(file, (paid, "ACSC"), (rejected, "RJCT"), (open_, "ACSP"), payments=3)
    reported = await bank.heard(service_alone, content)
    assert (reported.confirmed_count, reported.returned_count) == (1, 1)
    standing = {one["endToEndId"]: one["status"] for one in await payouts(partner)}
    assert {standing[paid], standing[open_]} == {"PAID", "SENT"}
    assert standing[rejected] == "RETURNED"
    assert sorted([(await gift(partner, one))["status"] for one in gifts]) == [
        "DISBURSED",
        "RECEIVED_PAYMENT",
        "RECEIVED_PAYMENT",
    ]
    again = await bank.heard(service_alone, content)
    assert (again.outcome_counts, again.confirmed_count, again.returned_count) == ({}, 0, 0)
    late = await bank.heard(service_alone, answer(file, whole="ACCC", message="B2"))
    assert (late.confirmed_count, late.returned_count) == (1, 0)
    ids = service_alone.db.deployment.ids
    [other] = [one["id"] for one in await payouts(partner) if one["endToEndId"] == rejected]
    assert [ids.encode("disbursement", one) for one in late.contradicted_disbursement_ids] == [other], (
        "it was told as paid, too"
    )
    async with service_alone.db.read() as tx:
        held = await disbursements.list_active_holds(tx)
    assert [(one.decided_by, other in one.note) for one in held] == [("rule", True)], "in the place of the return's"
    assert {one["endToEndId"]: one["status"] for one in await payouts(partner)}[rejected] == "RETURNED"


async def test_m11_a_rejection_is_not_believed_against_the_statement(service_alone: Service, partner: Client) -> None:
    made = await given(service_alone, partner)
    file = await bank.in_a_file(service_alone)
    [end] = await ends(partner)
    left = camt.entry("B1", -2437, end_to_end=end, currency="USD")
    await bank.stated(service_alone, camt.statement(left, currency="USD"))
    reported = await bank.heard(service_alone, answer(file, (end, "RJCT")))
    [payout] = await payouts(partner)
    name = uuid_of(service_alone, "disbursement", payout["id"])
    assert (reported.returned_count, reported.contradicted_disbursement_ids, payout["status"]) == (0, [name], "PAID")
    assert (await gift(partner, made))["status"] == "DISBURSED"
    async with service_alone.db.read() as tx:
        assert [(one.decided_by, payout["id"] in one.note) for one in await disbursements.list_active_holds(tx)] == [
            ("rule", True)
        ]
    with pytest.raises(DisbursementError, match="import the one with the return"):
        await disbursements_flows.mark_returned(service_alone.db, name, "closed", recorded_by="officer")
    by_hand = "update disbursement set status = 'RETURNED', returned_at = paid_at where id = $1"
    with pytest.raises(asyncpg.CheckViolationError, match="no statement line reports its return"):
        async with service_alone.db.write() as tx:
            await tx.execute(by_hand, name)
    back = camt.entry("B2", 2437, end_to_end=end, currency="USD", returned="AC04", day="2026-03-03")
    await bank.stated(
        service_alone, camt.statement(back, opening=-2437, reference="S2", currency="USD", day="2026-03-03")
    )
    [payout] = await payouts(partner)
    assert payout["status"] == "RETURNED"
    outcome = await selfcheck.run_selfcheck(service_alone.db, bank_statements_checks.checks)
    assert not outcome.findings


async def test_m11_no_file_is_released_after_its_day(service_alone: Service, partner: Client, tmp_path: Path) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    service_alone.clock.advance(days=1)
    with pytest.raises(PaymentFileError, match="The execution date of this file has passed"):
        await bank.released(service_alone, file)
    await bank.withdrawn(service_alone, file)
    await bank.in_a_file(service_alone)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (b"<a/>", "no status report of a bank: it is another kind of XML than the messages of banks"),
        (b"not xml", "it is no XML"),
        (
            b'<!DOCTYPE x [<!ENTITY e "x">]><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"/>',
            "document type",
        ),
        (b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"/>', "its pain.002.001.10 is empty"),
        (camt.statement(), "it is camt.053.001.08, and what is read is pain.002.001.03 to .14"),
    ],
)
async def test_an_answer_that_is_none_is_refused(service_alone: Service, wrong: bytes, why: str) -> None:
    with pytest.raises(PaymentFileError, match=why):
        await bank.heard(service_alone, wrong)


async def test_m11_a_wrong_answer_changes_nothing(service_alone: Service, partner: Client, tmp_path: Path) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    (known,) = await ends(partner)
    with pytest.raises(PaymentFileError, match="not a released file of ours"):
        await bank.heard(service_alone, answer(file, (known, "ACSC")))
    await bank.released(service_alone, file)
    wrongs = {
        "no payment of the file is 'e1'": answer(file, (known, "ACSC"), ("e1", "ACSC")),
        "the status 'XXXX' is none that we know": answer(file, (known, "XXXX")),
        "of 2 payments": answer(file, (known, "RJCT"), payments=2),
        "named twice": answer(file, (known, "ACSC"), (known, "RJCT")),
    }
    for why, content in wrongs.items():
        with pytest.raises(PaymentFileError, match=why):
            await bank.heard(service_alone, content)
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]
    assert (await bank.heard(service_alone, answer(file, whole="RJCT", version="03"))).returned_count == 1


FAULTY = """
create function faulty() returns trigger language plpgsql as $$ begin
    raise exception 'not this one' using errcode = 'check_violation', constraint = 'faulty';
end $$;
create trigger faulty before update on disbursement for each row when (old.end_to_end_id = '%s')
    execute function faulty();
"""


async def test_m11_what_cannot_be_done_keeps_none_of_the_others_back_and_is_done_by_the_next_reading(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    for _ in range(3):
        await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    await bank.released(service_alone, file)
    known = await ends(partner)
    owner = await asyncpg.connect(service_alone.database.owner_dsn)
    await owner.execute(FAULTY % known[1])
    reported = await bank.heard(service_alone, answer(file, whole="ACSC"))
    assert (reported.confirmed_count, [why for _, why in reported.refused_disbursements]) == (2, ["not this one"])
    assert Counter(one["status"] for one in await payouts(partner)) == {"PAID": 2, "SENT": 1}
    await owner.execute("drop function faulty cascade")
    await owner.close()
    reported = await bank.heard(service_alone, answer(file, whole="ACSC"))
    assert (reported.confirmed_count, reported.refused_disbursements, reported.contradicted_disbursement_ids) == (
        1,
        [],
        [],
    )
    assert (await bank.heard(service_alone, answer(file, whole="ACSC"))).outcome_counts == {}


def with_facts(content: bytes, *, total: str, amount: str, batch_total: str = "24.37") -> bytes:
    """An answer in which the bank tells of what it was sent, in the form's order."""
    after = {
        b"</OrgnlMsgNmId><OrgnlNbOfTxs>1</OrgnlNbOfTxs>": f"<OrgnlCtrlSum>{total}</OrgnlCtrlSum>",
        b"-other</OrgnlPmtInfId>": f"<OrgnlNbOfTxs>1</OrgnlNbOfTxs><OrgnlCtrlSum>{batch_total}</OrgnlCtrlSum>",
        b"</StsRsnInf>": f"<OrgnlTxRef><Amt><InstdAmt {amount}</InstdAmt></Amt></OrgnlTxRef>",
    }
    for place, reported in after.items():
        assert place in content
        content = content.replace(place, place + reported.encode())
    return content


@pytest.mark.parametrize("version", ["03", "10", "14"])
async def test_m11_an_answer_that_tells_of_other_payments_than_ours_changes_nothing(
    service_alone: Service, partner: Client, tmp_path: Path, version: str
) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    await bank.released(service_alone, file)
    (known,) = await ends(partner)
    right = answer(file, (known, "ACSC"), payments=1, version=version)
    ours = 'Ccy="USD">24.37'
    wrongs = {
        "about a message 'pain.008.001.02'": right.replace(b"pain.001.001.09", b"pain.008.001.02"),
        "about a file of 0 payments": right.replace(b"NbOfTxs>1<", b"NbOfTxs>0<"),
        "about a file of 24.38 in all": with_facts(right, total="24.38", amount=ours),
        "about a batch '.*-other' of 1 in all": with_facts(right, total="24.37", amount=ours, batch_total="1"),
        "is no payment of 24.37 JPY": with_facts(right, total="24.37", amount='Ccy="JPY">24.37'),
        "is no payment of 24.36 USD": with_facts(right, total="24.37", amount='Ccy="USD">24.36'),
        "the file has no batch '.*-sepa'": right.replace(b"-other", b"-sepa"),
    }
    for why, content in wrongs.items():
        with pytest.raises(PaymentFileError, match=why):
            await bank.heard(service_alone, content)
    every = right.replace(b"pain.001", b"pain.008").replace(b"NbOfTxs>1<", b"NbOfTxs>9<").replace(b"-other", b"-x")
    with pytest.raises(PaymentFileError, match=r"pain\.008.*; .*9 payments.*; .*no batch"):
        await bank.heard(service_alone, every)
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]
    assert (await bank.heard(service_alone, with_facts(right, total="24.370", amount=ours))).confirmed_count == 1


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (b"NbOfTxs>1<", b"NbOfTxs>abc<"),
        (b"NbOfTxs>1<", b"NbOfTxs>2.5<"),
        (b"NbOfTxs>1<", b"NbOfTxs><"),
        (b"</OrgnlNbOfTxs>", b"</OrgnlNbOfTxs><OrgnlCtrlSum>NaN</OrgnlCtrlSum>"),
        (b"</OrgnlNbOfTxs>", b"</OrgnlNbOfTxs><OrgnlCtrlSum>sNaN</OrgnlCtrlSum>"),
        (b"</OrgnlNbOfTxs>", b"</OrgnlNbOfTxs><OrgnlCtrlSum>1E+999999</OrgnlCtrlSum>"),
        (b"</OrgnlNbOfTxs>", b"</OrgnlNbOfTxs><OrgnlCtrlSum></OrgnlCtrlSum>"),
        (b"</OrgnlMsgId>", b"</OrgnlMsgId><OrgnlMsgId>x</OrgnlMsgId>"),
        (b"ACSC", b""),
    ],
)
async def test_m11_an_answer_that_cannot_be_read_is_refused(
    service_alone: Service, partner: Client, tmp_path: Path, place: bytes, wrong: bytes
) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    await bank.released(service_alone, file)
    content = answer(file, ((await ends(partner))[0], "ACSC"), payments=1)
    assert place in content
    with pytest.raises(PaymentFileError):
        await bank.heard(service_alone, content.replace(place, wrong, 1))
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]


async def test_a_changed_account_holds_payouts_until_two_others_have_looked(
    service_alone: Service, partner: Client
) -> None:
    cause = await factories.nonprofit(service_alone)
    await verified(service_alone, partner, cause)
    await bank.account(service_alone, cause)
    async with service_alone.db.write() as tx:
        changed = await payee_bank_accounts.propose_account(
            tx, bank.proposal(service_alone, cause, iban=bank.OTHER_IBAN), note="mail", proposed_by="one"
        )
    await settled(service_alone, partner, cause)
    await bank.sent(service_alone)
    assert [(one["status"], one["waitingReason"]) for one in await payouts(partner)] == [("PENDING", "on_hold")]
    for officer in ("two", "three"):
        async with service_alone.db.write() as tx:
            changed = await payee_bank_accounts.approve(
                tx, changed.id, entered_account_number=bank.OTHER_IBAN, note="telephone", approved_by=officer
            )
    assert changed.status == "approved"
    await bank.sent(service_alone)
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]
