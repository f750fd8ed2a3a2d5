"""The sandbox's tools on the wire (settled 9)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.config import JsonDict

from almoner.giving.accounting.reassignments.domain import ReassignmentGround
from almoner.giving.checkout.sessions.domain import DonationFrequency
from almoner.giving.disbursing.verifications.domain import REJECTION_REASONS as VERIFICATION_REASONS
from almoner.giving.disbursing.verifications.domain import CheckType
from almoner.giving.disbursing.verifications.domain import RejectionReason as VerificationReason
from almoner.kit import money
from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import iso_timestamp
from almoner.platform.deployment import Deployment
from almoner.platform.http.ids import SUCH_AS_KEYWORD, IdString
from almoner.platform.http.texts import EmailAddress
from almoner.platform.http.wire import (
    CurrencyCode,
    Moment,
    PageQuery,
    RequestBody,
    ResponseRecord,
    Typed,
    YesNo,
)
from almoner.sandbox.clock import MAX_ADVANCE, ClockReading
from almoner.sandbox.mailbox import attachment_url
from almoner.sandbox.store import SandboxMail
from almoner.validation.agents.domain import REJECTIONS as AGENT_REASONS
from almoner.validation.agents.domain import AgentRejection
from almoner.validation.requests.domain import REJECTION_REASONS as REQUEST_REASONS
from almoner.validation.requests.domain import RejectionReason as RequestReason

_FURTHEST_SECONDS: Final = int(MAX_ADVANCE.total_seconds())


class SandboxClockResponse(ResponseRecord, object_name="sandbox_clock"):
    """The sandbox's clock. ``remaining``: work that is due by now and not done yet."""

    now: str
    offset_seconds: int
    remaining: int


def clock_response(reading: ClockReading) -> SandboxClockResponse:
    """The response with the clock."""
    return SandboxClockResponse(
        now=iso_timestamp(reading.now),
        offset_seconds=round(reading.offset.total_seconds()),
        remaining=reading.outstanding_work_count,
    )


class ClockBody(RequestBody):
    """How to move the clock: set one of the two."""

    advance_to: Moment | None = Field(None, description="A future time.")
    advance_seconds: int | None = Field(
        None, ge=0, le=_FURTHEST_SECONDS, description="0 only runs what is due now.", examples=[3600]
    )

    @model_validator(mode="after")
    def _one(self) -> "ClockBody":
        if (self.advance_to is None) == (self.advance_seconds is None):
            raise ValueError("must have either advanceTo or advanceSeconds")
        return self


_GIFT: Final[JsonDict] = {
    "id": RecordIdCodec(sandbox=True).example_id("donationsession"),
    "action": "donate",
    "amount": 2500,
    "currencyCode": "USD",
    "firstName": "Ada",
    "lastName": "Example",
    "email": "ada@example.org",
}


_Name = Annotated[str, Field(max_length=255), Typed]
"""As the hosted page takes it: trimmed, without control characters."""


_REASONS: Final[Mapping[str, Sequence[str]]] = {
    "validationrequest": REQUEST_REASONS,
    "agentverification": AGENT_REASONS,
    "monetarydonationverification": VERIFICATION_REASONS,
}


def _check_reason(value: object, info: ValidationInfo) -> object:
    """Refuse a reason code that the given record cannot have, listing the possible ones."""
    record = str(info.data.get("id", ""))
    codes = next((codes for kind, codes in _REASONS.items() if f"{kind}_" in record), None)
    if codes is not None and value not in codes:
        raise ValueError(f"must be one of {', '.join(codes)} for this record")
    return value


class SimulateBody(RequestBody):
    """A simulated action on a record."""

    model_config = ConfigDict(json_schema_extra={"examples": [_GIFT]})

    id: Annotated[
        str, Field(max_length=100, description="The record.", json_schema_extra={SUCH_AS_KEYWORD: "donationsession"})
    ]
    action: Literal[
        "donate",
        "pay",
        "request",
        "settle",
        "disburse",
        "return",
        "release",
        "reassign",
        "refund",
        "dispute",
        "accept",
        "confirm_email",
        "approve",
        "reject",
        "expire",
        "reopen",
        "succeed_check",
        "fail_check",
        "set_results",
        "uphold",
        "reverse",
        "fail_next",
        "expire_card",
        "renew_card",
        "fail",
        "suspend",
        "update",
    ]
    amount: Annotated[int, Field(ge=1, le=money.MAX_MINOR, examples=[2500])] | None = None
    currency_code: CurrencyCode | None = None
    first_name: _Name | None = None
    last_name: _Name | None = None
    email: EmailAddress | None = None
    anonymous: YesNo = "no"
    consented_to_be_contacted_by_org: YesNo = "no"
    card: Annotated[str, Field(pattern=r"^[0-9 ]{12,25}$", examples=["4242 4242 4242 4242"])] = "4242424242424242"
    way: Literal["card", "transfer"] = Field(
        "card",
        description="How a donation is paid: `transfer` is confirmed at once, and its money arrives with "
        "the action `pay`.",
    )
    frequency: DonationFrequency | None = Field(
        None,
        description="One of the session's `frequencies`. Default: the first one.",
    )
    designation: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="One of the session's `designations`. Default: the first one."
    )
    dedication: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="A dedication, in sessions with `offersDedication`.",
        examples=["Grace Hopper"],
    )
    decline_code: Literal[
        "card_declined",
        "insufficient_funds",
        "lost_card",
        "authentication_required",
        "expired_card",
        "revocation_of_authorization",
    ] = Field("insufficient_funds", description="Why the bank declines the next charge (`fail_next`).")
    organisation_id: Annotated[str, IdString("organisation")] | None = Field(
        None, description="The organisation that a donation is reassigned to."
    )
    ground: ReassignmentGround = Field(
        "payment_impossible", description="The reason for the reassignment, which the donor sees."
    )
    type: CheckType | None = Field(None, description="The check to end.")
    rejection_reason_code: (
        Annotated[Literal[VerificationReason, RequestReason, AgentRejection], BeforeValidator(_check_reason)] | None
    ) = Field(None, description="One of the rejection codes of the record. Default: `other`.")
    outcome: Literal["won", "lost"] | None = Field(
        None, description="Who keeps a disputed donation: `won` leaves it with us, `lost` gives it back to the donor."
    )
    results: dict[str, Any] | None = Field(
        None,
        description="The results of a subscription, as its record shows them.",
        examples=[{"eligibilityStatus": "pass"}],
    )


class MailboxQuery(PageQuery):
    """Filters of the mailbox."""

    to: str | None = Field(None, max_length=255, description="The recipient's complete email address.")
    subject: str | None = Field(None, max_length=255, description="Text that the subject contains.")


class SandboxAttachmentResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A file attached to an email. ``size`` in bytes; ``url`` downloads it without a key."""

    name: str
    media_type: str
    size: int
    url: str


class SandboxMailResponse(ResponseRecord, object_name="sandbox_mail"):
    """An email that the sandbox would have sent."""

    sender: str = msgspec.field(name="from")
    to: str
    subject: str
    text: str
    html: str
    links: list[str]
    attachments: list[SandboxAttachmentResponse]
    created_at: str


def mail_response(deployment: Deployment, mail: SandboxMail) -> SandboxMailResponse:
    """The response for one email."""
    return SandboxMailResponse(
        sender=mail.sender,
        to=mail.recipient,
        subject=mail.subject,
        text=mail.text,
        html=mail.html,
        links=list(mail.links),
        attachments=[
            SandboxAttachmentResponse(
                file.name, file.media_type, file.size, attachment_url(deployment, mail.id, file.name)
            )
            for file in mail.attachments
        ],
        created_at=iso_timestamp(mail.created_at),
    )
