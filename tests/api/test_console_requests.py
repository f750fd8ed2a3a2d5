"""Partners' donation requests on the pages of finance: created, paid, and what was paid too much."""

import re
from collections.abc import AsyncIterator

import pytest

from almoner.access.people.domain import Person
from tests.support import bank, camt, factories, requests
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.console import act, closed, entries, listed, refused, words
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant

HOME = "/operator"
REQUESTS = f"{HOME}/donation-requests"


@pytest.fixture
async def person(service: Service) -> Person:
    """A finance operator."""
    return await operator(service, "finance")


@pytest.fixture
async def olive(service: Service, person: Person) -> AsyncIterator[Browser]:
    """Their browser."""
    browser = await signed_in(service, person)
    yield browser
    await browser.close()


async def test_a_payment_is_recorded_and_what_is_over_pays_another_request(
    service: Service, api: Client, olive: Browser
) -> None:
    first, second = [await requests.asked(service, api, 5000), await requests.asked(service, api, 700)]
    page = f"{REQUESTS}/{first['id']}"
    assert await listed(olive, f"{REQUESTS}?status=OPEN", first["id"])
    assert "amount in USD such as 12.50" in await refused(olive, f"{page}/record-payment", amount="all", reference="x")
    typed = {"amount": "all", "currency": "ABC", "reference": "x"}
    told = await refused(olive, f"{page}/record-payment", **typed)
    assert ("Enter a currency such as GBP" in told, "amount in USD such as 12.50" in told) == (True, True)
    wired = factories.unique("wire")
    assert await act(olive, f"{page}/record-payment", amount="60.00", reference=wired) == page
    for part in ("Part of it is an overpayment", "Paid $50.00", wired, "$10.00"):
        assert part in words(olive), part
    again = await refused(olive, f"{REQUESTS}/{second['id']}/record-payment", amount="7", reference=wired)
    assert "has already been recorded" in again
    assert [one["status"] for one in await requests.donations_of(api, first)] == ["RECEIVED_PAYMENT"]
    overpaid = await _overpayment(service, olive, first["id"])
    assert "No donation request has" in await refused(
        olive, f"{overpaid}/apply", request="ALM-00000-00000", note="asked"
    )
    await act(olive, f"{overpaid}/apply", request=second["reference"], note="asked")
    assert "Overpayment applied." in words(olive)
    assert "Already applied." in await closed(olive, f"{overpaid}/return")
    rest = await _overpayment(service, olive, second["id"])
    await act(olive, f"{rest}/return", note="sent back")
    assert "Overpayment recorded as returned." in words(olive)
    assert not await listed(olive, f"{REQUESTS}/overpayments", rest)
    assert {one["status"] for one in await requests.requests(api)} == {"PAID"}
    for action, of in (
        ("donation_request.payment_received", first["id"]),
        ("donation_request.overpayment_applied", overpaid.rpartition("/")[2]),
        ("donation_request.overpayment_returned", rest.rpartition("/")[2]),
    ):
        assert await entries(service, action, of) == 1, action


async def test_a_statement_line_is_matched_to_two_requests_that_add_up_to_it(
    service: Service, api: Client, olive: Browser
) -> None:
    names = [(await requests.asked(service, api, amount))["reference"] for amount in (41_311, 32_203)]
    name = factories.unique("T")
    came = camt.entry(name, 73_514, words="gifts", currency="USD")
    await bank.stated(service, camt.statement(came, reference=name, currency="USD"))
    page = (await olive.open(f"{HOME}/bank-statement-lines?status=open&amount=735.14")).text
    [line] = set(re.findall(r"/bank-statement-lines/sandbox_bankline_\w+", page))
    page = (await olive.open(HOME + line)).text
    assert "The requests add up to the line" in page
    [record] = re.findall(r"kind=request&amp;record=([\w,-]+)", page)
    assert set(record.split(",")) == set(names)
    twice = await refused(olive, f"{HOME}{line}/match", kind="request", record=f"{names[0]}, {names[0]}")
    assert "up to 3 different donation requests" in twice
    await act(olive, f"{HOME}{line}/match", kind="request", record=record)
    assert "Matched." in words(olive)
    assert {one["status"] for one in await requests.requests(api)} == {"PAID"}


async def test_overpayments_lead_on(service: Service, api: Client, olive: Browser) -> None:
    request = await requests.asked(service, api, 500)
    made = [await requests.paid(service, request, 501, factories.unique("wire")) for _ in range(51)]
    for one in (made[0], made[-1]):
        named = service.db.deployment.ids.encode("requestpayment", one.id)
        assert await listed(olive, f"{REQUESTS}/overpayments", named)
    await olive.open(f"{HOME}/money")
    assert "Overpayments of donation requests" in words(olive)


async def _overpayment(service: Service, olive: Browser, request_id: str) -> str:
    """The page of the payment of a request that has an overpayment, as the list of overpayments shows it."""
    ids = service.db.deployment.ids
    async with service.db.read() as tx:
        held = "select id from request_payment where donation_request_id = $1 and status = 'held'"
        found = await tx.fetchval(held, ids.decode("donationrequest", request_id))
    page = f"{REQUESTS}/overpayments/{ids.encode('requestpayment', found)}"
    assert await listed(olive, f"{REQUESTS}/overpayments", page)
    assert (await olive.get(page)).status_code == 200
    return page


async def test_due_requests_are_created_at_once(
    service: Service, api: Client, tenant: Tenant, olive: Browser, person: Person
) -> None:
    ids = service.db.deployment.ids
    await factories.direct(service, api, amount=5000)
    await act(olive, f"{REQUESTS}/run")
    assert "Waiting for the end of their period" in words(olive)
    assert await requests.requests(api) == []
    service.clock.advance(days=requests.NEXT_PERIOD)
    browser = await signed_in(service, person)
    await act(browser, f"{REQUESTS}/run")
    assert "Donation requests created:" in words(browser)
    [made] = await requests.requests(api)
    assert await listed(browser, f"{REQUESTS}?partner={ids.encode('partner', tenant.partner.id)}", made["id"])
    assert (await browser.get(f"{REQUESTS}?partner=x")).status_code == 422
    assert await entries(service, "donation_requests.run", ids.encode("operator", person.id)) == 2
    await browser.close()


async def test_an_unknown_request_has_no_page(service: Service, olive: Browser) -> None:
    unknown = service.db.deployment.ids.example_id("donationrequest")
    assert (await olive.get(f"{REQUESTS}/{unknown}")).status_code == 404
    payment = service.db.deployment.ids.example_id("requestpayment")
    assert (await olive.get(f"{REQUESTS}/overpayments/{payment}/apply")).status_code == 404
