"""Agent verifications on the wire (spec 2.2 and 4.1; settled 4)."""

from typing import Annotated, Final

import msgspec
from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from almoner.kit import web
from almoner.kit.ids import RecordIdCodec
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.texts import EmailAddress, LanguageTag, TypedEmailText
from almoner.platform.http.wire import (
    ACROSS,
    DayOrMoment,
    Maybe,
    MetadataPatch,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Typed,
    WindowEnd,
    exactly_one_of,
)
from almoner.validation.agents.domain import (
    REASONS,
    AgentFilters,
    AgentRejection,
    AgentStatus,
    AgentVerification,
    AgentVerificationInput,
    RepresentedNonprofit,
)


class AgentVerificationsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    status: AgentStatus | None = Field(None, description="The status at the time of the request.")
    email: TypedEmailText | None = Field(None, max_length=255, description="The agent's full email address.")
    start_date: DayOrMoment | None = Field(None, description="Created at this time or later.")
    end_date: WindowEnd | None = Field(None, description="Created before this time.")


def parse_filters(query: AgentVerificationsQuery) -> AgentFilters:
    """The filters in a query."""
    return AgentFilters(query.status, query.email, query.start_date, query.end_date)


def _website(text: str) -> str:
    if text and not web.is_web_address(text):
        raise ValueError("must be a web address such as https://example.org")
    return text


_ADA: Final[JsonDict] = {
    "organisationId": RecordIdCodec(sandbox=True).example_id("organisation"),
    "firstName": "Ada",
    "lastName": "Example",
    "email": "ada@example.org",
    "title": "Treasurer",
    "language": "fr",
}


def _one_name(last_name: str, info: ValidationInfo) -> str:
    """One name is enough."""
    if not last_name and not info.data.get("first_name", "unknown"):
        raise PydanticCustomError(ACROSS, "must have a firstName or a lastName")
    return last_name


class AgentVerificationBody(RequestBody):
    """A new agent verification: with ``organisationId`` or, if there is none yet, ``validationRequestId``."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ADA]})

    first_name: Annotated[Annotated[str, Field(max_length=255)], Typed] = Field(
        description="First name. Can be empty if there is a last name."
    )
    last_name: Annotated[Annotated[str, Field(max_length=255)], Typed, AfterValidator(_one_name)] = Field(
        description="Last name. Can be empty if there is a first name."
    )
    email: Annotated[EmailAddress, Field(examples=["ada@example.org"])]
    organisation_id: Annotated[str, IdString("organisation")] | None = None
    validation_request_id: Annotated[
        Annotated[str, IdString("validationrequest")] | None, exactly_one_of("organisation_id")
    ] = Field(None, validate_default=True)
    title: Annotated[str, Field(max_length=255), Typed] | None = Field(None, description="Job title.")
    organisation_website: Annotated[str, Field(max_length=255), Typed, AfterValidator(_website)] | None = Field(
        None, description="A web address, with or without scheme.", examples=["www.example.org"]
    )
    language: LanguageTag | None = Field(
        None, description="Language of the emails and pages (RFC 5646). Default: English.", examples=["fr"]
    )

    def to_verification_input(self) -> AgentVerificationInput:
        """Who applies."""
        return AgentVerificationInput(
            self.first_name,
            self.last_name,
            self.email,
            self.title or None,
            self.organisation_id,
            self.validation_request_id,
            self.organisation_website or None,
            self.language,
        )


class AgentVerificationPatch(PatchBody):
    """Changes to an agent verification: only its metadata can change."""

    metadata: Maybe[MetadataPatch | None] = UNSET


class AgentOrganisationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The organisation, with its own email address if its register lists one."""

    id: str
    name: str
    email: str | None


class AgentRequestResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The validation request, if the nonprofit was not an organisation yet."""

    id: str
    name: str


_ORGANISATION: Final = "The organisation; with a validation request, once that is accepted."


class AgentVerificationResponse(ResponseRecord, object_name="agent_verification"):
    """An agent verification as partners see it."""

    id: str
    first_name: str | None
    last_name: str | None
    email: str | None
    title: str | None
    organisation_id: str | None
    organisation: Annotated[AgentOrganisationResponse | None, msgspec.Meta(description=_ORGANISATION)]
    validation_request_id: str | None
    validation_request: AgentRequestResponse | None
    language: str
    status: AgentStatus
    rejection_reason: str | None
    rejection_reason_code: AgentRejection | None
    metadata: dict[str, str] | None
    external_action_required: Annotated[
        bool, msgspec.Meta(description="Whether the applicant or the nonprofit must act next.")
    ]
    created_at: str


def verification_response(tx: Tx, verification: AgentVerification) -> AgentVerificationResponse:
    """The API representation of a verification at the current time, also used in its events."""
    organisation, request = verification.organisation, verification.validation_request
    named = None if organisation is None else _organisation(tx, organisation)
    asked = (
        None if request is None else AgentRequestResponse(tx.ids.encode("validationrequest", request.id), request.name)
    )
    code = verification.rejection_code
    return AgentVerificationResponse(
        id=tx.ids.encode("agentverification", verification.id),
        first_name=verification.first_name,
        last_name=verification.last_name,
        email=verification.email,
        title=verification.title,
        organisation_id=None if named is None else named.id,
        organisation=named,
        validation_request_id=None if asked is None else asked.id,
        validation_request=asked,
        language=verification.language,
        status=verification.status,
        rejection_reason=None if code is None else REASONS[code],
        rejection_reason_code=code,
        metadata=None if verification.metadata is None else dict(verification.metadata),
        external_action_required=verification.external_action_required,
        created_at=iso_timestamp(verification.created_at),
    )


def _organisation(tx: Tx, organisation: RepresentedNonprofit) -> AgentOrganisationResponse:
    return AgentOrganisationResponse(
        tx.ids.encode("organisation", organisation.id), organisation.name, organisation.email
    )
