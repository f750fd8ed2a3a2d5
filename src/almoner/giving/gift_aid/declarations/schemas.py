"""Gift aid declarations on the wire (settled 4)."""

from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from almoner.giving.gift_aid.declarations import claimable
from almoner.giving.gift_aid.declarations.domain import Declaration, Declarer
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import DayOrMoment, RequestBody, ResponseRecord, Text255


class GiftAidBody(RequestBody):
    """A declaration of a UK taxpayer, who has read and accepted HMRC's statement."""

    title: Text255 = Field(examples=["Dr"])
    first_name: Text255
    last_name: Text255
    building_name_number: Text255 = Field(examples=["1"])
    road_name: Text255 = Field(examples=["Mill Lane"])
    city: Text255 = Field(examples=["Leeds"])
    country: Text255 = Field(examples=["United Kingdom"])
    postcode: Text255 = Field(examples=["LS1 1AA"])
    user_id: Annotated[str, IdString("user")] | None = Field(
        None, description="Your user. With a publishable key, the user must have an open donation session."
    )
    covers_from: DayOrMoment | None = Field(
        None, description="The start of the period, at most four years ago. Default: four years ago."
    )
    covers_to: DayOrMoment | None = Field(None, description="The end of the period (exclusive). Default: no end.")

    @property
    def declarer(self) -> Declarer:
        """Who declares."""
        typed = Declarer(
            self.title,
            self.first_name,
            self.last_name,
            self.building_name_number,
            self.road_name,
            self.city,
            self.country,
            self.postcode,
        )
        return claimable.normalise_declarer(typed)


class GiftAidResponse(ResponseRecord, object_name="gift_aid"):
    """A declaration. With a publishable key, the response contains only ``id`` and ``createdAt``."""

    personal: ClassVar = (
        "title",
        "first_name",
        "last_name",
        "building_name_number",
        "road_name",
        "city",
        "country",
        "postcode",
    )

    id: str
    created_at: str
    user_id: str | msgspec.UnsetType | None = msgspec.UNSET
    title: str | msgspec.UnsetType | None = msgspec.UNSET
    first_name: str | msgspec.UnsetType | None = msgspec.UNSET
    last_name: str | msgspec.UnsetType | None = msgspec.UNSET
    building_name_number: str | msgspec.UnsetType | None = msgspec.UNSET
    road_name: str | msgspec.UnsetType | None = msgspec.UNSET
    city: str | msgspec.UnsetType | None = msgspec.UNSET
    country: str | msgspec.UnsetType | None = msgspec.UNSET
    postcode: str | msgspec.UnsetType | None = msgspec.UNSET
    covers_from: str | msgspec.UnsetType | None = msgspec.UNSET
    covers_to: str | msgspec.UnsetType | None = msgspec.UNSET
    deleted_at: str | msgspec.UnsetType | None = msgspec.UNSET


class HasGiftAidResponse(ResponseRecord, object_name="gift_aid"):
    """The newest declaration of a user."""

    id: str


def gift_aid_response(tx: Tx, declaration: Declaration) -> GiftAidResponse:
    """The full response for one declaration."""
    declarer = declaration.declarer
    return GiftAidResponse(
        id=tx.ids.encode("giftaid", declaration.id),
        created_at=iso_timestamp(declaration.created_at),
        user_id=tx.ids.encode_or_none("user", declaration.user_id),
        title=declarer.title,
        first_name=declarer.first_name,
        last_name=declarer.last_name,
        building_name_number=declarer.building_name_number,
        road_name=declarer.road_name,
        city=declarer.city,
        country=declarer.country,
        postcode=declarer.postcode,
        covers_from=iso_timestamp(declaration.covers_from),
        covers_to=iso_timestamp_or_none(declaration.covers_to),
        deleted_at=iso_timestamp_or_none(declaration.deleted_at),
    )


def gift_aid_created_response(tx: Tx, declaration: Declaration) -> GiftAidResponse:
    """The response without personal data: that the declaration was created."""
    return GiftAidResponse(
        id=tx.ids.encode("giftaid", declaration.id), created_at=iso_timestamp(declaration.created_at)
    )
