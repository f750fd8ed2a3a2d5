"""The timeline of a donation: past, pending and coming steps; pure, from the record as the API returns it."""

from collections.abc import Mapping
from typing import Any, Literal

from almoner.platform.pages.record_tables import TimelineStep

PAID = ("RECEIVED_PAYMENT", "DISBURSED")
_KEY = "dashboard.timeline."


def donation_timeline(donation: Mapping[str, Any], received_at: str | None) -> list[TimelineStep]:
    """The steps of a donation in order; steps to come are last. ``received_at``: of its payment, if it is paid."""
    hosted = donation["type"] == "hosted"
    steps = [TimelineStep(_KEY + "created", "done", donation["createdAt"])]
    if donation["status"] == "CANCELLED":
        return [*steps, TimelineStep(_KEY + "cancelled", "done", donation["cancelledAt"], _KEY + "cancelled.note")]
    steps.append(_payment_step(donation, hosted, received_at))
    if donation["status"] not in PAID:
        return [*steps, TimelineStep(_KEY + "disbursed", "next")]
    settled = donation["settledAmount"]
    if settled:
        steps.append(
            TimelineStep(
                _KEY + "settled",
                "done",
                donation["settledAt"],
                _KEY + "settled.note",
                settled["amount"],
                settled["currency"],
            )
        )
    elif hosted:
        steps.append(TimelineStep(_KEY + "settlement", "waiting", note=_KEY + "settlement.note"))
    if donation["disputedAt"]:
        note = f"{_KEY}disputed.{donation['disputeStatus']}"
        steps.append(TimelineStep(_KEY + "disputed", "done", donation["disputedAt"], note))
    if donation["reassignedAt"]:
        steps.append(TimelineStep(_KEY + "reassigned", "done", donation["reassignedAt"]))
    if donation["refundedAt"]:
        steps.append(
            TimelineStep(
                _KEY + "refunded",
                "done",
                donation["refundedAt"],
                amount=donation["refundedAmount"],
                currency=donation["currencyCode"],
            )
        )
    if donation["disbursedAt"]:
        steps.append(TimelineStep(_KEY + "disbursed", "done", donation["disbursedAt"]))
    elif donation["refundedAmount"] != donation["amount"]:
        state: Literal["waiting", "next"] = "waiting" if settled or not hosted else "next"
        steps.append(TimelineStep(_KEY + "disbursed", state, note=_KEY + "disbursed.note"))
    return sorted(steps, key=lambda step: (step.state != "done", step.at or "" if step.state == "done" else ""))


def _payment_step(donation: Mapping[str, Any], hosted: bool, received_at: str | None) -> TimelineStep:
    if donation["status"] in PAID:
        return TimelineStep(_KEY + "received", "done", received_at)
    if hosted:
        return TimelineStep(_KEY + "payment", "waiting", note=_KEY + "payment.hosted")
    if donation["status"] == "REQUESTED_PAYMENT":
        return TimelineStep(_KEY + "payment", "waiting", note=_KEY + "payment.requested")
    return TimelineStep(_KEY + "payment", "waiting", note=_KEY + "payment.direct")
