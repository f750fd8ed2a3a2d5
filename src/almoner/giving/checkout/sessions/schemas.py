"""Donation sessions on the wire (spec 2.7, 4.8; settled 4)."""

from typing import Annotated

import msgspec
from pydantic import Field

from almoner.giving.checkout.sessions.domain import (
    ONE_TIME,
    PAGE_PURPOSE,
    Benefits,
    DonationFrequency,
    DonationOptions,
    DonationSession,
    SessionStatus,
)
from almoner.giving.checkout.wire_types import (
    OFFERS_DEDICATION,
    Designations,
    Frequencies,
    Maximum,
    Minimum,
    SuccessUrl,
    SuggestedAmounts,
)
from almoner.kit import money
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.texts import LanguageTag
from almoner.platform.http.wire import CurrencyCode, Metadata, PageQuery, RequestBody, ResponseRecord, Typed

Language = Annotated[
    LanguageTag,
    Field(
        description="Language of the page (RFC 5646). If it is not available, the nearest one is used, or else "
        "English.",
        examples=["en"],
    ),
]


class BenefitsBody(RequestBody):
    """What the donor receives in return for the donation."""

    description: Annotated[
        str,
        Field(min_length=1, max_length=250, description="What the donor receives.", examples=["Dinner for two"]),
        Typed,
    ]
    fair_value: Annotated[
        int,
        Field(
            ge=1,
            le=money.MAX_MINOR,
            examples=[4000],
            description="Its fair market value, estimated in good faith, in the minor unit of `currency`.",
        ),
    ]


class DonationSessionsQuery(PageQuery):
    """Donation sessions have no filters."""


class DonationSessionBody(RequestBody):
    """A new session."""

    organisation_id: Annotated[str, IdString("organisation")]
    user_id: Annotated[str, IdString("user")] | None = None
    success_url: SuccessUrl | None = None
    currency: CurrencyCode | None = None
    language: Language | None = None
    metadata: Metadata | None = None
    frequencies: Frequencies = Field(
        default_factory=lambda: list(ONE_TIME), json_schema_extra={"default": list(ONE_TIME)}
    )  # Pydantic copies a default list with `deepcopy`
    benefits: BenefitsBody | None = Field(
        None,
        description="Goods or services that the donor receives in return. The page and the receipt state them with "
        "their value, and the page offers no Gift Aid. Requires `currency`; only for `one_time` donations.",
    )
    suggested_amounts: SuggestedAmounts | None = Field(
        None, description="Amounts to choose from, in the minor unit of `currency`, which is then required."
    )
    minimum: Minimum | None = Field(
        None, description="The minimum donation, in the minor unit of `currency`, which is then required."
    )
    maximum: Maximum | None = Field(
        None, description="The maximum donation, in the minor unit of `currency`, which is then required."
    )
    designations: Designations | None = None
    offers_dedication: bool = Field(False, description=OFFERS_DEDICATION)

    def to_options(self) -> DonationOptions:
        """The offered amounts and purposes."""
        return DonationOptions(
            tuple(self.suggested_amounts or ()),
            self.minimum,
            self.maximum,
            tuple(self.designations or ()),
            self.offers_dedication,
        )


class BenefitsResponse(ResponseRecord):
    """What the donor receives in return for the donation."""

    description: str
    fair_value: int


class DonationSessionResponse(ResponseRecord, object_name="donation_session"):
    """A session as partners see it. Send the donor to ``url``."""

    id: str
    status: SessionStatus
    organisation_id: str
    user_id: str | None
    language: str | None
    currency: str | None
    success_url: str | None
    url: Annotated[
        str,
        msgspec.Meta(
            description="The hosted page.", examples=["https://give.example.org/give?token=AZDyxFoufMOaSx0uP0BRYg"]
        ),
    ]
    metadata: dict[str, str] | None
    frequencies: Annotated[
        list[DonationFrequency], msgspec.Meta(description="The frequencies from which the donor chooses.")
    ]
    benefits: BenefitsResponse | None
    suggested_amounts: list[int] | None
    minimum: int | None
    maximum: int | None
    designations: list[str] | None
    offers_dedication: Annotated[bool, msgspec.Meta(description=OFFERS_DEDICATION)]
    giving_link_id: Annotated[str | None, msgspec.Meta(description="The giving link that created the session.")]
    donation_id: Annotated[str | None, msgspec.Meta(description="The donation that completed it.")]
    created_at: str
    expires_at: str


def session_response(tx: Tx, session: DonationSession) -> DonationSessionResponse:
    """The response for one session, with its status at the time of reading (S3)."""
    return DonationSessionResponse(
        id=tx.ids.encode("donationsession", session.id),
        status=session.status_at(tx.now),
        organisation_id=tx.ids.encode("organisation", session.organisation_id),
        user_id=tx.ids.encode_or_none("user", session.user_id),
        language=session.language,
        currency=session.currency,
        success_url=session.success_url,
        url=f"{tx.base_urls.pages}/give?token={tx.vault.create_page_token(PAGE_PURPOSE, session.id)}",
        metadata=None if session.metadata is None else dict(session.metadata),
        frequencies=list(session.frequencies),
        benefits=_benefits_response(session.benefits),
        suggested_amounts=list(session.options.suggested) or None,
        minimum=session.options.minimum,
        maximum=session.options.maximum,
        designations=list(session.options.designations) or None,
        offers_dedication=session.options.dedication,
        giving_link_id=tx.ids.encode_or_none("givinglink", session.giving_link_id),
        donation_id=tx.ids.encode_or_none("donation", session.donation_id),
        created_at=iso_timestamp(session.created_at),
        expires_at=iso_timestamp(session.expires_at),
    )


def _benefits_response(benefits: Benefits | None) -> BenefitsResponse | None:
    return None if benefits is None else BenefitsResponse(benefits.description, benefits.fair_value_minor)
