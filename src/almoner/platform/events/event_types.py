"""The event types that partners can subscribe to (spec 6, settled 6), with their reference texts."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class EventType:
    """One event type. ``record_type``: the object type in ``eventData``; ``sent_when`` completes "Sent when ..."."""

    name: str
    record_type: str
    sent_when: str


_DECLARED: Final = (
    EventType("validation_request.approved", "validation_request", "a validation request is accepted"),
    EventType("validation_request.rejected", "validation_request", "a validation request is rejected"),
    EventType(
        "validation_request_document.rejected",
        "validation_request_document",
        "a document of a validation request is infected or cannot be read (see status)",
    ),
    EventType(
        "validation_submission_document.rejected",
        "validation_submission_document",
        "a document of a submission is infected or cannot be read (see status)",
    ),
    EventType(
        "agent_verification.pending_user_verification",
        "agent_verification",
        "an agent has passed the review, but has not confirmed the email address yet",
    ),
    EventType(
        "agent_verification.pending_review",
        "agent_verification",
        "an agent has confirmed the email address and waits for a reviewer",
    ),
    EventType("agent_verification.approved", "agent_verification", "an agent is approved"),
    EventType("agent_verification.rejected", "agent_verification", "an agent is rejected"),
    EventType(
        "monitoring_subscription.updated",
        "monitoring_subscription",
        "the results of a monitoring subscription become known or change",
    ),
    EventType(
        "eligibility_subscription.updated",
        "eligibility_subscription",
        "the results of an eligibility subscription become known or change, or no activity can be confirmed",
    ),
    EventType("validation_submission.created", "validation_submission", "a validation submission is created"),
    EventType("validation_submission.succeeded", "validation_submission", "all checks of a submission pass"),
    EventType(
        "validation_submission.failed",
        "validation_submission",
        "a check of a submission fails (see failureReasons)",
    ),
    EventType("validation_submission.updated", "validation_submission", "the status of a submission changes"),
    EventType("donation.created", "donation", "a donation is created"),
    EventType(
        "donation.hosted.payment_received",
        "donation",
        "the donor's payment for a donation made on the hosted page is received",
    ),
    EventType("donation.payment_successful", "donation", "the payment of a donation is completed and verified"),
    EventType(
        "donation.payment_requested", "donation", "a donation request asks you for the money of a direct donation"
    ),
    EventType("donation.settled", "donation", "the money of a donation is received and reconciled"),
    EventType("donation.disbursed", "donation", "the money of a donation is transferred to the nonprofit"),
    EventType("donation.cancelled", "donation", "the donor or the service cancels a donation that was not paid"),
    EventType("donation.reassigned", "donation", "a donation is reassigned to another organisation"),
    EventType("donation.refunded", "donation", "a donation is refunded in full or in part"),
    EventType("donation.disputed", "donation", "the donor's bank disputes the payment of a donation"),
    EventType("donation.dispute_closed", "donation", "a dispute of a donation is won or lost (see disputeStatus)"),
    EventType(
        "donation.receipt_undeliverable", "donation", "the email with the receipt of a donation cannot be delivered"
    ),
    EventType("donation.payout_returned", "donation", "the bank returns the disbursement of a donation"),
    EventType(
        "donation_subscription.created",
        "donation_subscription",
        "a donor starts a regular donation, before the first donation is paid",
    ),
    EventType(
        "donation_subscription.updated",
        "donation_subscription",
        "a donation subscription starts, is paid, paused, resumed or changed, or a date is skipped",
    ),
    EventType(
        "donation_subscription.payment_failed",
        "donation_subscription",
        "a donation of a donation subscription cannot be charged",
    ),
    EventType("donation_subscription.cancelled", "donation_subscription", "a donation subscription ends"),
    EventType("donation_session.completed", "donation_session", "a donation completes a session"),
    EventType("donation_session.expired", "donation_session", "a session ends without a donation"),
    EventType(
        "donation_request.created", "donation_request", "a donation request is complete and waits for your transfer"
    ),
    EventType("donation_request.updated", "donation_request", "a transfer is received for a donation request"),
    EventType("disbursement.created", "disbursement", "a disbursement gets its first donation"),
    EventType(
        "disbursement.updated", "disbursement", "the amount, the status or the waiting reason of a disbursement changes"
    ),
    EventType("validation_invite.completed", "validation_invite", "a submission is made with an invite"),
    EventType("validation_invite.expired", "validation_invite", "an invite expires without a submission"),
    EventType(
        "monetary_donation_verification.received",
        "monetary_donation_verification",
        "a monetary donation verification is created",
    ),
    EventType(
        "monetary_donation_verification.progressed",
        "monetary_donation_verification",
        "a check of the verification ends, or the verification is approved, rejected, expired or reopened",
    ),
    EventType(
        "organisation.updated",
        "organisation",
        "an import changes an organisation that is in one of your categories, has received a donation from you, "
        "or has a subscription",
    ),
    EventType(
        "webhook_subscription.failing",
        "webhook_subscription",
        "every delivery to a subscription has failed for 24 hours",
    ),
    EventType(
        "webhook_subscription.suspended",
        "webhook_subscription",
        "deliveries to a subscription stop because its receiver answered 410 Gone or failed for 5 days",
    ),
)

EVENT_TYPES: Final = {declared.name: declared for declared in _DECLARED}
