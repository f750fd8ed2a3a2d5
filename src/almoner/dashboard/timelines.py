"""What happened to a donation, what it waits for and what comes next: pure, from the record as partners read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One step. ``at``: an ISO moment where it is known. ``amount``: in minor units of ``currency``."""

    label: str
    state: Literal["done", "waiting", "next"]
    at: str | None = None
    note: str = ""
    amount: int | None = None
    currency: str | None = None


_PAID = ("RECEIVED_PAYMENT", "DISBURSED")
_DISPUTES = {
    "open": "The donor's bank claimed the payment back. The outcome is open.",
    "won": "The donor's bank claimed the payment back, and the claim was refused.",
    "lost": "The donor's bank claimed the payment back, and the donor has the money.",
}


def donation_timeline(donation: Mapping[str, Any]) -> list[TimelineStep]:
    """The steps of a donation in their order; what has not happened yet comes last."""
    hosted = donation["type"] == "hosted"
    steps = [TimelineStep("Created", "done", donation["createdAt"])]
    if donation["status"] == "CANCELLED":
        return [*steps, TimelineStep("Cancelled", "done", donation["cancelledAt"], "Nothing was charged.")]
    steps.append(_payment_step(donation, hosted))
    if donation["status"] not in _PAID:
        return [*steps, TimelineStep("Paid to the nonprofit", "next")]
    settled = donation["settledAmount"]
    if settled:
        steps.append(
            TimelineStep(
                "Settled", "done", donation["settledAt"], "After fees.", settled["amount"], settled["currency"]
            )
        )
    elif hosted:
        steps.append(TimelineStep("Settlement", "waiting", note="The payment provider has not paid it out yet."))
    if donation["disputedAt"]:
        steps.append(TimelineStep("Disputed", "done", donation["disputedAt"], _DISPUTES[donation["disputeStatus"]]))
    if donation["reassignedAt"]:
        steps.append(TimelineStep("Reassigned to another nonprofit", "done", donation["reassignedAt"]))
    if donation["refundedAt"]:
        steps.append(
            TimelineStep(
                "Refunded",
                "done",
                donation["refundedAt"],
                amount=donation["refundedAmount"],
                currency=donation["currencyCode"],
            )
        )
    if donation["disbursedAt"]:
        steps.append(TimelineStep("Paid to the nonprofit", "done", donation["disbursedAt"]))
    elif donation["refundedAmount"] != donation["amount"]:
        state: Literal["waiting", "next"] = "waiting" if settled or not hosted else "next"
        steps.append(TimelineStep("Paid to the nonprofit", state, note="With the next disbursement."))
    return sorted(steps, key=lambda step: (step.state != "done", step.at or "" if step.state == "done" else ""))


def _payment_step(donation: Mapping[str, Any], hosted: bool) -> TimelineStep:
    if donation["status"] in _PAID:
        return TimelineStep("Payment received", "done", donation["createdAt"])
    if hosted:
        return TimelineStep("Payment", "waiting", note="The donor has not paid yet.")
    if donation["status"] == "REQUESTED_PAYMENT":
        return TimelineStep("Payment", "waiting", note="You were asked for it with a donation request.")
    return TimelineStep("Payment", "waiting", note="You will be asked for it with the next donation request.")
