"""Which notices about a regular donation are still true when the email is sent; pure."""

from collections.abc import Mapping
from datetime import date
from typing import Final

from almoner.giving.subscriptions.donation_subscriptions.domain import (
    LIVE_STATUSES,
    DonationSubscription,
    NoticeKind,
)

TEXTS: Final[Mapping[NoticeKind, str]] = {
    "change_requested": "regular.change.text",
    "organisation_proposed": "reassigned.why.merged",
}
"""Texts shared by several kinds of emails."""


def is_notice_current(subscription: DonationSubscription, kind: NoticeKind, due_on: date | None) -> bool:
    """Whether a notice is still true for the subscription."""
    match kind:
        case "payment_failed" | "authentication_needed":
            return subscription.status == "past_due"
        case "paused" | "organisation_stopped":
            return subscription.status == "paused"
        case "change_requested":
            return subscription.pending_change is not None
        case "organisation_proposed":
            return subscription.proposed_organisation_id is not None
        case "yearly_reminder":
            return subscription.status == "active" and subscription.next_due_on == due_on
        case "card_expiring" | "resumed" | "payment_method_changed":
            return subscription.status in LIVE_STATUSES
        case _:
            return True
