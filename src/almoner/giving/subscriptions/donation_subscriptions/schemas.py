"""API schemas of plans of regular donations (settled 11)."""

from typing import Annotated, ClassVar
from uuid import UUID

import msgspec
from pydantic import Field

from almoner.giving.subscriptions.donation_subscriptions.domain import (
    CancellationReason,
    DonationSubscription,
    PauseReason,
    PendingChange,
    SubscriptionFilters,
    SubscriptionSort,
    SubscriptionStatus,
)
from almoner.kit import money
from almoner.kit.errors import IncorrectParams
from almoner.kit.patch import UNSET
from almoner.kit.recurrence import Frequency
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.texts import EmailAddress
from almoner.platform.http.wire import (
    Maybe,
    MetadataPatch,
    Moment,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
)


class DonationSubscriptionsQuery(PageQuery):
    """Filters of a list of donation subscriptions."""

    user_id: Annotated[str, IdString("user")] | None = None
    organisation_id: Annotated[str, IdString("organisation")] | None = None
    status: SubscriptionStatus | None = None
    email: EmailAddress | None = Field(
        None, description="The donor's email address. Needs a key with the scope `donations:personal`."
    )
    sort: SubscriptionSort = Field(
        "id",
        description="`id` sorts by creation. `nextDonationAt` sorts by the next donation; it takes no filters.",
    )


def parse_filters(tx: Tx, query: DonationSubscriptionsQuery) -> SubscriptionFilters:
    """The filters in a query. Raises IncorrectParams for invalid IDs."""
    reasons = []

    def parsed(name: str, text: str | None, type_: str) -> UUID | None:
        found = tx.ids.decode(type_, text) if text is not None else None
        if text is not None and found is None:
            reasons.append(f"query.{name} must be the id of {'an' if type_[0] in 'aeio' else 'a'} {type_}")
        return found

    filters = SubscriptionFilters(
        parsed("userId", query.user_id, "user"),
        parsed("organisationId", query.organisation_id, "organisation"),
        query.status,
        query.email,
    )
    if reasons:
        raise IncorrectParams(*reasons)
    if query.sort == "nextDonationAt" and filters != SubscriptionFilters():
        raise IncorrectParams("query.sort can only be nextDonationAt without filters")
    return filters


class DonationSubscriptionPatch(PatchBody):
    """Changes to a donation subscription."""

    amount: Maybe[
        Annotated[
            int,
            Field(
                ge=1,
                le=money.MAX_MINOR,
                examples=[1500],
                description="The amount of each donation, in minor units. A lower amount applies at once; a "
                "higher one waits as `pendingChange` until the donor agrees.",
            ),
        ]
    ] = UNSET
    frequency: Maybe[
        Annotated[
            Frequency,
            Field(
                description="A lower frequency applies at once; a higher one waits as `pendingChange` until the "
                "donor agrees."
            ),
        ]
    ] = UNSET
    metadata: Maybe[MetadataPatch | None] = UNSET


class PauseBody(RequestBody):
    """A pause."""

    until: Moment | None = Field(
        None, description="When the pause ends, within 366 days. Default: when the subscription is resumed."
    )


class PendingChangeResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A change that waits until the donor agrees to it."""

    amount: Annotated[
        int, msgspec.Meta(description="The new amount of each donation, in the currency's minor unit.", examples=[3000])
    ]
    frequency: Annotated[Frequency, msgspec.Meta(description="The new frequency.")]
    requested_at: Annotated[
        str, msgspec.Meta(description="When it was requested, in UTC.", examples=["2026-11-21T09:30:00.000Z"])
    ]


class PaymentMethodResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The payment method for later donations, as the payment provider shows it."""

    type: Annotated[
        str, msgspec.Meta(description="The type. Currently always `card`; more may be added.", examples=["card"])
    ]
    brand: Annotated[
        str | None, msgspec.Meta(description="The card's brand; null if it is not a card.", examples=["visa"])
    ]
    last4: Annotated[
        str | None, msgspec.Meta(description="The last four digits of the card or account.", examples=["4242"])
    ]
    expires_at: Annotated[
        str | None,
        msgspec.Meta(
            description="When the card expires, in UTC; null if it does not expire.",
            examples=["2028-12-31T23:59:59.000Z"],
        ),
    ]


class DonationSubscriptionResponse(ResponseRecord, object_name="donation_subscription"):
    """A donor's plan to give regularly."""

    personal: ClassVar = ("first_name", "last_name", "email")

    id: str
    status: Annotated[
        SubscriptionStatus,
        msgspec.Meta(
            description="`pending`: the first donation is not paid yet. `past_due`: the last donation could not "
            "be charged; it is retried, or the donor is asked for another card."
        ),
    ]
    amount: Annotated[
        int, msgspec.Meta(description="The amount of each donation, in the currency's minor unit.", examples=[2500])
    ]
    currency_code: str
    frequency: Annotated[Frequency, msgspec.Meta(description="How often the donor gives.")]
    organisation_id: str
    user_id: str | None
    first_name: Annotated[str | None, msgspec.Meta(description="Empty if the donor has only one name.")]
    last_name: str | None
    email: str | None
    started_at: Annotated[
        str | None,
        msgspec.Meta(
            description="When the first donation was paid, in UTC; null until then.",
            examples=["2026-12-21T09:30:00.000Z"],
        ),
    ]
    next_donation_at: Annotated[
        str | None,
        msgspec.Meta(
            description="When the next donation is charged, in UTC; null if none is scheduled.",
            examples=["2026-12-21T09:30:00.000Z"],
        ),
    ]
    paused_until: Annotated[
        str | None,
        msgspec.Meta(
            description="When the pause ends, in UTC; null if it has no end, or if there is no pause.",
            examples=["2026-12-21T09:30:00.000Z"],
        ),
    ]
    pause_reason: Annotated[
        PauseReason | None,
        msgspec.Meta(
            description="Who paused it; `organisation_cannot_receive`: the nonprofit cannot receive donations now."
        ),
    ]
    cancelled_at: str | None
    cancellation_reason: Annotated[
        CancellationReason | None,
        msgspec.Meta(
            description="Why it ended. `not_started`: the first donation was not paid. `payment_failed`: no "
            "donation could be charged for 28 days. `revoked`: the donor revoked the authorisation at the bank."
        ),
    ]
    pending_change: Annotated[
        PendingChangeResponse | None, msgspec.Meta(description="The change that waits for the donor's agreement.")
    ]
    payment_method: Annotated[
        PaymentMethodResponse | None,
        msgspec.Meta(description="The payment method for later donations; null before the first one."),
    ]
    donations_count: Annotated[
        int, msgspec.Meta(description="The number of paid donations, including the first.", examples=[3])
    ]
    total_amount: Annotated[
        int,
        msgspec.Meta(
            description="The total of the paid donations, in the currency's minor unit; refunds are not deducted.",
            examples=[7500],
        ),
    ]
    metadata: dict[str, str] | None
    created_at: str
    updated_at: str


def _pending_change_response(change: PendingChange) -> PendingChangeResponse:
    return PendingChangeResponse(change.money.minor, change.frequency, iso_timestamp(change.requested_at))


def _payment_method_response(subscription: DonationSubscription) -> PaymentMethodResponse | None:
    saved = subscription.payment_method
    if saved is None:
        return None
    return PaymentMethodResponse(saved.type, saved.brand, saved.last4, iso_timestamp(saved.expires_at))


def donation_subscription_response(tx: Tx, subscription: DonationSubscription) -> DonationSubscriptionResponse:
    """The API representation of a plan, also used in its events."""
    ids, shown = tx.ids, subscription.donor_shown
    names = (subscription.first_name, subscription.last_name) if shown else (None, None)
    first_name, last_name = (name if name or not any(names) else "" for name in names)
    return DonationSubscriptionResponse(
        id=ids.encode("donationsubscription", subscription.id),
        status=subscription.status,
        amount=subscription.money.minor,
        currency_code=subscription.money.currency,
        frequency=subscription.frequency,
        organisation_id=ids.encode("organisation", subscription.organisation_id),
        user_id=ids.encode_or_none("user", subscription.user_id),
        first_name=first_name,
        last_name=last_name,
        email=subscription.email if shown else None,
        started_at=iso_timestamp_or_none(subscription.started_at),
        next_donation_at=iso_timestamp_or_none(subscription.next_donation_at),
        paused_until=iso_timestamp_or_none(subscription.paused_until),
        pause_reason=subscription.pause_reason,
        cancelled_at=iso_timestamp_or_none(subscription.cancelled_at),
        cancellation_reason=subscription.cancellation_reason,
        pending_change=_pending_change_response(subscription.pending_change) if subscription.pending_change else None,
        payment_method=_payment_method_response(subscription),
        donations_count=subscription.donations_count,
        total_amount=subscription.total_minor,
        metadata=None if subscription.metadata is None else dict(subscription.metadata),
        created_at=iso_timestamp(subscription.created_at),
        updated_at=iso_timestamp(subscription.updated_at),
    )
