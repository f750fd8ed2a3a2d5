"""Files of payments for our bank, and what its answers do (M11)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from almoner.giving.bank_files import checks, service
from almoner.giving.bank_files.domain import BankFileRefused
from almoner.giving.payees import service as payees
from almoner.giving.payouts import flows as payout_flows
from almoner.platform import selfcheck
from tests.support import bank, factories
from tests.support.bank import answer
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.payouts import gift, payouts, settled, uuid_of, verified
from tests.support.service import Service, serving

SCHEMA = Path(__file__).parents[2] / "src/almoner/giving/bank_files/schemas/pain.001.001.09.xsd"
SPACE = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"}


@pytest.fixture
async def service_alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own: a file takes every payout there is."""
    async with serving(empty_database) as made:
        yield made


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
    assert [one.money.minor for one in made.homeless] == [2437]
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
        assert service.content(tx, await service.get(tx, made.file.id)) == content
    assert not (await selfcheck.run(service_alone.db, checks.checks)).findings


async def test_m11_a_payout_is_in_one_file_and_a_file_is_released_once(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    await given(service_alone, partner)
    ours = bank.own(tmp_path, "USD")
    first = (await bank.made(service_alone, ours)).file
    assert first is not None
    assert (await bank.made(service_alone, ours)).file is None
    async with service_alone.db.write() as tx:
        withdrawn = await service.withdraw(tx, first.id, note="wrong day", by="one")
    assert withdrawn.status == "withdrawn"
    second = (await bank.made(service_alone, ours)).file
    assert second is not None
    await bank.released(service_alone, second, by="one")  # 24.37 USD: one person may
    for refused in (service.release(tx, second.id, by="two"), service.withdraw(tx, second.id, note="x", by="two")):
        async with service_alone.db.write() as tx:
            with pytest.raises(BankFileRefused, match="The file is released"):
                await refused
    assert (await bank.made(service_alone, ours)).file is None


async def test_m12_above_the_limit_somebody_else_releases(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    for _ in range(5):
        await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"), by="one")).file
    assert file is not None
    assert file.takes_two
    with pytest.raises(BankFileRefused, match="somebody else has to release it"):
        await bank.released(service_alone, file, by="one")
    await bank.released(service_alone, file, by="two")


async def test_a_file_is_not_released_when_one_of_its_payouts_has_moved(
    service_alone: Service, partner: Client, tmp_path: Path
) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    (payout,) = await payouts(partner)
    await payout_flows.confirm(service_alone.db, uuid_of(service_alone, "disbursement", payout["id"]))
    with pytest.raises(BankFileRefused, match="withdraw it and make another one"):
        await bank.released(service_alone, file)


async def test_the_day_of_a_file_is_near(service_alone: Service, tmp_path: Path) -> None:
    today = service_alone.clock.now().date()
    for day in (today - timedelta(days=1), today + timedelta(days=61)):
        with pytest.raises(BankFileRefused, match="from today on"):
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
    told = await bank.heard(service_alone, content)
    assert (told.confirmed, told.returned) == (1, 1)
    standing = {one["endToEndId"]: one["status"] for one in await payouts(partner)}
    assert {standing[paid], standing[open_]} == {"PAID", "SENT"}
    assert standing[rejected] == "RETURNED"
    assert sorted([(await gift(partner, one))["status"] for one in gifts]) == [
        "DISBURSED",
        "RECEIVED_PAYMENT",
        "RECEIVED_PAYMENT",
    ]
    again = await bank.heard(service_alone, content)
    assert (again.counts, again.confirmed, again.returned) == ({}, 0, 0)
    late = await bank.heard(service_alone, answer(file, whole="ACCC", message="B2"))
    assert (late.confirmed, late.returned) == (1, 0)
    assert {one["endToEndId"]: one["status"] for one in await payouts(partner)}[rejected] == "RETURNED"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (b"<a/>", "no answer of a bank: it is no pain.002"),
        (b"not xml", "it is no XML"),
        (
            b'<!DOCTYPE x [<!ENTITY e "x">]><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"/>',
            "pain.002",
        ),
    ],
)
async def test_an_answer_that_is_none_is_refused(service_alone: Service, wrong: bytes, why: str) -> None:
    with pytest.raises(BankFileRefused, match=why):
        await bank.heard(service_alone, wrong)


async def test_m11_a_wrong_answer_changes_nothing(service_alone: Service, partner: Client, tmp_path: Path) -> None:
    await given(service_alone, partner)
    file = (await bank.made(service_alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    (known,) = await ends(partner)
    with pytest.raises(BankFileRefused, match="no file of ours that went to the bank"):
        await bank.heard(service_alone, answer(file, (known, "ACSC")))
    await bank.released(service_alone, file)
    wrongs = {
        "no payment of the file is 'e1'": answer(file, (known, "ACSC"), ("e1", "ACSC")),
        "the status 'XXXX' is none that we know": answer(file, (known, "XXXX")),
        "of 2 payments": answer(file, (known, "RJCT"), payments=2),
        "named twice": answer(file, (known, "ACSC"), (known, "RJCT")),
    }
    for why, content in wrongs.items():
        with pytest.raises(BankFileRefused, match=why):
            await bank.heard(service_alone, content)
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]
    assert (await bank.heard(service_alone, answer(file, whole="RJCT", version="03"))).returned == 1


async def test_a_changed_account_holds_payouts_until_two_others_have_looked(
    service_alone: Service, partner: Client
) -> None:
    cause = await factories.nonprofit(service_alone)
    await verified(service_alone, partner, cause)
    await bank.account(service_alone, cause)
    async with service_alone.db.write() as tx:
        changed = await payees.propose(
            tx, bank.proposal(service_alone, cause, iban=bank.OTHER_IBAN), note="mail", by="one"
        )
    await settled(service_alone, partner, cause)
    await bank.sent(service_alone)
    assert [(one["status"], one["waitingReason"]) for one in await payouts(partner)] == [("PENDING", "on_hold")]
    for officer in ("two", "three"):
        async with service_alone.db.write() as tx:
            changed = await payees.approve(tx, changed.id, note="telephone", by=officer)
    assert changed.status == "approved"
    await bank.sent(service_alone)
    assert [one["status"] for one in await payouts(partner)] == ["SENT"]
