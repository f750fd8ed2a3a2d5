"""Donors' actions on a regular donation that need no payment provider, each with the form that it reads."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Final

from almoner.giving.checkout.hosted_page import domain as hosted_page_domain
from almoner.giving.subscriptions.agreements import service as agreements
from almoner.giving.subscriptions.donation_subscriptions import domain as subscriptions_domain
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import Agreement, InvalidDate, InvalidState
from almoner.giving.subscriptions.donor_pages import domain
from almoner.giving.subscriptions.donor_pages.domain import RegularDonation
from almoner.kit import recurrence
from almoner.kit.money import Money
from almoner.kit.recurrence import Frequency
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.translations import Language

Problems = dict[str, str]
"""Catalogue keys of the problems, by field ID."""


class AgreementRequired(Exception):
    """The donor must first agree to the new amount. ``minor``: in minor units."""

    def __init__(self, agreement: Agreement, minor: int) -> None:
        super().__init__(minor)
        self.agreement = agreement
        self.minor = minor


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A submitted form about one of the donor's subscriptions."""

    regular_donation: RegularDonation
    form: Mapping[str, object]
    language: Language

    @property
    def partner(self) -> Partner:
        """The partner of the subscription."""
        return Partner(self.regular_donation.subscription.partner_id)

    def field(self, name: str) -> str:
        """The value of a field."""
        value = self.form.get(name)
        return value.strip() if isinstance(value, str) else ""

    def build_agreement(self, money: Money, frequency: Frequency, organisation: str | None = None) -> Agreement:
        """The consent text shown next to the button."""
        return build_change_agreement(self.regular_donation, self.language, money, frequency, organisation)


def build_change_agreement(
    regular_donation: RegularDonation,
    language: Language,
    money: Money,
    frequency: Frequency,
    organisation: str | None = None,
) -> Agreement:
    """The consent of a donor who changes a live subscription."""
    first_day = regular_donation.charge_days[frequency]
    return agreements.build_agreement(
        language, organisation or regular_donation.organisation, money, frequency, first_day
    )


async def change_amount(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Change the amount from the next due date on. Raises AgreementRequired until the donor agrees."""
    subscription = submitted_form.regular_donation.subscription
    subscriptions_domain.ensure_status_in(subscription, *subscriptions_domain.LIVE_STATUSES)
    amounts = hosted_page_domain.donation_amounts_for(subscription.money.currency)
    minor = hosted_page_domain.parse_entered_amount_or_problem_key(
        submitted_form.field("typed"), amounts, submitted_form.language.locale
    )
    if isinstance(minor, str):
        return {"typed": minor}
    agreement = submitted_form.build_agreement(Money(minor, subscription.money.currency), subscription.frequency)
    if submitted_form.field("agreed") != str(minor):
        raise AgreementRequired(agreement, minor)
    await subscriptions.change_amount_and_frequency_by_donor(
        tx, submitted_form.partner, subscription.id, minor, subscription.frequency, agreement
    )
    return {}


def next_donation_date_range(today: date) -> tuple[date, date]:
    """The first and last day to which the next donation can be moved."""
    return today + timedelta(days=1), today + subscriptions_domain.MAX_NEXT_DATE


async def change_next_due_date(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Change the next due date, from which later ones are counted."""
    try:
        day = date.fromisoformat(submitted_form.field("day"))
        await subscriptions.change_next_due_date(
            tx, submitted_form.partner, submitted_form.regular_donation.subscription.id, day
        )
    except (ValueError, InvalidDate):
        return {"day": "regular.day.problem"}
    return {}


async def pause_subscription(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Pause for some months, or until the donor resumes."""
    months = submitted_form.field("months")
    if months not in ("open", *map(str, domain.PAUSE_MONTHS)):
        return {"months-1": "regular.pause.problem"}
    until = None
    if months != "open":
        zone = tx.deployment.time_zone
        day = recurrence.nth_occurrence_date(tx.deployment.date_in_issuer_time_zone(tx.now), "monthly", int(months))
        until = recurrence.local_time_to_utc(day, time(), zone)
    await subscriptions.pause(
        tx, submitted_form.partner, submitted_form.regular_donation.subscription.id, until, "donor"
    )
    return {}


async def resume_subscription(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Resume, unless the nonprofit still cannot receive donations."""
    await subscriptions.resume(tx, submitted_form.partner, submitted_form.regular_donation.subscription.id)
    return {}


async def skip_next_donation(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Skip the next due date, as shown."""
    if submitted_form.field("day") != str(submitted_form.regular_donation.subscription.next_due_on):
        raise InvalidState("another date is next by now")
    await subscriptions.skip_next_due_date(
        tx, submitted_form.partner, submitted_form.regular_donation.subscription.id, "donor"
    )
    return {}


async def cancel_subscription(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Cancel the subscription."""
    await subscriptions.cancel(tx, submitted_form.partner, submitted_form.regular_donation.subscription.id, "donor")
    return {}


async def confirm_change(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Agree to the change that the partner requested, as shown."""
    change = submitted_form.regular_donation.subscription.pending_change
    if change is None or submitted_form.field("change") != str(int(change.requested_at.timestamp())):
        raise InvalidState("another change waits by now")
    agreement = submitted_form.build_agreement(change.money, change.frequency)
    await subscriptions.confirm_change(
        tx, submitted_form.partner, submitted_form.regular_donation.subscription.id, agreement
    )
    return {}


async def decline_change(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Decline the change."""
    await subscriptions.decline_change(tx, submitted_form.partner, submitted_form.regular_donation.subscription.id)
    return {}


async def accept_successor_organisation(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Agree to the new nonprofit, as shown."""
    subscription, proposed = submitted_form.regular_donation.subscription, submitted_form.regular_donation.proposed
    successor_id = tx.ids.decode("organisation", submitted_form.field("organisation"))
    if proposed is None or successor_id is None or successor_id != subscription.proposed_organisation_id:
        raise InvalidState("another nonprofit was proposed")
    agreement = submitted_form.build_agreement(subscription.money, subscription.frequency, proposed)
    await subscriptions.accept_successor_organisation(
        tx, submitted_form.partner, subscription.id, successor_id, agreement
    )
    return {}


async def decline_successor_organisation(tx: Tx, submitted_form: SubmittedForm) -> Problems:
    """Decline the new nonprofit, which cancels the subscription."""
    if submitted_form.regular_donation.proposed is None:
        raise InvalidState("no other nonprofit is proposed")
    await subscriptions.decline_successor_organisation(
        tx, submitted_form.partner, submitted_form.regular_donation.subscription.id
    )
    return {}


@dataclass(frozen=True, slots=True)
class DonorAction:
    """An action of a donor. ``success_message_key``: the catalogue key of the confirmation."""

    perform: Callable[[Tx, SubmittedForm], Awaitable[Problems]]
    success_message_key: str
    has_own_page: bool = False


ACTIONS: Final[Mapping[str, DonorAction]] = {
    "amount": DonorAction(change_amount, "changed", has_own_page=True),
    "day": DonorAction(change_next_due_date, "changed", has_own_page=True),
    "pause": DonorAction(pause_subscription, "pause", has_own_page=True),
    "skip": DonorAction(skip_next_donation, "skip", has_own_page=True),
    "cancel": DonorAction(cancel_subscription, "cancel", has_own_page=True),
    "resume": DonorAction(resume_subscription, "resume"),
    "confirm": DonorAction(confirm_change, "changed"),
    "decline": DonorAction(decline_change, "decline"),
    "accept": DonorAction(accept_successor_organisation, "changed"),
    "refuse": DonorAction(decline_successor_organisation, "cancel"),
}
"""The actions by the last segment of their path."""
DONE: Final = frozenset(
    {*(one.success_message_key for one in ACTIONS.values()), "card", "card_open", "pay", "pay_open"}
)
