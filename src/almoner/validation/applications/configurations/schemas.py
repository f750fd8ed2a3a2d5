"""Submission configurations on the wire (settled 4 and 8)."""

from typing import Annotated, Any, Final

import msgspec
from pydantic import AfterValidator, Field

from almoner.kit.patch import UNSET, UnsetType
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.activities.domain import SUB_TAGS, sub_tags_in_file_order
from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.platform.database.transactions import Tx
from almoner.platform.files import media
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import (
    Maybe,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Text255,
    UnpagedQuery,
    ensure_unique,
)
from almoner.screening.watchlists.domain import Category
from almoner.validation.applications.configurations.domain import (
    CHECKS,
    COMPLIANCE_FLAGS,
    MAX_CHOICES,
    MAX_FIELDS,
    MAX_LABEL_LENGTH,
    ORGANISATION_TYPES,
    Check,
    Configuration,
    FieldChoice,
    FieldKind,
    PartnerField,
)
from almoner.validation.applications.configurations.service import ConfigurationInput

_MOST_TAGS: Final = 300
_LABELS: Final = {"en": "Where do you use our product?"}


_Once = AfterValidator(ensure_unique)
Labels = Annotated[
    dict[str, Annotated[str, Field(json_schema_extra={"maxLength": MAX_LABEL_LENGTH})]],
    Field(max_length=50, description="By language tag: at least one, of up to 300 characters.", examples=[_LABELS]),
]
Checks = Annotated[list[Check], Field(min_length=1, max_length=4), _Once]
Types = Annotated[list[OrganisationType], Field(min_length=1, max_length=3), _Once]
Flags = Annotated[list[Category], Field(max_length=6), _Once]
SubTags = Annotated[
    list[Annotated[str, IdString("activitysubtag")]],
    Field(
        min_length=1,
        max_length=_MOST_TAGS,
        description="Allowed activities: IDs of sub-tags from GET /v1/activity-tags; null allows all.",
    ),
    _Once,
]
Colour = Annotated[
    str,
    Field(
        pattern=r"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$",
        examples=["#0d5c4a"],
        description="Pages darken or lighten the colour until text is legible.",
    ),
]


class PartnerFieldChoiceBody(RequestBody):
    """One choice of a question."""

    value: Text255
    labels: Labels


class PartnerFieldBody(RequestBody):
    """A question of your own in the hosted form."""

    id: Annotated[str, Field(min_length=1, max_length=40, examples=["use"])]
    type: FieldKind
    required: bool = False
    labels: Labels
    choices: list[PartnerFieldChoiceBody] = Field(
        default_factory=list, max_length=MAX_CHOICES, description="Of type `choice`: 2 to 50."
    )

    def to_field(self) -> PartnerField:
        """The question."""
        choices = tuple(FieldChoice(choice.value, choice.labels) for choice in self.choices)
        return PartnerField(self.id, self.type, self.required, self.labels, choices)


PartnerFields = Annotated[list[PartnerFieldBody], Field(max_length=MAX_FIELDS)]


class BrandingBody(PatchBody):
    """How the hosted form looks."""

    display_name: Maybe[Text255 | None] = UNSET
    primary_color: Maybe[Colour | None] = UNSET


class ValidationSubmissionConfigurationBody(RequestBody):
    """A new configuration. Defaults are those of a partner's first configuration, with all four checks."""

    name: Text255 | None = None
    branding: BrandingBody | None = None
    is_default: bool = Field(False, description="Whether this configuration replaces the current default.")
    checks: Checks = Field(default_factory=lambda: list(CHECKS))
    allowed_organisation_types: Types = Field(default_factory=lambda: list(ORGANISATION_TYPES))
    compliance_flags: Flags = Field(default_factory=lambda: list(COMPLIANCE_FLAGS))
    allowed_activity_sub_tags: SubTags | None = None
    email_verification: bool = True
    partner_fields: PartnerFields = Field(default_factory=list)

    def to_input(self) -> ConfigurationInput:
        """Convert to the input of the service."""
        return ConfigurationInput(
            name=self.name,
            is_default=self.is_default or UNSET,
            checks=self.checks,
            allowed_organisation_types=self.allowed_organisation_types,
            compliance_flags=self.compliance_flags,
            allowed_activity_sub_tags=self.allowed_activity_sub_tags,
            email_verification=self.email_verification,
            partner_fields=[field.to_field() for field in self.partner_fields],
            **_branding(self.branding),
        )


class ValidationSubmissionConfigurationPatch(PatchBody):
    """Changes to a configuration. Lists and questions are replaced; branding is merged."""

    name: Maybe[Text255 | None] = UNSET
    branding: Maybe[BrandingBody] = UNSET
    is_default: Maybe[bool] = UNSET
    checks: Maybe[Checks] = UNSET
    allowed_organisation_types: Maybe[Types] = UNSET
    compliance_flags: Maybe[Flags] = UNSET
    allowed_activity_sub_tags: Maybe[SubTags | None] = UNSET
    email_verification: Maybe[bool] = UNSET
    partner_fields: Maybe[PartnerFields] = UNSET

    def to_input(self) -> ConfigurationInput:
        """Convert to the input of the service."""
        fields = self.partner_fields
        return ConfigurationInput(
            name=self.name,
            is_default=self.is_default,
            checks=self.checks,
            allowed_organisation_types=self.allowed_organisation_types,
            compliance_flags=self.compliance_flags,
            allowed_activity_sub_tags=self.allowed_activity_sub_tags,
            email_verification=self.email_verification,
            partner_fields=UNSET if fields is UNSET else [field.to_field() for field in fields],
            **_branding(self.branding),
        )


def _branding(stated: BrandingBody | UnsetType | None) -> dict[str, Any]:
    if stated is None or stated is UNSET:
        return {}
    return {"display_name": stated.display_name, "primary_color": stated.primary_color}


class ValidationSubmissionConfigurationsQuery(UnpagedQuery):
    """Configurations have no filters."""


class BrandingResponse(msgspec.Struct, frozen=True, rename="camel"):
    """How the hosted form looks."""

    display_name: str
    logo: Annotated[str | None, msgspec.Meta(description="Address of an image.")]
    primary_color: str | None


class PartnerFieldChoiceResponse(msgspec.Struct, frozen=True, rename="camel"):
    """One choice of a question."""

    value: str
    labels: dict[str, str]


class PartnerFieldResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A question of the hosted form."""

    id: str
    type: FieldKind
    required: bool
    labels: dict[str, str]
    choices: list[PartnerFieldChoiceResponse]


class ValidationSubmissionConfigurationResponse(ResponseRecord, object_name="validation_submission_configuration"):
    """A submission configuration as partners see it."""

    id: str
    name: str | None
    branding: BrandingResponse
    is_default: bool
    checks: list[Check]
    allowed_organisation_types: list[OrganisationType]
    compliance_flags: Annotated[
        list[Category], msgspec.Meta(description="Watchlist categories whose flags make the check `compliance` fail.")
    ]
    allowed_activity_sub_tags: Annotated[
        list[str] | None, msgspec.Meta(description="The allowed activities; null allows all.")
    ]
    email_verification: bool
    partner_fields: list[PartnerFieldResponse]
    created_at: str
    updated_at: str


def configuration_response(tx: Tx, configuration: Configuration) -> ValidationSubmissionConfigurationResponse:
    """The response for one configuration."""
    codes = configuration.allowed_activity_sub_tags
    return ValidationSubmissionConfigurationResponse(
        id=tx.ids.encode("hostedconfiguration", configuration.id),
        name=configuration.name,
        branding=BrandingResponse(
            configuration.display_name, media.media_url(tx.base_urls, configuration.logo), configuration.primary_color
        ),
        is_default=configuration.is_default,
        checks=list(configuration.checks),
        allowed_organisation_types=list(configuration.allowed_organisation_types),
        compliance_flags=list(configuration.compliance_flags),
        allowed_activity_sub_tags=None
        if codes is None
        else [
            tx.ids.encode("activitysubtag", sub.id)
            for sub in sub_tags_in_file_order(code for code in codes if code in SUB_TAGS)
        ],
        email_verification=configuration.email_verification,
        partner_fields=[_field_response(field) for field in configuration.partner_fields],
        created_at=iso_timestamp(configuration.created_at),
        updated_at=iso_timestamp(configuration.updated_at),
    )


def _field_response(field: PartnerField) -> PartnerFieldResponse:
    choices = [PartnerFieldChoiceResponse(choice.value, dict(choice.labels)) for choice in field.choices]
    return PartnerFieldResponse(field.id, field.kind, field.required, dict(field.labels), choices)
