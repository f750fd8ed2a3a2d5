"""Everything that changes has an event, with the record as its GET shows it (settled 11)."""

from itertools import pairwise
from typing import Any

from almoner.giving.checkout.sessions import service as sessions
from almoner.validation.applications.invites import service as invites
from tests.support import bank, factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.payouts import came_back, payouts, run, settled, verified
from tests.support.production import PRODUCTION
from tests.support.requests import asked, paid, requests
from tests.support.service import Service, serving


async def reported(service: Service, api: Client, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a kind of record, oldest first."""
    await service.drain()
    found = data(await api.get("/v1/events", pageSize=100))
    return [(one["eventType"], one["eventData"]) for one in found[::-1] if one["eventType"].startswith(f"{kind}.")]


async def test_a_donation_request_is_reported_when_it_is_asked_and_when_it_is_paid(
    service: Service, api: Client
) -> None:
    request = await asked(service, api, 700, 300)
    assert await reported(service, api, "donation_request") == [("donation_request.created", request)]
    await paid(service, request, 400, f"TX-{request['id']}-1")
    await paid(service, request, 600, f"TX-{request['id']}-2")
    events = await reported(service, api, "donation_request")
    assert [kind for kind, _ in events[1:]] == ["donation_request.updated"] * 2
    assert [(one["status"], one["paidAmount"]) for _, one in events[1:]] == [("PARTLY_PAID", 400), ("PAID", 1000)]
    assert events[-1][1] == (await requests(api))[0]


async def test_a_disbursement_is_reported_at_every_change(alone: Service) -> None:
    service, api = alone, alone.client((await alone.tenant()).secret)
    cause = await factories.nonprofit(service)
    await bank.account(service, cause)
    await settled(service, api, cause)
    await run(service)
    events = await reported(service, api, "disbursement")
    assert [kind for kind, _ in events] == ["disbursement.created"]
    assert events[0][1] == (await payouts(api))[0]
    assert events[0][1]["waitingReason"] is not None
    await verified(service, api, cause)
    await settled(service, api, cause)
    await bank.in_a_file(service)
    [sent] = await payouts(api)
    await came_back(service, sent)
    events = [one for one in await reported(service, api, "disbursement") if one[1]["id"] == sent["id"]][1:]
    assert {kind for kind, _ in events} == {"disbursement.updated"}
    shown = [(one["status"], one["amount"], one["waitingReason"]) for _, one in events]
    assert [one for one in shown if one[0] != "PENDING"] == [("SENT", 4874, None), ("RETURNED", 4874, None)]
    assert all(one != other for one, other in pairwise(shown)), "nothing is told twice"
    assert events[-1][1] == data(await api.get(f"/v1/disbursements/{sent['id']}"))
    await api.close()


async def test_a_session_is_reported_when_it_ends(service: Service, api: Client) -> None:
    giving = await support.open_session(service, api)
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    await giving.notify(giving.provider.only())
    (donation,) = await giving.donations()
    [(kind, completed)] = await reported(service, api, "donation_session")
    assert (kind, completed["donationId"]) == ("donation_session.completed", donation["id"])
    assert completed == data(await api.get(f"/v1/donation-sessions/{giving.session['id']}"))
    other = await support.open_session(service, api)
    service.clock.advance(hours=25)
    async with service.db.write() as tx:
        assert await sessions.expire_due_sessions(tx) >= 1
    kind, expired = (await reported(service, api, "donation_session"))[-1]
    assert (kind, expired["id"]) == ("donation_session.expired", other.session["id"])
    assert expired == data(await api.get(f"/v1/donation-sessions/{other.session['id']}"))


async def test_an_invite_is_reported_when_it_expires(service: Service, api: Client) -> None:
    invite = data(await api.post("/v1/validation-invites", {}))
    service.clock.advance(days=8)
    async with service.db.write() as tx:
        await invites.expire_overdue_invites(tx)
    [(kind, expired)] = await reported(service, api, "validation_invite")
    assert (kind, expired["id"], expired["status"]) == ("validation_invite.expired", invite["id"], "expired")
    assert expired == data(await api.get(f"/v1/validation-invites/{invite['id']}"))


async def test_a_session_that_nobody_can_pay_for_is_refused_with_the_reason(empty_database: TestDatabase) -> None:
    async with serving(empty_database, **PRODUCTION) as alone:
        api = alone.client((await alone.tenant()).secret)
        cause = await factories.nonprofit(alone)
        refused = await api.post("/v1/donation-sessions", {"organisationId": cause})
        await api.close()
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["code"] == "donation_session/cannot_be_paid"
    assert error["reasons"] == ["no payment provider is set up here: the operator sets ALMONER_STRIPE_SECRET_KEY"]
