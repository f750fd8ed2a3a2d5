"""Request schemas of validation submissions (spec 4.7; settled 8)."""

from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from almoner.kit import web
from almoner.kit.errors import IncorrectParams
from almoner.nonprofits.countries.domain import ensure_country_code
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import TEST_SUFFIX, IdString
from almoner.platform.http.texts import EmailAddress, LanguageTag, TypedEmailText
from almoner.platform.http.wire import CountryCode, Metadata, PageQuery, RawText, RequestBody, Text255, Typed
from almoner.validation.applications.configurations.domain import MAX_ANSWER_LENGTHS, MAX_FIELDS
from almoner.validation.applications.submissions import search_text
from almoner.validation.applications.submissions.domain import (
    NonprofitInput,
    SubmissionFilters,
    SubmissionInput,
    SubmissionStatus,
)
from almoner.validation.ongoing.eligibility import service as eligibility

_MOST_VALUES: Final = 100


def _split_values(values: object) -> object:
    """Repeated values, each of which may be several with commas."""
    if not isinstance(values, list):
        return values
    return [part.strip() for value in values for part in str(value).split(",") if part.strip()]


CommaSeparated = BeforeValidator(_split_values)
MaxValues = Field(max_length=_MOST_VALUES)
_Country = Annotated[CountryCode, AfterValidator(ensure_country_code)]


class ValidationSubmissionsQuery(PageQuery):
    """Filters of the list; all given ones must hold, and of each one of its values."""

    status: SubmissionStatus | None = Field(None, description="One more status, in addition to `statuses[]`.")
    statuses: Annotated[list[SubmissionStatus], CommaSeparated, MaxValues] = Field([], alias="statuses[]")
    configuration_ids: Annotated[list[str], CommaSeparated, MaxValues] = Field([], alias="configurationIds[]")
    organisation_ids: Annotated[list[str], CommaSeparated, MaxValues] = Field([], alias="organisationIds[]")
    validation_request_ids: Annotated[list[str], CommaSeparated, MaxValues] = Field([], alias="validationRequestIds[]")
    country_codes: Annotated[list[_Country], CommaSeparated, MaxValues] = Field([], alias="countryCodes[]")
    email: TypedEmailText | None = Field(None, max_length=255, description="The applicant's complete email address.")
    query: str | None = Field(
        None, max_length=500, description="Words, or parts of words, in the name or the registration number."
    )


def parse_filters(tx: Tx, query: ValidationSubmissionsQuery) -> SubmissionFilters:
    """The filters in a query. Raises IncorrectParams for malformed ids."""
    wrong: list[str] = []
    created = SubmissionFilters(
        (*query.statuses, *([query.status] if query.status else [])),
        search_text.parse_id_parameter(
            tx.ids, "configurationIds[]", query.configuration_ids, "hostedconfiguration", wrong
        ),
        search_text.parse_id_parameter(tx.ids, "organisationIds[]", query.organisation_ids, "organisation", wrong),
        search_text.parse_id_parameter(
            tx.ids, "validationRequestIds[]", query.validation_request_ids, "validationrequest", wrong
        ),
        tuple(query.country_codes),
        query.email,
        search_text.parse_search_words(query.query),
    )
    if wrong:
        raise IncorrectParams(*wrong)
    return created


def _website(text: str) -> str:
    if not web.is_web_address(text):
        raise ValueError("must be a web address such as https://example.org")
    return text


_Optional = Annotated[Annotated[str, Field(max_length=255), Typed] | None, AfterValidator(lambda text: text or None)]

_SubTagId = Annotated[str, IdString("activitysubtag", test_values=tuple(eligibility.TEST_VALUES))]
_LARGEST: Final = 2**53 - 1  # what every JSON reader keeps exactly
_Bounds = Field(ge=-_LARGEST, le=_LARGEST)
Answer = Annotated[
    Annotated[str, Field(json_schema_extra={"maxLength": max(MAX_ANSWER_LENGTHS.values())})]
    | Annotated[int, _Bounds]
    | Annotated[float, _Bounds],
    Field(union_mode="left_to_right"),
]

_RED_CROSS: Final[JsonDict] = {
    "organisationName": "American National Red Cross",
    "registryName": "IRS",
    "registryId": "53-0196605",
    "website": "https://www.redcross.org",
    "countryCode": "USA",
    "language": "en",
    "firstName": "Ada",
    "lastName": "Example",
    "email": "ada@redcross.org",
    "metadata": {"campaign": "winter"},
}


class ValidationSubmissionBody(RequestBody):
    """A new application for an organisation, a validation request, or a nonprofit by its registry.

    `firstName`, `lastName` and `email` are required where the configuration verifies the agent.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_RED_CROSS]})

    raw_texts: ClassVar[tuple[str, ...]] = ("organisationName",)

    configuration_id: Annotated[str, IdString("hostedconfiguration")] | None = Field(
        None, description="The submission configuration. Default: your default configuration."
    )
    validation_invite_id: Annotated[str, IdString("validationinvite")] | None = Field(
        None, description="An open invite. It sets the configuration, and becomes `complete`."
    )
    organisation_id: Annotated[str, IdString("organisation", TEST_SUFFIX)] | None = None
    validation_request_id: Annotated[str, IdString("validationrequest", TEST_SUFFIX)] | None = Field(
        None, description="An existing validation request that is pending or accepted."
    )
    organisation_name: Annotated[str, Field(min_length=1, max_length=500), RawText] | None = None
    registry_name: Text255 | None = Field(None, description="Id, code or name of the registry it is registered in.")
    registry_id: Text255 | None = Field(None, description="The registration number, in any format.")
    website: Annotated[Text255, AfterValidator(_website)] | None = None
    country_code: _Country | None = None
    organisation_email: EmailAddress | None = Field(
        None, description="The nonprofit's email address, for the validation request."
    )
    address_line1: _Optional = None
    address_line2: _Optional = None
    city: _Optional = None
    state: _Optional = None
    postal: _Optional = None
    language: LanguageTag | None = Field(
        None,
        description="Language of emails and pages (RFC 5646). With only an organisationId, the default is English.",
    )
    first_name: _Optional = None
    last_name: _Optional = None
    email: EmailAddress | None = None
    title: Annotated[str, Field(max_length=255), Typed] | None = Field(None, description="Job title.")
    suggested_activity_sub_tags: list[_SubTagId] = Field(
        default_factory=list,
        max_length=100,
        description="What you believe the nonprofit does, for the check `eligibility`.",
    )
    metadata: Metadata | None = Field(
        None, description="Your own data. Default: the invite's metadata, which a publishable key cannot override."
    )
    partner_fields: Annotated[dict[str, Answer], Field(max_length=MAX_FIELDS)] | None = Field(
        None,
        description="Answers to the configuration's questions, by their IDs. With an invite, all required "
        "questions must be answered.",
    )
    document_ids: list[Annotated[str, IdString("validationsubmissiondocument")]] = Field(
        default_factory=list, max_length=20, description="Documents that were uploaded for the invite."
    )

    def to_input(self) -> SubmissionInput:
        """Convert to the input of the service."""
        stated = (
            self.organisation_name,
            self.registry_name,
            self.registry_id,
            self.website,
            self.country_code,
            self.organisation_email,
            self.address_line1,
            self.address_line2,
            self.city,
            self.state,
            self.postal,
        )
        return SubmissionInput(
            configuration_id=self.configuration_id,
            validation_invite_id=self.validation_invite_id,
            organisation_id=self.organisation_id,
            validation_request_id=self.validation_request_id,
            details=NonprofitInput(*stated) if any(stated) else None,
            language=self.language,
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            title=self.title or None,
            suggested_activity_sub_tags=tuple(self.suggested_activity_sub_tags),
            metadata=self.metadata,
            partner_fields=self.partner_fields,
            documents=tuple(self.document_ids),
        )
