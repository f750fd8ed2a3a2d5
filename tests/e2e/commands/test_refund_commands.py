"""`almoner refunds` as people type it, over the database of a service."""

from pathlib import Path

import pytest

from almoner.giving.accounting.refunds import service as refunding
from tests.support import factories, refunds
from tests.support import payouts as support
from tests.support import requests as asking
from tests.support.client import Client
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator


@pytest.fixture
async def olive(service: Service) -> Operator:
    """An operator who sees to money."""
    return await operator(service, "finance", name="Olive")


@pytest.fixture
def almoner(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Her terminal."""
    return in_process(service, tmp_path, olive)


async def test_an_officer_sends_a_gift_back_in_parts(
    service: Service, api: Client, almoner: Type, olive: Operator
) -> None:
    made = await factories.donation(service, api)
    status, reported = await almoner("refunds", "create", made["id"], "--note", "the donor wrote", "--amount", "1000")
    (started,) = await refunds.of(service, made)
    name = service.db.deployment.ids.encode("refund", started.id)
    assert (status, reported) == (0, f"{name} of 10.00 USD: pending.\n")
    assert started.started_by == olive.id
    status, listed = await almoner("refunds", "list")
    for fact in (name, made["id"], "10.00 USD", "test", "pending"):
        assert fact in listed
    service.clock.advance_to(service.clock.real_now())
    await service.drain()
    assert name not in (await almoner("refunds", "list"))[1]
    assert name in (await almoner("refunds", "list", "--all"))[1]
    status, shown = await almoner("refunds", "show", made["id"])
    assert shown.startswith(f"{made['id']} is RECEIVED_PAYMENT. Not refunded: 15.00 USD of 25.00 USD.\n")
    for fact in ("sent", "tpr_", f"Olive ({olive.id})", "the donor wrote"):
        assert fact in shown
    refused = (await almoner("refunds", "create", made["id"], "--note", "x", "--amount", "1501"))[1]
    assert "from 1 to 1500, which is left" in refused
    for words in (("mark-sent", name, "--reference", "x", "--note", "x"), ("mark-failed", name, "--note", "x")):
        status, reported = await almoner("refunds", *words)
        assert (status, "the refund is sent" in reported) == (1, True), reported


async def test_a_direct_gift_waits_for_a_transfer(service: Service, api: Client, almoner: Type) -> None:
    request = await asking.asked(service, api, 4000)
    await asking.paid(service, request, 4000, "TRANSFER-1")
    (made,) = await asking.donations_of(api, request)
    await refunds.refund(api, made, 1500)
    await service.drain()
    (started,) = await refunds.of(service, made)
    name = service.db.deployment.ids.encode("refund", started.id)
    assert "partner_transfers" in (await almoner("refunds", "list"))[1]
    assert "is a bank transfer" in (await almoner("refunds", "retry", name))[1]
    status, reported = await almoner("refunds", "mark-sent", name, "--reference", "BANK-77", "--note", "transferred")
    assert (status, reported) == (0, f"{name} of 15.00 USD: sent.\n")
    assert (await support.gift(api, made))["refundedAmount"] == 1500
    assert "the partner" in (await almoner("refunds", "show", made["id"]))[1]
    again = ("refunds", "create", made["id"], "--note", "the rest", "--reference", "BANK-77")
    assert "BANK-77 is already recorded for another refund" in (await almoner(*again))[1]
    status, reported = await almoner(*again[:-1], "BANK-78")
    assert (status, reported.endswith("of 25.00 USD: sent.\n")) == (0, True)


async def test_what_will_not_be_sent_is_owed_again(service: Service, api: Client, almoner: Type) -> None:
    made = await factories.donation(service, api)
    started = await refunds.begun(service, made)
    name = service.db.deployment.ids.encode("refund", started.id)
    assert (await almoner("refunds", "retry", name)) == (0, f"{name} of 25.00 USD: pending.\n")
    assert (await almoner("refunds", "mark-failed", name, "--note", "kept")) == (
        0,
        f"{name} of 25.00 USD: failed.\n",
    )
    unknown = service.db.deployment.ids.example_id("refund")
    assert "almoner refunds list" in (await almoner("refunds", "mark-failed", unknown, "--note", "x"))[1]
    gone = service.db.deployment.ids.example_id("donation")
    for words in (("show", gone), ("create", gone, "--note", "x")):
        assert f"there is no donation {gone}" in (await almoner("refunds", *words))[1]


async def test_what_a_provider_refused_waits_for_a_person(
    service: Service, api: Client, almoner: Type, olive: Operator
) -> None:
    anew, rests = [await factories.donation(service, api) for _ in range(2)]
    names = []
    for made in (anew, rests):
        started = await refunds.begun(service, made, 1000)
        async with service.db.write() as tx:
            await refunding.record_provider_refusal(tx, started.id, "the card is closed")
        names.append(service.db.deployment.ids.encode("refund", started.id))
    listed = (await almoner("refunds", "failed"))[1]
    for name in names:
        assert name in listed
    assert (" 0 d " in listed, "the card is closed" in listed) == (True, True)
    assert "almoner_refunds_failed 2.0" in await measured(service)
    await refunds.begun(service, anew, 500)
    status, reported = await almoner("refunds", "resolve", names[1], "--note", "the donor keeps to the gift")
    assert (status, reported) == (0, f"{names[1]} of 10.00 USD: failed.\n")
    listed = (await almoner("refunds", "failed"))[1]
    assert not any(name in listed for name in names)
    assert "almoner_refunds_failed 0.0" in await measured(service)
    assert "already resolved" in (await almoner("refunds", "resolve", names[1], "--note", "x"))[1]


async def test_what_a_person_refused_waits_for_nobody(service: Service, api: Client, almoner: Type) -> None:
    started = await refunds.begun(service, await factories.donation(service, api))
    name = service.db.deployment.ids.encode("refund", started.id)
    assert "the refund is pending" in (await almoner("refunds", "resolve", name, "--note", "x"))[1]
    await almoner("refunds", "mark-failed", name, "--note", "kept")
    assert name not in (await almoner("refunds", "failed"))[1]
    assert "is refused (recorded manually)" in (await almoner("refunds", "resolve", name, "--note", "x"))[1]


async def measured(service: Service) -> str:
    """What a worker measures of it."""
    async with service.db.read() as tx:
        service.services.telemetry.refunds_refused.set(await refunding.count_unresolved(tx))
    return service.services.telemetry.render_metrics().decode()
