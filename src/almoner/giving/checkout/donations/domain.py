"""Donations: their states, a donor's details, and the result of a payment (spec 2.8, 3.2; settled 4, 5); pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.checkout.dedications.domain import DedicationEmail
from almoner.giving.checkout.payments.domain import Payment, ProviderPayment, UnallocatedReason, payment_mismatch_reason
from almoner.giving.checkout.sessions.domain import DonationFrequency, DonationSession
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.giving.subscriptions.donation_subscriptions.domain import Agreement, DonationSubscription
from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.money import Money
from almoner.kit.records import statically_frozen_dataclass
from almoner.kit.states import Lifecycle

DONATION: Final = Lifecycle(
    "donation",
    {
        "ACTIVE": frozenset({"REQUESTED_PAYMENT", "CANCELLED"}),
        "REQUESTED_PAYMENT": frozenset({"RECEIVED_PAYMENT", "CANCELLED"}),  # spec 3.2
        "RECEIVED_PAYMENT": frozenset({"DISBURSED"}),
        "DISBURSED": frozenset({"RECEIVED_PAYMENT"}),  # settled 5: a returned disbursement
    },
)
DonationType = Literal["direct", "hosted"]
DonationDisputeStatus = Literal["open", "won", "lost"]
ReceiptDelivery = Literal["none", "pending", "sent", "undeliverable"]
"""``none``: there is no receipt. ``undeliverable``: no mail server accepted it, and we stopped trying."""
DonationSort = Literal["id", "amount"]
DonationStatus = Literal["ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"]
ABANDONED_AFTER: Final = timedelta(hours=24)  # spec 3.2
ERASED_AFTER: Final = timedelta(days=30)
"""How long we keep the donor's data of a cancelled, unpaid donation (V6)."""

CREATED: Final = "donation.created"
PAYMENT_RECEIVED: Final = "donation.hosted.payment_received"
PAYMENT_SUCCESSFUL: Final = "donation.payment_successful"
CANCELLED: Final = "donation.cancelled"
SETTLED: Final = "donation.settled"
DISBURSED: Final = "donation.disbursed"
PAYMENT_REQUESTED: Final = "donation.payment_requested"
DISPUTED: Final = "donation.disputed"
DISPUTE_CLOSED: Final = "donation.dispute_closed"
PAYOUT_RETURNED: Final = "donation.payout_returned"
REASSIGNED: Final = "donation.reassigned"
REFUNDED: Final = "donation.refunded"
RECEIPT_UNDELIVERABLE: Final = "donation.receipt_undeliverable"

REGULAR_PAGE: Final = "regular-donations"
"""The path of donors' pages about subscriptions, to which they return after paying a later donation."""
GIFT_PAGE_PURPOSE: Final = "gift"
"""The purpose of the token in the private link of a donation, and the path of its page."""


class InvalidState(BadRequest):
    code = "donation/invalid_state"
    message = "The status of the donation does not allow this"


class InvalidMetadata(BadRequest):
    code = "donation/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


class WrongTargetCurrency(BadRequest):
    code = "donation/wrong_target_currency"
    message = "The organisation cannot receive this currency, or the session uses a different one"


class WrongPartnerCurrency(BadRequest):
    code = "donation/wrong_partner_currency"
    message = "Your account does not settle in this currency"


class GiftAidMissing(BadRequest):
    code = "donation/gift_aid_missing"
    message = (
        "Your account requires Gift Aid for GBP donations to UK charities, and no declaration covers this donation"
    )


class MissingOrganisation(BadRequest):
    code = "donation/missing_organisation"
    message = "Provide an existing organisation, or a user with a default organisation"


class PartnerUserNotFound(BadRequest):
    code = "donation/user_not_found"
    message = "There is no user with this ID"


class CannotEditOrganisation(BadRequest):
    code = "donation/cannot_edit_organisation_invalid_donation_type"
    message = (
        "Only direct donations can be changed to another organisation; a hosted donation is for the "
        "organisation on its page"
    )


class CannotAcceptDonations(BadRequest):
    code = "donation/cannot_accept_donations"
    message = "This organisation cannot accept donations; only nonprofits that are active in their register can"


class TooManyCardAttempts(InvalidState):
    message = "Too many cards were tried in this session; create a new session"


@dataclass(frozen=True, slots=True)
class DonationDetails:
    """A donor's entries on the hosted page: amount, name, email and consents.

    ``cover_minor``: the part of the amount that the donor added to cover the fee. ``message``: a message to the
    nonprofit. One of the two names may be "". ``declarer``: the donor's Gift Aid details, if declared. ``frequency``:
    how often the donor wants to give this amount, and ``agreement`` the terms they agreed to. ``designation``: its
    purpose. ``dedication``: in whose honour or memory it is, and ``dedication_email`` who is notified of it.
    """

    money: Money
    first_name: str
    last_name: str
    email: str
    consented: bool
    anonymous: bool
    cover_minor: int = 0
    message: str | None = None
    declarer: Declarer | None = None
    frequency: DonationFrequency = "one_time"
    agreement: Agreement | None = None
    designation: str | None = None
    dedication: str | None = None
    dedication_email: DedicationEmail | None = None


@dataclass(frozen=True, slots=True)
class SettledAmount:
    """The amount that arrived after the provider's fee, and when."""

    settled_at: datetime
    money: Money


@dataclass(frozen=True, slots=True)
class RefundedAmount:
    """The total that was refunded to the payer, and the time of the last refund."""

    last_refunded_at: datetime
    money: Money


@statically_frozen_dataclass
class Donation:
    """One donation. ``consented``: the nonprofit may contact the donor. ``disbursement_id``: the disbursement it is in.

    ``gift_aid_id``: the declaration that covers it. ``donation_request_id``: the request that invoices it.
    ``withdrawn_minor``: the sum of refunds started or sent, and of a dispute. ``disputed_at``: when the open dispute
    started. ``last_disputed_at``, ``dispute_status``: of the last dispute, also after its end. ``donor_shown``: API
    responses name the donor. ``transfer_confirmed_at``: when the donor confirmed a bank transfer. ``subscription_id``:
    its subscription; ``subscription_due_on``: its due date, None for the first donation.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    user_id: UUID | None
    type: DonationType
    session_id: UUID | None
    payment_id: UUID | None
    status: DonationStatus
    money: Money
    first_name: str | None
    last_name: str | None
    email: str | None
    consented: bool
    anonymous: bool
    metadata: Mapping[str, str]
    created_at: datetime
    cancelled_at: datetime | None
    cover_minor: int
    message: str | None
    gift_aid_id: UUID | None
    donor_shown: bool
    settlement: SettledAmount | None = None
    disbursement_id: UUID | None = None
    disbursed_at: datetime | None = None
    reassigned_at: datetime | None = None
    reassigned_from: UUID | None = None
    donation_request_id: UUID | None = None
    withdrawn_minor: int = 0
    refunded: RefundedAmount | None = None
    disputed_at: datetime | None = None
    transfer_confirmed_at: datetime | None = None
    last_disputed_at: datetime | None = None
    dispute_status: DonationDisputeStatus | None = None
    receipt_delivery: ReceiptDelivery = "none"
    subscription_id: UUID | None = None
    subscription_due_on: date | None = None
    designation: str | None = None
    giving_link_id: UUID | None = None
    dedication: str | None = None

    @property
    def unrefunded_amount(self) -> Money:
        """The amount that is neither refunded nor being refunded."""
        refunded = self.refunded.money.minor if self.refunded else 0
        return Money(self.money.minor - max(self.withdrawn_minor, refunded), self.money.currency)

    @property
    def net_amount_for_nonprofit(self) -> Money:
        """The amount that is owed or was paid to the nonprofit: the amount minus fee and refunds."""
        arrived = self.settlement.money if self.settlement else self.money
        return Money(max(0, arrived.minor - self.withdrawn_minor), arrived.currency)


@dataclass(frozen=True, slots=True)
class DonationOrigin:
    """The origin of a hosted donation. ``charged_subscription_id``: the locked subscription of a later donation."""

    session_id: UUID
    charged_subscription_id: UUID | None


@dataclass(frozen=True, slots=True)
class Donor:
    """The donor as the partner names them; all fields are optional."""

    first_name: str | None
    last_name: str | None
    email: str | None
    consented: bool
    anonymous: bool


@dataclass(frozen=True, slots=True)
class DisbursementBatch:
    """What donations have in common that one disbursement pays: their partner, nonprofit and currency."""

    partner_id: UUID
    organisation_id: UUID
    currency: str


class DonationsAddedToDisbursement(NamedTuple):
    """The number of donations that were added to a disbursement, and their total in minor units."""

    donation_count: int
    total_minor: int


@dataclass(frozen=True, slots=True)
class ReceiptResendRequestedEvent:
    """The donation whose receipt is sent again."""

    donation: UUID
    partner: UUID


RECEIPT_RESEND_REQUESTED: Final = InternalEvent("internal.receipt_resend_requested", ReceiptResendRequestedEvent)
"""Published internally when a donor corrects a receipt's address, or the partner requests that it be sent again."""


@dataclass(frozen=True, slots=True)
class DonationFilters:
    """Filters of a list of donations; None: not filtered. ``start`` inclusive, ``end`` exclusive."""

    user_id: UUID | None = None
    organisation_id: UUID | None = None
    status: str | None = None
    donation_request_id: UUID | None = None
    start: datetime | None = None
    end: datetime | None = None
    session_id: UUID | None = None
    email: str | None = None
    giving_link_id: UUID | None = None


class CheckoutState(Enum):
    """The state of a session's payment, as shown to the donor."""

    NOT_STARTED = "not_started"
    """Nothing started, or the last attempt ended: the form may be shown again if the session is open."""
    DECLINED = "declined"
    """The provider declined the last attempt for good; another may start if the session is open."""
    AWAITED = "awaited"
    """The donor has confirmed a bank transfer that our bank has not reported yet."""
    UNDER_WAY = "under_way"
    """The donor may still pay at the provider, or the bank is processing the payment."""
    PAID = "paid"
    """The payment was received and accepted."""
    HELD = "held"
    """The payment is unallocated and waits for a decision. The donor must not pay again."""


@dataclass(frozen=True, slots=True)
class SessionDonation:
    """A session's donation, its checkout state and payment URL.

    ``is_reported_unpaid``: the provider has just reported that nothing was paid and no bank is processing it.
    """

    state: CheckoutState
    donation: Donation | None
    payment_url: str | None
    is_reported_unpaid: bool = False


def session_donation_of(donation: Donation | None, payment: Payment | None) -> SessionDonation:
    """Combine a donation and its payment into what the donor is shown."""
    if donation is None or payment is None:
        return SessionDonation(CheckoutState.NOT_STARTED, donation, None)
    if donation.payment_id is not None:
        return SessionDonation(CheckoutState.PAID, donation, None)
    match payment.status:
        case "held":
            return SessionDonation(CheckoutState.HELD, donation, None)
        case "failed":
            return SessionDonation(CheckoutState.DECLINED, donation, None)
        case "open" if donation.status == "REQUESTED_PAYMENT" and donation.transfer_confirmed_at is not None:
            return SessionDonation(CheckoutState.AWAITED, donation, payment.payment_page_url)
        case "starting" | "open" if donation.status == "REQUESTED_PAYMENT":
            return SessionDonation(CheckoutState.UNDER_WAY, donation, payment.payment_page_url)
        case _:
            return SessionDonation(CheckoutState.NOT_STARTED, donation, None)


def unallocated_reason_of(
    session: DonationSession | None,
    donation: Donation,
    reference: str,
    provider_payment: ProviderPayment,
    now: datetime,
) -> UnallocatedReason | None:
    """Why a payment cannot pay the donation and stays unallocated; None if it can (M4-M6).

    ``session``: None for a later donation of a subscription.
    """
    if donation.payment_id is not None:
        return UnallocatedReason.PAID_TWICE
    if donation.status != "REQUESTED_PAYMENT":
        return UnallocatedReason.DONATION_CANCELLED
    if session is not None and now >= session.late_payments_accepted_until() and donation.transfer_confirmed_at is None:
        return UnallocatedReason.SESSION_OVER
    return payment_mismatch_reason(donation.money, reference, provider_payment)


def new_hosted_donation(
    donation_id: UUID,
    session: DonationSession,
    details: DonationDetails,
    now: datetime,
    *,
    shows_donor_in_api: bool = True,
    gift_aid_id: UUID | None = None,
    subscription_id: UUID | None = None,
) -> Donation:
    """A new hosted donation; it has the session's metadata (settled 4)."""
    return Donation(
        id=donation_id,
        partner_id=session.partner_id,
        organisation_id=session.organisation_id,
        user_id=session.user_id,
        type="hosted",
        session_id=session.id,
        payment_id=None,
        status="REQUESTED_PAYMENT",
        money=details.money,
        first_name=details.first_name or None,
        last_name=details.last_name or None,
        email=details.email,
        consented=details.consented,
        anonymous=details.anonymous,
        metadata=dict(session.metadata or {}),
        created_at=now,
        cancelled_at=None,
        cover_minor=details.cover_minor,
        message=details.message,
        gift_aid_id=gift_aid_id,
        donor_shown=shows_donor_in_api,
        subscription_id=subscription_id,
        designation=details.designation,
        giving_link_id=session.giving_link_id,
        dedication=details.dedication,
    )


def new_subscription_donation(
    donation_id: UUID, subscription: DonationSubscription, due_on: date, now: datetime, gift_aid_id: UUID | None
) -> Donation:
    """A new donation for a due date of a subscription, with the subscription's metadata."""
    return Donation(
        id=donation_id,
        partner_id=subscription.partner_id,
        organisation_id=subscription.organisation_id,
        user_id=subscription.user_id,
        type="hosted",
        session_id=subscription.session_id,
        payment_id=None,
        status="REQUESTED_PAYMENT",
        money=subscription.money,
        first_name=subscription.first_name,
        last_name=subscription.last_name,
        email=subscription.email,
        consented=subscription.consented,
        anonymous=subscription.anonymous,
        metadata=dict(subscription.metadata or {}),
        created_at=now,
        cancelled_at=None,
        cover_minor=subscription.cover_minor,
        message=subscription.message,
        gift_aid_id=gift_aid_id,
        donor_shown=subscription.donor_shown,
        subscription_id=subscription.id,
        subscription_due_on=due_on,
    )


def new_direct_donation(
    donation_id: UUID,
    partner_id: UUID,
    organisation_id: UUID,
    user_id: UUID | None,
    money: Money,
    donor: Donor,
    metadata: Mapping[str, str],
    now: datetime,
    *,
    shows_donor_in_api: bool,
    gift_aid_id: UUID | None,
) -> Donation:
    """A new direct donation, not yet invoiced."""
    return Donation(
        id=donation_id,
        partner_id=partner_id,
        organisation_id=organisation_id,
        user_id=user_id,
        type="direct",
        session_id=None,
        payment_id=None,
        status="ACTIVE",
        money=money,
        first_name=donor.first_name,
        last_name=donor.last_name,
        email=donor.email,
        consented=donor.consented,
        anonymous=donor.anonymous,
        metadata=metadata,
        created_at=now,
        cancelled_at=None,
        cover_minor=0,
        message=None,
        gift_aid_id=gift_aid_id,
        donor_shown=shows_donor_in_api,
    )


def donation_details_of(donation: Donation) -> DonationDetails:
    """The details a donor entered for a hosted donation."""
    return DonationDetails(
        donation.money,
        donation.first_name or "",
        donation.last_name or "",
        donation.email or "",
        donation.consented,
        donation.anonymous,
        donation.cover_minor,
        donation.message,
        designation=donation.designation,
        dedication=donation.dedication,
    )


def ensure_organisation_receives_currency(currency: str, receivable_currencies: tuple[str, ...]) -> None:
    """Check that the organisation can receive this currency.

    Raises CannotAcceptDonations if it receives none, WrongTargetCurrency.
    """
    if not receivable_currencies:
        raise CannotAcceptDonations
    if currency not in receivable_currencies:
        raise WrongTargetCurrency(f"the organisation receives {', '.join(receivable_currencies)}, not {currency}")


def ensure_partner_settles_in_currency(currency: str, settlement_currencies: tuple[str, ...]) -> None:
    """Raises WrongPartnerCurrency unless the partner settles in this currency."""
    if currency not in settlement_currencies:
        raise WrongPartnerCurrency(f"your account settles in {', '.join(settlement_currencies)}, not {currency}")


def ensure_cancellable(donation: Donation) -> None:
    """Raises InvalidState unless a partner may cancel the donation (settled 5)."""
    if donation.type != "direct" or donation.status != "ACTIVE":
        raise InvalidState(
            f"the donation is {donation.type} and {donation.status}: only a direct one that is ACTIVE can be cancelled"
        )


def ensure_organisation_changeable(donation: Donation) -> None:
    """Raises CannotEditOrganisation or InvalidState unless the organisation may be changed."""
    if donation.type != "direct":
        raise CannotEditOrganisation
    if donation.status != "ACTIVE":
        raise InvalidState(f"the donation is {donation.status}: its organisation is chosen while it is ACTIVE")
