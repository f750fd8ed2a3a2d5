"""Giving links on the wire (settled 11)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from pydantic import AfterValidator, Field

from almoner.giving.checkout.giving_links.domain import (
    MAX_ORGANISATIONS,
    MAX_SLUG,
    MIN_SLUG,
    GivingLink,
    is_slug,
)
from almoner.giving.checkout.sessions.domain import ONE_TIME, DonationFrequency
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
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.files import media
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import (
    CurrencyCode,
    Maybe,
    Metadata,
    MetadataPatch,
    Moment,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Typed,
    TypedLines,
    ensure_unique,
)
from almoner.platform.pages.headers import origin_of_url

_ORGANISATIONS: Final = "The organisations from which donors choose. A single one applies without a choice."
_CATEGORY: Final = "Donors choose one of this category's organisations, whichever it has then."
_CURRENCIES: Final = "The currencies from which donors choose. Default: all that the organisation can receive."
_ORIGIN: Final = re.compile(r"https://|http://(?:localhost|127\.0\.0\.1)(?::|$)")


def _slug(text: str) -> str:
    if not is_slug(text):
        raise ValueError("must be lower-case letters, digits and single hyphens between them")
    return text


def _origin(text: str) -> str:
    if origin_of_url(text) != text or not _ORIGIN.match(text):
        raise ValueError("must be an origin such as https://www.example.org, without a path")
    return text


Slug = Annotated[
    str,
    Field(
        min_length=MIN_SLUG,
        max_length=MAX_SLUG,
        examples=["winter-appeal"],
        description="The end of the link's URL. It never changes and is never reused. Default: made from the title.",
    ),
    AfterValidator(_slug),
]
Title = Annotated[
    str,
    Field(
        min_length=1,
        max_length=120,
        examples=["Winter appeal"],
        description="Shown beside the organisation's name and marked as your text.",
    ),
    Typed,
]
Text = Annotated[
    str, Field(min_length=1, max_length=2000, description="Shown on the page and marked as your text."), TypedLines
]
OrganisationIds = Annotated[
    list[Annotated[str, IdString("organisation")]],
    Field(min_length=1, max_length=MAX_ORGANISATIONS, description=_ORGANISATIONS),
    AfterValidator(ensure_unique),
]
CategoryId = Annotated[str, IdString("category")]
Currencies = Annotated[
    list[CurrencyCode],
    Field(min_length=1, max_length=20, description=_CURRENCIES, examples=[["USD"]]),
    AfterValidator(ensure_unique),
]
Goal = Annotated[
    int,
    Field(
        ge=1,
        le=money.MAX_MINOR,
        description="The fundraising goal in minor units, shown with the amount raised.",
        examples=[1_000_000],
    ),
]
AllowedOrigins = Annotated[
    list[Annotated[str, Field(max_length=255), AfterValidator(_origin)]],
    Field(
        min_length=1,
        max_length=20,
        description="Sites on which the element `<almoner-give>` can open the form in a dialog. Default: none.",
        examples=[["https://www.example.org"]],
    ),
    AfterValidator(ensure_unique),
]


@dataclass(frozen=True, slots=True)
class GivingLinkInput:
    """The input of a giving link. ``UNSET``: unchanged, or the default. IDs as sent."""

    values: Mapping[str, Any]

    def new_value_or_current(self, field_name: str, current: Any) -> Any:
        """The new value of a member, or the current one."""
        return self.values.get(field_name, current)


class GivingLinkBody(RequestBody):
    """A new giving link, for `organisationIds` or a `categoryId`. Amounts and goal need a single currency."""

    title: Title
    text: Text | None = None
    slug: Slug | None = None
    organisation_ids: OrganisationIds | None = None
    category_id: CategoryId | None = None
    suggested_amounts: SuggestedAmounts | None = None
    minimum: Minimum | None = None
    maximum: Maximum | None = None
    currencies: Currencies | None = None
    frequencies: Frequencies = Field(default_factory=lambda: list(ONE_TIME))
    designations: Designations | None = None
    goal: Goal | None = None
    shows_progress: bool = Field(
        False, description="Whether the page shows the amount raised and the number of donors."
    )
    offers_dedication: bool = Field(False, description=OFFERS_DEDICATION)
    allowed_origins: AllowedOrigins | None = None
    success_url: SuccessUrl | None = None
    metadata: Metadata | None = Field(
        None, description="Your own data, copied to each session and donation of the link."
    )
    active: bool = Field(True, description="Whether the link accepts donations.")
    expires_at: Moment | None = Field(None, description="When the link stops accepting donations.")

    def to_input(self) -> GivingLinkInput:
        """Convert to a ``GivingLinkInput``."""
        return _input(self)


class GivingLinkPatch(PatchBody):
    """Changes to a giving link. `organisationIds` and `categoryId` replace each other."""

    title: Maybe[Title] = UNSET
    text: Maybe[Text | None] = UNSET
    organisation_ids: Maybe[OrganisationIds | None] = UNSET
    category_id: Maybe[CategoryId | None] = UNSET
    suggested_amounts: Maybe[SuggestedAmounts | None] = UNSET
    minimum: Maybe[Minimum | None] = UNSET
    maximum: Maybe[Maximum | None] = UNSET
    currencies: Maybe[Currencies | None] = UNSET
    frequencies: Maybe[Frequencies] = UNSET
    designations: Maybe[Designations | None] = UNSET
    goal: Maybe[Goal | None] = UNSET
    shows_progress: Maybe[bool] = UNSET
    offers_dedication: Maybe[bool] = UNSET
    allowed_origins: Maybe[AllowedOrigins | None] = UNSET
    success_url: Maybe[SuccessUrl | None] = UNSET
    metadata: Maybe[MetadataPatch | None] = UNSET
    active: Maybe[bool] = UNSET
    expires_at: Maybe[Moment | None] = UNSET

    def to_input(self) -> GivingLinkInput:
        """Convert to a ``GivingLinkInput``."""
        return _input(self)


def _input(body: RequestBody) -> GivingLinkInput:
    values = {name: getattr(body, name) for name in type(body).model_fields}
    return GivingLinkInput({name: value for name, value in values.items() if value is not UNSET})


class GivingLinksQuery(PageQuery):
    """Filters of the list."""

    active: bool | None = Field(None, description="Whether the link is active. An expired link can be active.")


class QrCodeResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The link's URL as a QR code to print."""

    svg: str
    png: str


class GivingLinkResponse(ResponseRecord, object_name="giving_link"):
    """A giving link as partners see it. Send donors to ``url``."""

    id: str
    url: Annotated[str, msgspec.Meta(description="The page.", examples=["https://give.example.org/g/winter-appeal"])]
    slug: str
    qr_code: QrCodeResponse
    title: str
    text: str | None
    image_url: str | None
    organisation_ids: list[str] | None
    category_id: str | None
    suggested_amounts: list[int] | None
    minimum: int | None
    maximum: int | None
    currencies: list[str] | None
    frequencies: list[DonationFrequency]
    designations: list[str] | None
    goal: int | None
    shows_progress: bool
    offers_dedication: bool
    allowed_origins: list[str] | None
    success_url: str | None
    metadata: dict[str, str] | None
    active: bool
    expires_at: str | None
    created_at: str
    updated_at: str


def giving_link_response(tx: Tx, link: GivingLink) -> GivingLinkResponse:
    """The response for one link."""
    url = f"{tx.base_urls.pages}/g/{link.slug}"
    return GivingLinkResponse(
        id=tx.ids.encode("givinglink", link.id),
        url=url,
        slug=link.slug,
        qr_code=QrCodeResponse(f"{url}/qr.svg", f"{url}/qr.png"),
        title=link.title,
        text=link.text,
        image_url=media.media_url(tx.base_urls, link.image_key),
        organisation_ids=[tx.ids.encode("organisation", one) for one in link.organisation_ids] or None,
        category_id=tx.ids.encode_or_none("category", link.category_id),
        suggested_amounts=list(link.options.suggested) or None,
        minimum=link.options.minimum,
        maximum=link.options.maximum,
        currencies=list(link.currencies) or None,
        frequencies=list(link.frequencies),
        designations=list(link.options.designations) or None,
        goal=link.goal_minor,
        shows_progress=link.shows_progress,
        offers_dedication=link.options.dedication,
        allowed_origins=list(link.allowed_origins) or None,
        success_url=link.success_url,
        metadata=None if link.metadata is None else dict(link.metadata),
        active=link.active,
        expires_at=iso_timestamp_or_none(link.expires_at),
        created_at=iso_timestamp(link.created_at),
        updated_at=iso_timestamp(link.updated_at),
    )
