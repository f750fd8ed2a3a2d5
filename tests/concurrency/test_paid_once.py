"""Many officers at once: a payout goes to the bank once, in one file, and is confirmed once, by as many as it takes."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from almoner.access.operators import service as operators
from almoner.access.operators.domain import SecondOperatorRequired
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import (
    DisbursementConfirmation,
    DisbursementError,
    SecondConfirmationRequired,
)
from tests.support import bank, books, factories
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.payouts import came_back, gift, payouts, release, settled, uuid_of, verified
from tests.support.service import Service
from tests.support.terminal import operator

AT_ONCE = 8


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def sent(service: Service, api: Client) -> tuple[str, dict[str, str]]:
    """A nonprofit with a payout that is SENT, and its gift."""
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    made = await settled(service, api, cause)
    await bank.account(service, cause)
    await bank.sent(service)
    return cause, made


async def test_m11_a_payout_is_sent_once_whoever_makes_and_releases_files_at_once(
    alone: Service, partner: Client, tmp_path: Path
) -> None:
    for _ in range(3):
        await sent(alone, partner)
    ours = bank.own(tmp_path, "USD")
    tried = await asyncio.gather(*(bank.made(alone, ours) for _ in range(AT_ONCE)), return_exceptions=True)
    made = [one.file for one in tried if not isinstance(one, BaseException) and one.file is not None]
    assert all(isinstance(one, PaymentFileError) for one in tried if isinstance(one, BaseException))
    assert [one.payment_count for one in made] == [3]
    done = await asyncio.gather(*(bank.released(alone, made[0]) for _ in range(AT_ONCE)), return_exceptions=True)
    written = [one for one in done if isinstance(one, bytes)]
    assert len(written) == 1, "a file goes to the bank once"
    assert all(isinstance(one, PaymentFileError) for one in done if not isinstance(one, bytes))
    async with alone.db.read() as tx:
        stored = await payment_files.get(tx, made[0].id)
        assert payment_files.decrypt_released_content(tx, stored) == written[0]
    assert stored.sha256 == sha256(written[0]).digest(), "the hash of the file is kept"
    ends = sorted(one["endToEndId"] for one in await payouts(partner))
    assert [written[0].count(f"<EndToEndId>{end}<".encode()) for end in ends] == [1, 1, 1]
    assert (await bank.made(alone, ours)).file is None


async def test_m11_every_payout_has_an_end_to_end_id_of_its_own_also_after_it_came_back(
    alone: Service, partner: Client
) -> None:
    cause, made = await sent(alone, partner)
    (first,) = await payouts(partner)
    await came_back(alone, first)
    await release(alone, cause)
    await bank.sent(alone)
    again, before = await payouts(partner)
    assert (before["endToEndId"], before["status"], again["status"]) == (first["endToEndId"], "RETURNED", "SENT")
    assert again["endToEndId"] != first["endToEndId"]
    assert (await gift(partner, made))["status"] == "RECEIVED_PAYMENT"


async def test_m12_outside_a_file_a_payout_above_the_limit_takes_two_people_at_once_too(
    alone: Service, partner: Client
) -> None:
    await sent(alone, partner)
    (payout,) = await payouts(partner)
    payout_id = uuid_of(alone, "disbursement", payout["id"])
    ada, bo = [await operator(alone, "finance") for _ in range(2)]

    async def confirm(said: DisbursementConfirmation | None) -> str:
        async with alone.db.write() as tx:
            return (await disbursements.confirm_paid(tx, payout_id, said)).status

    limit = payout["amount"] - 1
    for refused in (
        DisbursementConfirmation(ada.id, limit),
        DisbursementConfirmation(ada.id, limit, "seen", (ada.id, "seen")),
    ):
        with pytest.raises(SecondConfirmationRequired):
            await confirm(refused)
    two = DisbursementConfirmation(ada.id, limit, "seen", (bo.id, "seen too"))
    done = await asyncio.gather(*(confirm(two) for _ in range(AT_ONCE)), return_exceptions=True)
    assert [one for one in done if not isinstance(one, DisbursementError)] == ["PAID"]
    assert await books.balanced(alone)


async def test_m12_one_person_in_many_windows_is_not_two(alone: Service, partner: Client) -> None:
    await sent(alone, partner)
    (payout,) = await payouts(partner)
    payout_id = uuid_of(alone, "disbursement", payout["id"])
    ada = await operator(alone, "finance")

    async def look() -> bool:
        async with alone.db.write() as tx:
            person, _ = await operators.authenticate(tx, ada.token)
            _, seen = await disbursements.lock_and_fingerprint_sent_disbursement(tx, payout_id)
            approval = await operators.record_approval(
                tx, person, "disbursements.confirm", payout["id"], seen, "seen", "finance"
            )
            return approval.second is not None

    looked = await asyncio.gather(*(look() for _ in range(AT_ONCE)), return_exceptions=True)
    assert [one for one in looked if not isinstance(one, SecondOperatorRequired)] == [False]
    await disbursements_flows.confirm_paid_in_sandbox(alone.db, payout_id)
    assert (await payouts(partner))[0]["status"] == "PAID"


@pytest.mark.parametrize("way", ["returned", "confirmed"])
async def test_m11_no_file_is_released_with_a_payout_that_is_decided_at_this_moment(
    alone: Service, partner: Client, tmp_path: Path, way: str
) -> None:
    await sent(alone, partner)
    (payout,) = await payouts(partner)
    payout_id = uuid_of(alone, "disbursement", payout["id"])
    made = (await bank.made(alone, bank.own(tmp_path, "USD"))).file
    assert made is not None
    async with alone.db.write() as tx:
        if way == "returned":
            await disbursements.mark_returned(tx, payout_id, "never sent", recorded_by="officer")
        else:
            two = DisbursementConfirmation("operator_a", 0, "seen", ("operator_b", "seen too"))
            await disbursements.confirm_paid(tx, payout_id, two)
        officer = asyncio.create_task(bank.released(alone, made))

        async def waits() -> bool:
            return officer.done() or await waits_for_lock(alone)

        await eventually(waits)
    with pytest.raises(PaymentFileError, match=r"confirmed or returned|now on hold"):
        await officer
    assert await books.balanced(alone)
