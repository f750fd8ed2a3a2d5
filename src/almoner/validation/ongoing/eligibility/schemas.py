"""Eligibility subscriptions on the wire (spec 2.5, 4.5; settled 4 and 8)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, cast
from uuid import UUID

import msgspec
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from almoner.kit.evidence import Evaluation
from almoner.kit.ids import RecordIdCodec
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS, VERSION, SubTag, sub_tags_in_file_order
from almoner.nonprofits.organisations.domain import extract_search_terms
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import (
    DayOrMoment,
    Maybe,
    Metadata,
    MetadataPatch,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    WindowEnd,
    exactly_one_of,
)
from almoner.validation.ongoing.eligibility import test_values
from almoner.validation.ongoing.eligibility.domain import (
    FINDINGS,
    EligibilityFilters,
    EligibilityStatus,
    EligibilitySubscription,
    EligibilitySubscriptionInput,
    FindingVerdict,
    Occasion,
    Sort,
    SubscriptionStatus,
)

_AT_MOST: Final = 100
_NEVER: Final = "?"
"""In no searched text: what a query without any word finds."""


class EligibilitySubscriptionsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    status: SubscriptionStatus | None = None
    has_organisation: bool | None = Field(None, description="Whether the organisation is known yet.")
    query: str | None = Field(None, max_length=500, description="Words, or parts of words, in the nonprofit's name.")
    sort: Sort = Field("id", description="`id` sorts by creation, `name` by the nonprofit's name.")
    start_date: DayOrMoment | None = Field(None, description="Created at this time or later.")
    end_date: WindowEnd | None = Field(None, description="Created before this time.")


def parse_filters(query: EligibilitySubscriptionsQuery) -> EligibilityFilters:
    """The filters in a query."""
    words = extract_search_terms(query.query) or (_NEVER,) if query.query else ()
    return EligibilityFilters(query.status, words, query.has_organisation, query.start_date, query.end_date)


_CHOIR: Final[JsonDict] = {
    "organisationId": RecordIdCodec(sandbox=True).example_id("organisation"),
    "suggestedActivitySubTags": [RecordIdCodec(sandbox=True).encode("activitysubtag", SUB_TAGS["AR301"].id)],
    "metadata": {"campaign": "winter"},
}


_SubTagId = Annotated[str, IdString("activitysubtag", test_values=tuple(test_values.TEST_VALUES))]


class EligibilitySubscriptionBody(RequestBody):
    """A new subscription: with ``organisationId``, or with ``validationRequestId`` if there is no organisation yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CHOIR]})

    organisation_id: Annotated[str, IdString("organisation")] | None = None
    validation_request_id: Annotated[
        Annotated[str, IdString("validationrequest")] | None, exactly_one_of("organisation_id")
    ] = Field(None, validate_default=True)
    suggested_activity_sub_tags: list[_SubTagId] = Field(
        default_factory=list,
        max_length=_AT_MOST,
        description="What you believe the nonprofit does: IDs of sub-tags from GET /v1/activity-tags. Each sub-tag is "
        'confirmed or left out. In the sandbox, `["test_pass"]` and `["test_fail"]` set the result.',
    )
    metadata: Metadata | None = None

    def to_input(self) -> EligibilitySubscriptionInput:
        """Convert to the input of the service."""
        return EligibilitySubscriptionInput(
            self.organisation_id,
            self.validation_request_id,
            tuple(self.suggested_activity_sub_tags),
            self.metadata,
        )


class EligibilitySubscriptionPatch(PatchBody):
    """Changes to a subscription: only its metadata can change."""

    metadata: Maybe[MetadataPatch | None] = UNSET


class EligibilityTagResponse(ResponseRecord):
    """The tag of a sub-tag."""

    id: str
    name: str
    description: str | None
    created_at: str
    updated_at: str


class EligibilitySubTagResponse(ResponseRecord):
    """A suggested activity."""

    id: str
    name: str
    tag: EligibilityTagResponse
    description: str | None
    created_at: str
    updated_at: str


class EligibilityDecidedSubTagResponse(EligibilitySubTagResponse):
    """A confirmed activity. `rule` is the rule that assigned it: `ntee:B25`, `ccew:102`, `name:church`."""

    rule: str


class EligibilityResultsResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The results of an eligibility subscription."""

    eligibility_status: Annotated[
        EligibilityStatus | None,
        msgspec.Meta(description="`pass` when at least one confirmed activity is allowed; null until it is known."),
    ]
    confirmed_activity_sub_tags: list[EligibilityDecidedSubTagResponse]
    rejected_activity_sub_tags: Annotated[
        list[EligibilityDecidedSubTagResponse],
        msgspec.Meta(description="Confirmed activities that the configuration does not allow."),
    ]


class EligibilitySubscriptionResponse(ResponseRecord, object_name="eligibility_subscription"):
    """An eligibility subscription as partners see it."""

    id: str
    organisation_id: Annotated[
        str | None, msgspec.Meta(description="The organisation; with a validation request, once it is accepted.")
    ]
    organisation_name: str
    validation_request_id: str | None
    configuration_id: str | None
    suggested_activity_sub_tags: Annotated[
        list[EligibilitySubTagResponse],
        msgspec.Meta(description="The activities that you suggested; empty with a test value of the sandbox."),
    ]
    status: SubscriptionStatus
    results: EligibilityResultsResponse
    metadata: dict[str, str] | None
    created_at: str
    updated_at: str


def subscription_response(tx: Tx, subscription: EligibilitySubscription) -> EligibilitySubscriptionResponse:
    """The API representation of a subscription, also used in its events."""
    results = subscription.results
    return EligibilitySubscriptionResponse(
        id=tx.ids.encode("eligibilitysubscription", subscription.id),
        organisation_id=tx.ids.encode_or_none("organisation", subscription.organisation_id),
        organisation_name=subscription.name,
        validation_request_id=tx.ids.encode_or_none("validationrequest", subscription.validation_request_id),
        configuration_id=tx.ids.encode_or_none("hostedconfiguration", subscription.configuration_id),
        suggested_activity_sub_tags=[
            EligibilitySubTagResponse(**_sub_tag(tx, sub))
            for sub in map(SUB_TAGS.get, subscription.suggested_sub_tags)
            if sub is not None
        ],
        status=subscription.status,
        results=EligibilityResultsResponse(
            results.status,
            _sub_tags(tx, results.rule_by_confirmed_activity, results.rule_by_confirmed_activity),
            _sub_tags(tx, results.rule_by_confirmed_activity, results.rejected_activities),
        ),
        metadata=None if subscription.metadata is None else dict(subscription.metadata),
        created_at=iso_timestamp(subscription.created_at),
        updated_at=iso_timestamp(subscription.updated_at),
    )


def _sub_tags(tx: Tx, rules: Mapping[str, str], codes: Iterable[str]) -> list[EligibilityDecidedSubTagResponse]:
    return [
        EligibilityDecidedSubTagResponse(**_sub_tag(tx, sub), rule=rules[sub.code])
        for sub in sub_tags_in_file_order(codes)
    ]


def _sub_tag(tx: Tx, sub: SubTag) -> dict[str, Any]:
    """The members that every sub-tag has."""
    at, tag = iso_timestamp(VERSION), TAGS[sub.tag_id]
    return {
        "id": tx.ids.encode("activitysubtag", sub.id),
        "name": sub.name,
        "tag": EligibilityTagResponse(tx.ids.encode("activitytag", tag.id), tag.name, tag.description, at, at),
        "description": sub.description,
        "created_at": at,
        "updated_at": at,
    }


class EligibilityFindingResponse(ResponseRecord):
    """The finding for one activity.

    `rule` is the rule that assigned it; null for a suggested activity without a rule.
    """

    id: str
    name: str
    rule: str | None
    suggested: bool
    verdict: FindingVerdict


class EligibilityEvaluationResponse(ResponseRecord, object_name="eligibility_evaluation"):
    """One evaluation with its evidence."""

    at: str
    occasion: Annotated[Occasion, msgspec.Meta(description="Why it was evaluated.")]
    organisation_id: Annotated[str, msgspec.Meta(description="The organisation whose record was evaluated.")]
    eligibility_status: EligibilityStatus | None
    allowed_activity_sub_tags: Annotated[
        list[str] | None, msgspec.Meta(description="What the configuration allowed; null for everything.")
    ]
    findings: list[EligibilityFindingResponse]
    results_changed: Annotated[
        bool, msgspec.Meta(description="Whether the results changed, so that an event was sent.")
    ]


def evaluation_response(tx: Tx, evaluation: Evaluation) -> EligibilityEvaluationResponse:
    """The response for one evaluation."""
    allowed = cast("list[str] | None", evaluation.facts["allowed"])
    steps = {step.name: step for step in evaluation.steps}
    return EligibilityEvaluationResponse(
        at=iso_timestamp(evaluation.at),
        occasion=cast("Occasion", evaluation.occasion),
        organisation_id=tx.ids.encode("organisation", UUID(str(evaluation.facts["organisationId"]))),
        eligibility_status=cast("EligibilityStatus | None", evaluation.outcome),
        allowed_activity_sub_tags=None
        if allowed is None
        else [tx.ids.encode("activitysubtag", sub.id) for sub in sub_tags_in_file_order(allowed)],
        findings=[
            EligibilityFindingResponse(
                id=tx.ids.encode("activitysubtag", sub.id),
                name=sub.name,
                rule=steps[sub.code].code,
                suggested=bool(steps[sub.code].facts["suggested"]),
                verdict=FINDINGS[steps[sub.code].verdict],
            )
            for sub in sub_tags_in_file_order(steps)
        ],
        results_changed=bool(evaluation.facts["resultsChanged"]),
    )
