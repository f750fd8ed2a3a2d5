"""Endpoints of Gift Aid declarations (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.gift_aid.declarations import service
from almoner.giving.gift_aid.declarations.domain import PartnerUserNotFound
from almoner.giving.gift_aid.declarations.schemas import (
    GiftAidBody,
    GiftAidResponse,
    HasGiftAidResponse,
    gift_aid_created_response,
    gift_aid_response,
)
from almoner.platform.http.caller import PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId

UserId = Annotated[UUID, PathId("user")]

routes = Routes("Gift aid")


@routes.post("/v1/gift-aid", key=PUBLISHABLE, scope="gift_aid:write", errors=(PartnerUserNotFound,))
async def create_gift_aid(call: ApiCall, body: GiftAidBody) -> GiftAidResponse:
    """Create a Gift Aid declaration.

    The declaration covers donations from now on and from the past four years, unless you set another period. With a
    publishable key, the response contains only `id` and `createdAt`.
    """
    trusted = call.caller.kind is SECRET
    created = await service.create_declaration(
        call.tx,
        call.partner,
        body.declarer,
        user_id=body.user_id,
        covers_from=body.covers_from,
        covers_to=body.covers_to,
        uses_secret_api_key=trusted,
    )
    return gift_aid_response(call.tx, created) if trusted else gift_aid_created_response(call.tx, created)


@routes.get("/v1/users/{id}/has-gift-aid", key=SECRET, scope="users:read")
async def has_gift_aid(call: ApiCall, id: UserId) -> HasGiftAidResponse:
    """Retrieve the ID of a user's newest Gift Aid declaration; 404 if there is none."""
    return HasGiftAidResponse(
        id=call.tx.ids.encode("giftaid", await service.get_newest_declaration_id_of_user(call.tx, call.partner, id))
    )
