"""Donation sessions on the wire (spec 2.7, 4.8; settled 4)."""

from typing import Annotated

import msgspec
from pydantic import AfterValidator, Field

from almoner.giving.checkout.sessions.domain import (
    ONE_TIME,
    PAGE_PURPOSE,
    Benefits,
    DonationFrequency,
    DonationSession,
    SessionStatus,
)
from almoner.kit import money
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdText
from almoner.platform.http.texts import BrowserAddress, LanguageTag
from almoner.platform.http.wire import CurrencyCode, Metadata, PageQuery, RequestBody, ResponseRecord
from almoner.platform.outbound import addresses


def _currency(text: str) -> str:
    if text not in money.EXPONENTS:
        raise ValueError("must be an active ISO 4217 currency such as GBP")
    return text


SuccessUrl = Annotated[
    BrowserAddress,
    Field(
        max_length=addresses.MAX_LENGTH,
        description="Where the donor is sent after giving; https. `{DONATION_SESSION_ID}` in it becomes the session's "
        "id. Without it a success screen is shown.",
        examples=["https://shop.example/thanks"],
    ),
]
Language = Annotated[
    LanguageTag,
    Field(
        max_length=35,
        description="RFC 5646; one that is not offered falls back to the nearest, then English.",
        examples=["en"],
    ),
]
Currency = Annotated[CurrencyCode, AfterValidator(_currency)]


def _distinct(frequencies: list[DonationFrequency]) -> list[DonationFrequency]:
    if len(set(frequencies)) != len(frequencies):
        raise ValueError("must name each frequency once")
    return frequencies


class BenefitsIn(RequestBody):
    """What the donor receives in return for the donation."""

    description: Annotated[
        str, Field(min_length=1, max_length=250, description="What the donor receives.", examples=["Dinner for two"])
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


class DonationSessionIn(RequestBody):
    """A new session."""

    organisation_id: Annotated[str, IdText("organisation")]
    user_id: Annotated[str, IdText("user")] | None = None
    success_url: SuccessUrl | None = None
    currency: Currency | None = None
    language: Language | None = None
    metadata: Metadata | None = None
    frequencies: Annotated[list[DonationFrequency], AfterValidator(_distinct)] = Field(
        list(ONE_TIME),
        min_length=1,
        max_length=5,
        description="How often the donor may give. With several, the donor chooses on the page, and the first one is "
        "chosen at first. Any other than `one_time` begins a regular donation by card.",
        examples=[["one_time", "monthly"]],
    )
    benefits: BenefitsIn | None = Field(
        None,
        description="Goods or services that the donor receives in return. The page and the receipt state them with "
        "their value, and the page offers no Gift Aid. Requires `currency`; only for `one_time` donations.",
    )


class BenefitsOut(ResponseRecord):
    """What the donor receives in return for the donation."""

    description: str
    fair_value: int


class DonationSessionOut(ResponseRecord, object_name="donation_session"):
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
        list[DonationFrequency], msgspec.Meta(description="Among which the donor chooses how often to give.")
    ]
    benefits: BenefitsOut | None
    donation_id: Annotated[str | None, msgspec.Meta(description="The donation that completed it.")]
    created_at: str
    expires_at: str


def session_out(tx: Tx, session: DonationSession) -> DonationSessionOut:
    """The answer for one session, its status true at the moment of reading (S3)."""
    return DonationSessionOut(
        id=tx.ids.text("donationsession", session.id),
        status=session.status_at(tx.now),
        organisation_id=tx.ids.text("organisation", session.organisation_id),
        user_id=tx.ids.text_or_none("user", session.user_id),
        language=session.language,
        currency=session.currency,
        success_url=session.success_url,
        url=f"{tx.links.pages}/give?token={tx.vault.page_token(PAGE_PURPOSE, session.id)}",
        metadata=None if session.metadata is None else dict(session.metadata),
        frequencies=list(session.frequencies),
        benefits=_benefits_out(session.benefits),
        donation_id=tx.ids.text_or_none("donation", session.donation_id),
        created_at=iso_timestamp(session.created_at),
        expires_at=iso_timestamp(session.expires_at),
    )


def _benefits_out(benefits: Benefits | None) -> BenefitsOut | None:
    return None if benefits is None else BenefitsOut(benefits.description, benefits.fair_value_minor)
