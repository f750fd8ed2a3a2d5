"""Users on the wire (settled 4)."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from almoner.giving.checkout.users.domain import User
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import RequestBody, ResponseRecord


class UserBody(RequestBody):
    """A new user. The body is empty; no personal data is stored."""


class UserOrganisationBody(RequestBody):
    """The default organisation of a user's donations."""

    organisation_id: Annotated[str, IdString("organisation")]


class UserResponse(ResponseRecord, object_name="user"):
    """A user as partners see it."""

    id: str
    organisation_id: str | None
    created_at: str
    deleted_at: str | None


class UserOrganisationResponse(ResponseRecord, object_name="user"):
    """The response to a change of a user's default organisation."""

    user_id: str
    organisation_id: str
    timestamp: str


def user_response(tx: Tx, user: User) -> UserResponse:
    """The response for one user."""
    return UserResponse(
        id=tx.ids.encode("user", user.id),
        organisation_id=tx.ids.encode_or_none("organisation", user.organisation_id),
        created_at=iso_timestamp(user.created_at),
        deleted_at=iso_timestamp_or_none(user.deleted_at),
    )


def default_organisation_response(
    tx: Tx, user_id: UUID, organisation_id: UUID, set_at: datetime
) -> UserOrganisationResponse:
    """The response for a changed default organisation."""
    return UserOrganisationResponse(
        user_id=tx.ids.encode("user", user_id),
        organisation_id=tx.ids.encode("organisation", organisation_id),
        timestamp=iso_timestamp(set_at),
    )
