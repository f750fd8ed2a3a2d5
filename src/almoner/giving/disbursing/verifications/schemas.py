"""Monetary donation verifications on the wire (spec 2.10; settled 4)."""

from typing import Annotated, Final

import msgspec
from pydantic import Field

from almoner.giving.disbursing.verifications.domain import (
    CHECKS,
    CheckStatus,
    CheckType,
    MonetaryDonationVerification,
    RejectionReason,
    VerificationFilters,
    VerificationStatus,
)
from almoner.kit.errors import IncorrectParams
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import Maybe, Metadata, MetadataPatch, PageQuery, PatchBody, RequestBody, ResponseRecord


class MonetaryDonationVerificationsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    organisation_id: Annotated[str, IdString("organisation")] | None = None
    status: VerificationStatus | None = Field(None, description="The status at the time of the request.")


def parse_filters(tx: Tx, query: MonetaryDonationVerificationsQuery) -> VerificationFilters:
    """The filters in a query. Raises IncorrectParams for invalid IDs."""
    if query.organisation_id is None:
        return VerificationFilters(None, query.status)
    organisation_id = tx.ids.decode("organisation", query.organisation_id)
    if organisation_id is None:
        raise IncorrectParams("query.organisationId must be the id of an organisation")
    return VerificationFilters(organisation_id, query.status)


class MonetaryDonationVerificationBody(RequestBody):
    """A new verification."""

    organisation_id: Annotated[str, IdString("organisation")]
    metadata: Metadata | None = None


class MonetaryDonationVerificationPatch(PatchBody):
    """Changes to a verification."""

    metadata: Maybe[MetadataPatch | None] = UNSET


class MonetaryDonationVerificationStatusResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The status of the verification, and whether the organisation must act next."""

    type: VerificationStatus
    awaiting_answer_from_organisation: bool


class MonetaryDonationCheckResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One check."""

    type: CheckType
    status: CheckStatus


_WAITING: Final = {"type": "pending", "awaitingAnswerFromOrganisation": True}
_CHECKED: Final = [{"type": check, "status": "succeeded" if check == "registration" else "pending"} for check in CHECKS]
_EXPIRES: Final = "2026-12-21T09:30:00.000Z"


class MonetaryDonationVerificationResponse(ResponseRecord, object_name="monetary_donation_verification"):
    """A monetary donation verification as partners see it."""

    id: str
    organisation_id: str
    status: Annotated[MonetaryDonationVerificationStatusResponse, msgspec.Meta(examples=[_WAITING])]
    checks: Annotated[
        list[MonetaryDonationCheckResponse], msgspec.Meta(description="All four checks.", examples=[_CHECKED])
    ]
    rejection_reason_code: RejectionReason | None
    metadata: dict[str, str] | None
    created_at: str
    updated_at: str
    expires_at: Annotated[
        str | None,
        msgspec.Meta(
            description="When the pending verification expires, in UTC; null once it is decided.", examples=[_EXPIRES]
        ),
    ]
    processed_at: str | None


def verification_response(tx: Tx, verification: MonetaryDonationVerification) -> MonetaryDonationVerificationResponse:
    """The API representation of a verification at the current time, also used in its events."""
    return MonetaryDonationVerificationResponse(
        id=tx.ids.encode("monetarydonationverification", verification.id),
        organisation_id=tx.ids.encode("organisation", verification.organisation_id),
        status=MonetaryDonationVerificationStatusResponse(
            verification.status, verification.awaits_answer_from_organisation
        ),
        checks=[MonetaryDonationCheckResponse(check, verification.checks[check]) for check in CHECKS],
        rejection_reason_code=verification.rejection_reason,
        metadata=None if verification.metadata is None else dict(verification.metadata),
        created_at=iso_timestamp(verification.created_at),
        updated_at=iso_timestamp(verification.updated_at),
        expires_at=iso_timestamp_or_none(verification.expires_at),
        processed_at=iso_timestamp_or_none(verification.processed_at),
    )
