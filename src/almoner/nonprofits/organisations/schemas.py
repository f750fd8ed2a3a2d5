"""Organisations on the wire (settled 1.1, 4, 8)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from almoner.kit.errors import IncorrectParams
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.categories.domain import Attribute, Category
from almoner.nonprofits.countries.domain import ensure_country_code
from almoner.nonprofits.organisations.domain import (
    ChangeKind,
    DonationMilestone,
    EffectiveBranding,
    Organisation,
    OrganisationChange,
    OrganisationSource,
    OrganisationType,
)
from almoner.nonprofits.organisations.filters import AnyOf, OrganisationFilters
from almoner.nonprofits.organisations.ranking import FoundBy, RankedResult
from almoner.nonprofits.organisations.sub_tags import ActivitySubTagResponse, sub_tags_response
from almoner.platform.database.transactions import Tx
from almoner.platform.files import media
from almoner.platform.http.wire import CountryCode, DayOrMoment, PageQuery, Query, ResponseRecord

_PAGE_DIGITS = 6
_MAX_ALTERNATIVES = 100


def _page_number(value: object) -> object:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and value.strip("0")):
            raise ValueError("must be a positive integer")
        return int(value) if len(value) <= _PAGE_DIGITS else 10**_PAGE_DIGITS
    return value


def _split_alternatives(values: object) -> object:
    """Repeated values, each a comma-separated list of alternatives."""
    if isinstance(values, list):
        return [[part.strip() for part in str(value).split(",") if part.strip()] for value in values]
    return values


def _split_flat(values: object) -> object:
    split = _split_alternatives(values)
    return [part for group in split for part in group] if isinstance(split, list) else split


PageNumber = Annotated[int, Field(ge=1), BeforeValidator(_page_number)]
AlternativesFilter = Annotated[
    list[list[str]],
    BeforeValidator(_split_alternatives),
    Field(max_length=20),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "maxItems": 20}),
]


class OrganisationsQuery(PageQuery):
    """The filters of organisation search."""

    query: str | None = Field(None, max_length=500, description="Words of the name or description, or a number.")
    page: PageNumber | None = Field(
        None, description="A numbered page instead of a cursor, within the first 1,000 results."
    )
    country_code: Annotated[CountryCode, AfterValidator(ensure_country_code)] | None = None
    registry_id: str | None = Field(
        None,
        max_length=100,
        description="The registration number, in any format.",
        json_schema_extra={"also": "registryID"},
    )
    registry_name: str | None = Field(None, max_length=255, description="A registry's name, code or ID.")
    category: AlternativesFilter = Field(
        [],
        alias="category[]",
        description="Only organisations in this category. Repeat it for several categories, or separate "
        "alternatives with commas.",
    )
    not_category: AlternativesFilter = Field(
        [], alias="notCategory[]", description="Only organisations in none of these categories."
    )
    tags: AlternativesFilter = Field(
        [],
        alias="tags[]",
        description="Only organisations with this activity tag or sub-tag. Combine values as in `category[]`.",
    )
    not_tags: AlternativesFilter = Field(
        [], alias="notTags[]", description="Only organisations with none of these activity tags or sub-tags."
    )
    type: Annotated[list[OrganisationType], Field(max_length=20), BeforeValidator(_split_flat)] = Field(
        [], alias="type[]", description="Only organisations with one of these types."
    )
    usa_group_exempt: bool | None = Field(
        None, description="Whether the organisation is exempt as a subordinate of a group ruling."
    )
    active: bool | None = Field(None, description="Whether the register lists the organisation as active.")
    accepts_donations: bool | None = Field(None, description="Whether the organisation can receive donations.")


class OrganisationQuery(Query):
    """Which state of an organisation is asked for."""

    as_of: DayOrMoment | None = Field(None, description="The record as of this date.")


def parse_filters(tx: Tx, query: OrganisationsQuery) -> OrganisationFilters:
    """The filters that name no registry. Raises IncorrectParams for malformed ids."""
    reasons: list[str] = []

    def ids(name: str, groups: list[list[str]], *types: str) -> tuple[AnyOf, ...]:
        found = []
        for group in groups:
            parsed = [next((id_ for type_ in types if (id_ := tx.ids.decode(type_, text))), None) for text in group]
            if None in parsed or not parsed or len(parsed) > _MAX_ALTERNATIVES:
                reasons.append(f"query.{name} must hold ids of type {' or '.join(types)}, at most {_MAX_ALTERNATIVES}")
            found.append(tuple(id_ for id_ in parsed if id_))
        return tuple(found)

    created = OrganisationFilters(
        country_code=query.country_code,
        types=tuple(query.type),
        categories=ids("category[]", query.category, "category"),
        not_categories=sum(ids("notCategory[]", query.not_category, "category"), ()),
        tags=ids("tags[]", query.tags, "activitytag", "activitysubtag"),
        not_tags=sum(ids("notTags[]", query.not_tags, "activitytag", "activitysubtag"), ()),
        usa_group_exempt=query.usa_group_exempt,
        active=query.active,
        accepts_donations=query.accepts_donations,
    )
    if query.page is not None and query.cursor is not None:
        reasons.append("query.page and query.cursor exclude each other")
    if reasons:
        raise IncorrectParams(*reasons)
    return created


class OrganisationCategoryResponse(ResponseRecord):
    """A category of the calling partner that the organisation is in."""

    id: str
    name: str
    attributes: dict[str, Attribute] | None
    image_url: str | None
    created_at: str


class CountrySpecificPropertiesResponse(ResponseRecord):
    """Details that only the registers of one country have."""

    usa_group_exempt: bool | None


class OrganisationSourceResponse(ResponseRecord):
    """A published list that contains the organisation."""

    registry_name: str
    registry_id: str
    data_as_of: Annotated[str | None, msgspec.Meta(description="The day of its data.")]
    source: Annotated[str | None, msgspec.Meta(description="The published list, such as `irs-bmf`.")]
    unverified: Annotated[
        bool,
        msgspec.Meta(
            description="Whether its reader has never been tested on a real file. No request is decided by such a "
            "source alone."
        ),
    ]
    stale: Annotated[bool, msgspec.Meta(description="Whether its data is older than its maximum age.")]


class MatchExplanationResponse(ResponseRecord):
    """Why an organisation is among the results, with the header `Explain: true`."""

    found_by: FoundBy | Literal["filters"]
    likeness: int | None
    as_typed: bool | None
    not_as_typed: Annotated[
        list[str] | None,
        msgspec.Meta(
            description="Words of the query that it contains differently, only in its description, or not at all."
        ),
    ]


InactiveReason = Literal["removed", "revoked", "terminated", "merged", "reregistered"]


class OrganisationResponse(ResponseRecord, object_name="organisation"):
    """An organisation as partners see it."""

    id: str
    name: str
    display_name: str | None
    description: str
    country_code: str
    registry: str
    registry_name: str
    registry_id: str
    types: list[OrganisationType]
    active: bool
    accepts_donations: Annotated[
        bool,
        msgspec.Meta(
            description="Whether it can receive donations: it is active, and one of its types is `nonprofit`."
        ),
    ]
    inactive_reason: Annotated[
        InactiveReason | None, msgspec.Meta(description="Why it is not active; null while it is.")
    ]
    succeeded_by: Annotated[str | None, msgspec.Meta(description="The successor after a merger or a new registration.")]
    categories: list[OrganisationCategoryResponse]
    activity_sub_tags: list[ActivitySubTagResponse]
    logo: str | None
    images: list[str]
    website: str | None
    websites: list[str]
    address: str | None
    address_line_1: str | None
    address_line_2: str | None
    city: str | None
    state: str | None
    postcode: str | None
    registration_date: str | None
    currency_code: str | None
    claimed_at: str | None
    is_branch_parent: bool
    branch_of: str | None
    country_specific_properties: CountrySpecificPropertiesResponse
    sources: list[OrganisationSourceResponse]
    created_at: str
    updated_at: str
    explain: MatchExplanationResponse | msgspec.UnsetType = msgspec.UNSET


class SearchResponse(msgspec.Struct, rename="camel"):
    """What an answer of the search says beside its results."""

    exhaustive_total_results: Annotated[
        bool, msgspec.Meta(description="False if there are more than 10,000 results, and counting stopped there.")
    ]
    similar_results_only: Annotated[
        bool,
        msgspec.Meta(
            description="True if no result contains the words of `query` as typed, so that these are similar names."
        ),
    ]
    leading_zeros_added: Annotated[
        bool,
        msgspec.Meta(
            description="True if no organisation has the number in `query`, but these have it with leading zeros."
        ),
    ]
    page_number: Annotated[
        int | None, msgspec.Meta(description="With `page`: its number; `_links` then has `first` and `last` too.")
    ] = None


class OrganisationChangeResponse(ResponseRecord, object_name="organisation_change"):
    """A changed field of the record, with the day of the data."""

    at: str
    kind: Annotated[ChangeKind, msgspec.Meta(description="What happened.")]
    field: str
    before: Annotated[Any, msgspec.Meta(description="The value until then.")] = msgspec.field(name="from")
    after: Annotated[Any, msgspec.Meta(description="The value from then on.")] = msgspec.field(name="to")
    source: str = msgspec.field()


_CHANGED = {
    "usa_group_exempt": "countrySpecificProperties.usaGroupExempt",
    "status_override": "inactiveReason",
    "activities": "activitySubTags",
}
_OTHERS = frozenset({"branch_of", "succeeded_by", "same_as"})


class OrganisationProfileResponse(ResponseRecord, object_name="organisation"):
    """The public information about an organisation."""

    id: str
    name: str
    display_name: str | None
    description: str
    logo: str | None


class OrganisationBrandingResponse(ResponseRecord, object_name="organisation_branding"):
    """How an organisation is shown."""

    organisation_id: str
    display_name: str
    description: str
    logo: str | None
    images: list[str]
    primary_color: str | None


class MilestoneResponse(ResponseRecord, object_name="milestone"):
    """A goal that a nonprofit publishes."""

    id: str
    amount: int
    reward: str
    currency_code: str
    organisation_id: str


def organisation_response(tx: Tx, organisation: Organisation, categories: list[Category]) -> OrganisationResponse:
    """The response for one organisation, with the caller's categories that contain it."""
    return OrganisationResponse(
        id=tx.ids.encode("organisation", organisation.id),
        name=organisation.name,
        display_name=organisation.display_name,
        description=organisation.description,
        country_code=organisation.country_code,
        registry=tx.ids.encode("registry", organisation.registry_id),
        registry_name=organisation.registry_name,
        registry_id=organisation.registry_number,
        types=list(organisation.types),
        active=organisation.active,
        accepts_donations=organisation.accepts_donations,
        inactive_reason=cast("InactiveReason | None", organisation.inactive_reason),
        succeeded_by=tx.ids.encode_or_none("organisation", organisation.succeeded_by),
        categories=[_category_response(tx, category) for category in categories],
        activity_sub_tags=sub_tags_response(tx, organisation.activities),
        logo=media.media_url(tx.deployment.base_urls, organisation.logo),
        images=_addresses(tx, organisation.images),
        website=organisation.websites[0] if organisation.websites else None,
        websites=list(organisation.websites),
        address=organisation.address,
        address_line_1=organisation.address_line_1,
        address_line_2=organisation.address_line_2,
        city=organisation.city,
        state=organisation.state,
        postcode=organisation.postcode,
        registration_date=iso_timestamp_or_none(organisation.registration_date),
        currency_code=organisation.currency,
        claimed_at=iso_timestamp_or_none(organisation.claimed_at),
        is_branch_parent=organisation.is_branch_parent,
        branch_of=tx.ids.encode_or_none("organisation", organisation.branch_of),
        country_specific_properties=CountrySpecificPropertiesResponse(organisation.usa_group_exempt),
        sources=[_source_response(tx, source) for source in organisation.sources],
        created_at=iso_timestamp(organisation.created_at),
        updated_at=iso_timestamp(organisation.updated_at),
    )


def _source_response(tx: Tx, source: OrganisationSource) -> OrganisationSourceResponse:
    return OrganisationSourceResponse(
        source.registry_name,
        source.registry_number,
        iso_timestamp_or_none(source.data_as_of),
        source.source_code,
        source.is_format_unverified,
        source.is_stale(tx.now, tx.deployment.max_data_age),
    )


def with_match_explanation(response: OrganisationResponse, ranked_result: RankedResult | None) -> OrganisationResponse:
    """The record with how it was found: by what, 0 to 100 how like the query, and whether no word was repaired."""
    why = (
        MatchExplanationResponse(
            ranked_result.found_by,
            round(ranked_result.similarity),
            ranked_result.has_all_words_as_typed,
            list(ranked_result.words_not_as_typed),
        )
        if ranked_result
        else MatchExplanationResponse("filters", None, None, None)
    )
    return msgspec.structs.replace(response, explain=why)


def _category_response(tx: Tx, category: Category) -> OrganisationCategoryResponse:
    return OrganisationCategoryResponse(
        id=tx.ids.encode("category", category.id),
        name=category.name,
        attributes=None if category.attributes is None else dict(category.attributes),
        image_url=media.media_url(tx.base_urls, category.image_key),
        created_at=iso_timestamp(category.created_at),
    )


def organisation_change_response(tx: Tx, change: OrganisationChange) -> OrganisationChangeResponse:
    """The response for one change."""
    before, after = (_render_value(tx, change.field, value) for value in (change.before, change.after))
    return OrganisationChangeResponse(
        iso_timestamp(change.at),
        change.kind,
        _CHANGED.get(change.field, to_camel(change.field)),
        before,
        after,
        change.source,
    )


def _render_value(tx: Tx, field: str, value: object) -> object:
    if field == "activities":
        return msgspec.to_builtins(sub_tags_response(tx, value)) if isinstance(value, dict) else []
    if not isinstance(value, str):
        return value
    if field == "registration_date":
        return iso_timestamp(datetime.fromisoformat(value))
    return tx.ids.encode("organisation", UUID(value)) if field in _OTHERS else value


def organisation_profile_response(tx: Tx, organisation: Organisation) -> OrganisationProfileResponse:
    """The public profile."""
    return OrganisationProfileResponse(
        tx.ids.encode("organisation", organisation.id),
        organisation.name,
        organisation.display_name,
        organisation.description,
        media.media_url(tx.deployment.base_urls, organisation.logo),
    )


def organisation_branding_response(tx: Tx, branding: EffectiveBranding) -> OrganisationBrandingResponse:
    """The response for one branding."""
    return OrganisationBrandingResponse(
        organisation_id=tx.ids.encode("organisation", branding.organisation_id),
        display_name=branding.display_name,
        description=branding.description,
        logo=media.media_url(tx.deployment.base_urls, branding.logo),
        images=_addresses(tx, branding.images),
        primary_color=branding.primary_color,
    )


def _addresses(tx: Tx, images: Sequence[str]) -> list[str]:
    return [address for key in images if (address := media.media_url(tx.deployment.base_urls, key))]


def donation_milestone_response(tx: Tx, donation_milestone: DonationMilestone) -> MilestoneResponse:
    """The response for one milestone."""
    return MilestoneResponse(
        id=tx.ids.encode("milestone", donation_milestone.id),
        amount=donation_milestone.goal_amount_minor,
        reward=donation_milestone.reward,
        currency_code=donation_milestone.currency,
        organisation_id=tx.ids.encode("organisation", donation_milestone.organisation_id),
    )
