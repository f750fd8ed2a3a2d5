"""Donations on the wire (spec 2.8; settled 4)."""

from typing import Annotated, ClassVar, Final
from uuid import UUID

import msgspec
from pydantic import AfterValidator, ConfigDict, Field
from pydantic.config import JsonDict

from almoner.giving.checkout.donations.domain import (
    Donation,
    DonationDisputeStatus,
    DonationFilters,
    DonationSort,
    DonationStatus,
    DonationType,
    ReceiptDelivery,
)
from almoner.kit import money
from almoner.kit.errors import IncorrectParams
from almoner.kit.ids import RecordIdCodec
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.texts import EmailAddress
from almoner.platform.http.wire import (
    CurrencyCode,
    DayOrMoment,
    Maybe,
    Metadata,
    MetadataPatch,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Typed,
    WindowEnd,
    YesNo,
)

Name = Annotated[Annotated[str, Field(max_length=255), Typed] | None, AfterValidator(lambda name: name or None)]


_GIFT: Final[JsonDict] = {
    "organisationId": RecordIdCodec(sandbox=True).example_id("organisation"),
    "amount": 2500,
    "currencyCode": "USD",
    "metadata": {"campaign": "winter"},
}


class DonationBody(RequestBody):
    """A new direct donation: for an organisation, or for the default organisation of a user."""

    model_config = ConfigDict(json_schema_extra={"examples": [_GIFT]})

    amount: Annotated[
        int, Field(ge=1, le=money.MAX_MINOR, examples=[2500], description="In the currency's minor unit.")
    ]
    currency_code: CurrencyCode
    organisation_id: Annotated[str, IdString("organisation")] | None = Field(
        None, description="Default: the user's default organisation."
    )
    user_id: Annotated[str, IdString("user")] | None = None
    first_name: Name | None = Field(None, description="First or last name is required.")
    last_name: Name | None = None
    email: EmailAddress | None = None
    consented_to_be_contacted_by_org: YesNo = "no"
    anonymous: YesNo = "no"
    gift_aid_id: Annotated[str, IdString("giftaid")] | None = Field(
        None, description="Default: the user's newest declaration that covers the donation."
    )
    metadata: Metadata | None = None


class DonationsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    user_id: Annotated[str, IdString("user")] | None = None
    organisation_id: Annotated[str, IdString("organisation")] | None = None
    status: DonationStatus | None = None
    donation_request_id: Annotated[str, IdString("donationrequest")] | None = None
    session_id: Annotated[str, IdString("donationsession")] | None = Field(
        None, description="The donation session of hosted donations."
    )
    giving_link_id: Annotated[str, IdString("givinglink")] | None = None
    email: str | None = Field(
        None, max_length=255, description="The donor's complete email address, in upper or lower case."
    )
    start_date: DayOrMoment | None = Field(None, description="Created at this time or later.")
    end_date: WindowEnd | None = Field(None, description="Created before this time.")
    sort: DonationSort = Field(
        "id",
        description="`id` sorts by creation. `amount` sorts by currency, then by amount; it takes no filters.",
    )


def parse_filters(tx: Tx, query: DonationsQuery) -> DonationFilters:
    """The filters in a query. Raises IncorrectParams for invalid IDs."""
    reasons = []

    def parsed(name: str, text: str | None, type_: str, what: str) -> UUID | None:
        found = tx.ids.decode(type_, text) if text is not None else None
        if text is not None and found is None:
            reasons.append(f"query.{name} must be the id of {what}")
        return found

    filters = DonationFilters(
        parsed("userId", query.user_id, "user", "a user"),
        parsed("organisationId", query.organisation_id, "organisation", "an organisation"),
        query.status,
        parsed("donationRequestId", query.donation_request_id, "donationrequest", "a donation request"),
        query.start_date,
        query.end_date,
        parsed("sessionId", query.session_id, "donationsession", "a donation session"),
        query.email,
        parsed("givingLinkId", query.giving_link_id, "givinglink", "a giving link"),
    )
    if reasons:
        raise IncorrectParams(*reasons)
    if query.sort == "amount" and filters != DonationFilters():
        raise IncorrectParams("query.sort can only be amount without filters")
    return filters


class DonationPatch(PatchBody):
    """Changes to a donation."""

    organisation_id: Maybe[Annotated[str, IdString("organisation")]] = UNSET
    metadata: Maybe[MetadataPatch | None] = UNSET


class HostedDonationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The session of a hosted donation."""

    session_id: str


class DonationSeriesResponse(msgspec.Struct, frozen=True, rename="camel"):
    """``initial``: a one-off donation, or the first of a donation subscription. ``id``: the donation subscription's."""

    initial: bool
    id: Annotated[
        str | None,
        msgspec.Meta(
            description="The donation subscription's identifier; null for a one-off donation.",
            examples=[RecordIdCodec(sandbox=True).example_id("donationsubscription")],
        ),
    ]


class SettledAmountResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The amount that arrived after conversion, in minor units."""

    amount: int
    currency: str


class DonationResponse(ResponseRecord, object_name="donation"):
    """A donation as partners see it."""

    personal: ClassVar = ("first_name", "last_name", "email", "dedication")

    id: str
    user_id: str | None
    organisation_id: str
    type: DonationType
    hosted: HostedDonationResponse | None
    amount: int
    currency_code: str
    status: DonationStatus
    first_name: Annotated[str | None, msgspec.Meta(description="Empty if the donor has only one name.")]
    last_name: str | None
    email: str | None
    consented_to_be_contacted_by_org: YesNo
    anonymous: YesNo
    gift_aid_id: str | None
    donation_request_id: str | None
    subscription: DonationSeriesResponse
    giving_link_id: Annotated[str | None, msgspec.Meta(description="The giving link that was used.")]
    designation: Annotated[
        str | None, msgspec.Meta(description="The purpose that the donor chose from the session's `designations`.")
    ]
    dedication: Annotated[
        str | None,
        msgspec.Meta(
            description="The person in whose honour or memory the donation was made.", examples=["Grandma Rose"]
        ),
    ]
    metadata: dict[str, str]
    created_at: str
    cancelled_at: str | None
    settled_at: str | None
    settled_amount: SettledAmountResponse | None
    disbursed_at: str | None
    reassigned_at: str | None
    reassigned_from_organisation_id: str | None
    refunded_at: str | None
    refunded_amount: int | None
    disputed_at: Annotated[
        str | None,
        msgspec.Meta(description="When the donor's bank last disputed the payment, in UTC; null if it never did."),
    ]
    dispute_status: Annotated[
        DonationDisputeStatus | None,
        msgspec.Meta(description="The status of the latest dispute; `lost`: the donor got the money back."),
    ]
    receipt_delivery: Annotated[
        ReceiptDelivery,
        msgspec.Meta(
            description="The email with the receipt of a hosted donation. `sent`: a mail server accepted it. "
            "`undeliverable`: it could not be delivered, and is not retried until the donor corrects the address."
        ),
    ]


_ONE_OFF = DonationSeriesResponse(initial=True, id=None)


def _series_response(ids: RecordIdCodec, donation: Donation) -> DonationSeriesResponse:
    if donation.subscription_id is None:
        return _ONE_OFF
    initial = donation.subscription_due_on is None
    return DonationSeriesResponse(initial, ids.encode("donationsubscription", donation.subscription_id))


def donation_response(tx: Tx, donation: Donation) -> DonationResponse:
    """The API representation of a donation."""
    ids, settlement, shown, refunded = tx.ids, donation.settlement, donation.donor_shown, donation.refunded
    first_name, last_name = (donation.first_name, donation.last_name) if shown else (None, None)
    if first_name or last_name:
        first_name, last_name = first_name or "", last_name or ""
    return DonationResponse(
        id=ids.encode("donation", donation.id),
        user_id=ids.encode_or_none("user", donation.user_id),
        organisation_id=ids.encode("organisation", donation.organisation_id),
        type=donation.type,
        hosted=HostedDonationResponse(ids.encode("donationsession", donation.session_id))
        if donation.session_id
        else None,
        amount=donation.money.minor,
        currency_code=donation.money.currency,
        status=donation.status,
        first_name=first_name,
        last_name=last_name,
        email=donation.email if shown else None,
        consented_to_be_contacted_by_org="yes" if donation.consented else "no",
        anonymous="yes" if donation.anonymous else "no",
        gift_aid_id=ids.encode_or_none("giftaid", donation.gift_aid_id),
        donation_request_id=ids.encode_or_none("donationrequest", donation.donation_request_id),
        subscription=_series_response(ids, donation),
        giving_link_id=ids.encode_or_none("givinglink", donation.giving_link_id),
        designation=donation.designation,
        dedication=donation.dedication if shown else None,
        metadata=dict(donation.metadata),
        created_at=iso_timestamp(donation.created_at),
        cancelled_at=iso_timestamp_or_none(donation.cancelled_at),
        settled_at=iso_timestamp(settlement.settled_at) if settlement else None,
        settled_amount=SettledAmountResponse(settlement.money.minor, settlement.money.currency) if settlement else None,
        disbursed_at=iso_timestamp_or_none(donation.disbursed_at),
        reassigned_at=iso_timestamp_or_none(donation.reassigned_at),
        reassigned_from_organisation_id=ids.encode_or_none("organisation", donation.reassigned_from),
        refunded_at=iso_timestamp(refunded.last_refunded_at) if refunded else None,
        refunded_amount=refunded.money.minor if refunded else None,
        disputed_at=iso_timestamp_or_none(donation.last_disputed_at),
        dispute_status=donation.dispute_status,
        receipt_delivery=donation.receipt_delivery,
    )
