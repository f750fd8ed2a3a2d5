"""The catalogue of events is that of the interface (spec 6, note E1; settled 6), and each is described."""

import re

from almoner.platform.events.event_types import EVENT_TYPES
from tests.support.client import Client, data
from tests.support.service import Service

NAMED_IN_THE_TABLE = """
validation_request.approved agent_verification.approved monitoring_subscription.updated validation_submission.created
validation_submission.succeeded validation_submission.failed donation.hosted.payment_received
monetary_donation_verification.received
"""
SETTLED = """
validation_request.rejected agent_verification.pending_user_verification agent_verification.pending_review
agent_verification.rejected eligibility_subscription.updated validation_submission.updated donation.created
donation.payment_successful donation.settled donation.disbursed donation.cancelled donation.reassigned
monetary_donation_verification.progressed
"""
OWN = """
validation_request_document.rejected validation_submission_document.rejected donation.receipt_undeliverable
donation.payment_requested donation.disputed donation.dispute_closed
donation_session.completed donation_subscription.created donation_subscription.updated
donation_subscription.payment_failed donation_subscription.cancelled
donation_session.expired donation_request.created donation_request.updated disbursement.created disbursement.updated
validation_invite.completed validation_invite.expired
donation.refunded donation.payout_returned organisation.updated webhook_subscription.failing
webhook_subscription.suspended
"""
INTERFACE = set(f"{NAMED_IN_THE_TABLE} {SETTLED} {OWN}".split())


def test_the_catalogue_is_that_of_the_interface() -> None:
    assert len(INTERFACE) == 44
    assert set(EVENT_TYPES) == INTERFACE


def test_every_event_says_what_it_carries_and_when() -> None:
    for name, event in EVENT_TYPES.items():
        assert event.name == name
        assert re.fullmatch(r"[a-z_]+", event.record_type)
        assert event.sent_when


async def test_a_subscription_takes_every_type_and_no_other(api: Client) -> None:
    url = "http://127.0.0.1:9/hooks"
    made = data(await api.post("/v1/webhook-subscriptions", {"events": sorted(INTERFACE), "url": url}))
    assert set(made["events"]) == INTERFACE
    for wrong in (
        ["donation.unknown"],
        ["internal.donation_session"],
        ["Donation.created"],
        ["donation.*"],
        [],
    ):
        refused = await api.post("/v1/webhook-subscriptions", {"events": wrong, "url": url})
        assert refused.status_code == 400, wrong
        assert any(reason.startswith("body.events") for reason in refused.json()["error"]["reasons"])


async def test_the_description_holds_every_event(service: Service) -> None:
    described = (await service.client(None).get("/openapi.json")).json()["webhooks"]
    assert set(described) == INTERFACE
