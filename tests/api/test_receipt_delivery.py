"""What becomes of the email with a receipt: the partner reads it, and a donor mends an address that takes none."""

import html
import re
from typing import Any

from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.factories import CARD
from tests.support.service import Service

NOWHERE = "test_undeliverable@example.org"
EVENT = "donation.receipt_undeliverable"
FAILED = "We could not deliver your receipt to t•••@example.org."


def said(text: str) -> str:
    return html.unescape(re.sub("</?bdi>", "", text))


async def donation_of(api: Client, donation_id: str) -> dict[str, Any]:
    record: dict[str, Any] = data(await api.get(f"/v1/donations/{donation_id}"))
    return record


async def told(api: Client, donation_id: str) -> list[dict[str, Any]]:
    """The events that say that a receipt cannot be delivered."""
    found = data(await api.get("/v1/events", type=EVENT, pageSize=100))
    return [one["eventData"] for one in found if one["eventData"]["id"] == donation_id]


async def test_a_receipt_is_pending_then_sent_and_direct_donations_have_none(service: Service, api: Client) -> None:
    made = await factories.donation(service, api)
    assert made["receiptDelivery"] == "pending"
    direct = await factories.direct(service, api)
    await service.drain()
    assert (await donation_of(api, made["id"]))["receiptDelivery"] == "sent"
    assert (await donation_of(api, direct["id"]))["receiptDelivery"] == "none"
    assert await told(api, made["id"]) == []


async def test_a_donor_corrects_the_address_and_gets_the_receipt(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    given = {"id": session["id"], "action": "donate", "amount": 2500, "currencyCode": "USD", "card": CARD}
    data(await api.post("/v1/sandbox/simulate", {**given, "firstName": "Ada", "lastName": "B", "email": NOWHERE}))
    [made] = data(await api.get("/v1/donations", sessionId=session["id"]))
    donor, thanks = Browser(service.app, service.db.deployment.base_urls.pages), f"/give/{session['id']}/thanks"
    await donor.open(session["url"])
    page = await donor.get(thanks)
    assert ("We are emailing a receipt to t•••@example.org." in said(page.text), FAILED in said(page.text)) == (
        True,
        False,
    )
    await service.drain()
    assert (await donation_of(api, made["id"]))["receiptDelivery"] == "undeliverable"
    assert [one["receiptDelivery"] for one in await told(api, made["id"])] == ["undeliverable"]
    page = await donor.get(thanks)
    assert FAILED in said(page.text)
    follow = await donor.open(re.findall(r'href="(/gift[^"]+)"', page.text)[0])
    assert "We could not deliver the email with your receipt." in follow.text
    await donor.get(thanks)
    for typed in ("ada..b@example.org", "", "ada", "a" * 300 + "@example.org"):
        wrong = await donor.post(thanks, email=typed)
        assert (wrong.status_code, 'id="email-problem"' in wrong.text) == (422, True), typed
    forged = await donor.post(thanks, email="eve@example.org", csrf="x")
    assert (forged.status_code, (await donation_of(api, made["id"]))["email"]) == (403, NOWHERE)
    await donor.get(thanks)
    csrf = donor.csrf
    answer = await donor.post(thanks, email=" Ada.Right@example.org\u200b")
    assert (answer.status_code, answer.headers["location"]) == (303, thanks)
    pending = await donation_of(api, made["id"])
    assert (pending["receiptDelivery"], pending["email"]) == ("pending", "Ada.Right@example.org")
    await service.drain()
    assert (await donation_of(api, made["id"]))["receiptDelivery"] == "sent"
    [mail] = data(await api.get("/v1/sandbox/mailbox", to="Ada.Right@example.org"))
    assert (made["id"] in mail["text"], [one["name"] for one in mail["attachments"]]) == (True, ["receipt-000001.pdf"])
    page = await donor.get(thanks)
    assert FAILED not in said(page.text)
    assert (await donor.post(thanks, email="eve@example.org", csrf=csrf)).status_code == 303
    assert (await donation_of(api, made["id"]))["email"] == "Ada.Right@example.org"
