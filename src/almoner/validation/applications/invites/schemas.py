"""Validation invites on the wire (spec 2.6, 4.6; settled 4)."""

from typing import Annotated

import msgspec
from pydantic import Field

from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.texts import BrowserAddress, LanguageTag
from almoner.platform.http.wire import Metadata, PageQuery, RequestBody, ResponseRecord
from almoner.platform.outbound import addresses
from almoner.validation.applications.invites.domain import LANGUAGE, PAGE, Invite, InviteStatus


class ValidationInvitesQuery(PageQuery):
    """Validation invites have no filters."""


class ValidationInviteBody(RequestBody):
    """A new invite."""

    redirect_url: (
        Annotated[
            BrowserAddress,
            Field(
                max_length=addresses.MAX_LENGTH,
                description="Where the applicant is redirected after the form, with the query parameter "
                "`validationSubmissionId`; https. Default: the application's status page.",
                examples=["https://app.example/applied"],
            ),
        ]
        | None
    ) = None
    metadata: Metadata | None = None
    language: Annotated[
        LanguageTag,
        Field(
            description="Language of the page (RFC 5646). If it is not available, the nearest one is used, or else "
            "English. The applicant can choose another language.",
            examples=["en-GB"],
        ),
    ] = LANGUAGE
    hosted_config_id: (
        Annotated[
            str,
            IdString("hostedconfiguration"),
            Field(description="The submission configuration. Default: your default configuration."),
        ]
        | None
    ) = None


class ValidationInviteResponse(ResponseRecord, object_name="validation_invite"):
    """An invite as partners see it. Send the applicant to `url`."""

    id: str
    status: InviteStatus
    hosted_config_id: str | None
    redirect_url: str | None
    language: str
    url: Annotated[
        str,
        msgspec.Meta(
            description="The hosted form.", examples=["https://give.example.org/apply?token=AZDyxFoufMOaSx0uP0BRYg"]
        ),
    ]
    metadata: dict[str, str] | None
    created_at: str
    expires_at: str


def invite_response(tx: Tx, invite: Invite) -> ValidationInviteResponse:
    """The response for one invite, with its status at the time of reading."""
    return ValidationInviteResponse(
        id=tx.ids.encode("validationinvite", invite.id),
        status=invite.status_at(tx.now),
        hosted_config_id=tx.ids.encode_or_none("hostedconfiguration", invite.configuration_id),
        redirect_url=invite.redirect_url,
        language=invite.language,
        url=f"{tx.base_urls.pages}/{PAGE}?token={tx.vault.create_page_token(PAGE, invite.id)}",
        metadata=None if invite.metadata is None else dict(invite.metadata),
        created_at=iso_timestamp(invite.created_at),
        expires_at=iso_timestamp(invite.expires_at),
    )
