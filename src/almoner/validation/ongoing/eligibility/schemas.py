"""Eligibility subscriptions on the wire (spec 2.5, 4.5; settled 4 and 8)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import msgspec
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict, JsonValue

from almoner.kit.ids import Ids
from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS, VERSION, ordered_sub_tags
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdText
from almoner.platform.http.wire import (
    Maybe,
    Metadata,
    MetadataPatch,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    exactly_one_of,
)
from almoner.validation.ongoing.eligibility import triggers
from almoner.validation.ongoing.eligibility.domain import (
    EligibilityEvaluation,
    EligibilityStatus,
    EligibilitySubscription,
    Filters,
    FindingVerdict,
    Occasion,
    SubscriptionInput,
    SubscriptionStatus,
)

_AT_MOST: Final = 100


class EligibilitySubscriptionsQuery(PageQuery):
    """Filters of the list."""

    status: SubscriptionStatus | None = None


def filters_of(query: EligibilitySubscriptionsQuery) -> Filters:
    """What the query narrows the list by."""
    return Filters(query.status)


_CHOIR: Final[JsonDict] = {
    "organisationId": Ids(sandbox=True).example("organisation"),
    "suggestedActivitySubTags": [Ids(sandbox=True).text("activitysubtag", SUB_TAGS["AR301"].id)],
    "metadata": {"campaign": "winter"},
}
_EITHER: Final[list[JsonValue]] = [{"required": ["organisationId"]}, {"required": ["validationRequestId"]}]


class EligibilitySubscriptionIn(RequestBody):
    """A new subscription: with ``organisationId``, or with ``validationRequestId`` for one that is not yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CHOIR], "oneOf": _EITHER})

    organisation_id: Annotated[str, IdText("organisation")] | None = None
    validation_request_id: Annotated[
        Annotated[str, IdText("validationrequest")] | None, exactly_one_of("organisation_id")
    ] = Field(None, validate_default=True)
    suggested_activity_sub_tags: list[Annotated[str, IdText("activitysubtag")]] = Field(
        default_factory=list,
        max_length=_AT_MOST,
        description="What you believe that it does: ids of sub-tags of GET /v1/activity-tags. Each is confirmed or "
        'left out. In the sandbox `["test_pass"]` or `["test_fail"]` decides.',
    )
    metadata: Metadata | None = None

    def to_input(self) -> SubscriptionInput:
        """What is asked."""
        return SubscriptionInput(
            self.organisation_id,
            self.validation_request_id,
            tuple(self.suggested_activity_sub_tags),
            self.metadata,
        )


class EligibilitySubscriptionPatch(PatchBody):
    """Changes to a subscription: its metadata alone can change."""

    metadata: Maybe[MetadataPatch | None] = UNSET


class EligibilityTagOut(ResponseRecord):
    """The tag of a sub-tag."""

    id: str
    name: str


class EligibilitySubTagOut(ResponseRecord):
    """A confirmed activity. `rule` names what gave it: `ntee:B25`, `ccew:102`, `name:church`."""

    id: str
    name: str
    tag: EligibilityTagOut
    description: str | None
    rule: str
    created_at: str
    updated_at: str


class EligibilityResultsOut(msgspec.Struct, frozen=True, rename="camel"):
    """What was decided."""

    eligibility_status: Annotated[
        EligibilityStatus | None,
        msgspec.Meta(description="`pass` when at least one confirmed activity is allowed; null until it is known."),
    ]
    confirmed_activity_sub_tags: list[EligibilitySubTagOut]
    rejected_activity_sub_tags: Annotated[
        list[EligibilitySubTagOut], msgspec.Meta(description="Those of them that the configuration does not allow.")
    ]


class EligibilitySubscriptionOut(ResponseRecord, object_name="eligibility_subscription"):
    """An eligibility subscription as partners see it."""

    id: str
    organisation_id: Annotated[
        str | None, msgspec.Meta(description="With a validation request, once that is accepted.")
    ]
    organisation_name: str
    validation_request_id: str | None
    configuration_id: str | None
    suggested_activity_sub_tags: list[str]
    status: SubscriptionStatus
    results: EligibilityResultsOut
    metadata: dict[str, str] | None
    created_at: str
    updated_at: str


def subscription_out(tx: Tx, row: EligibilitySubscription) -> EligibilitySubscriptionOut:
    """The answer for one subscription, and the record in its events."""
    suggested = [tx.ids.text("activitysubtag", SUB_TAGS[code].id) for code in row.suggested if code in SUB_TAGS]
    results = row.results
    return EligibilitySubscriptionOut(
        id=tx.ids.text("eligibilitysubscription", row.id),
        organisation_id=tx.ids.text_or_none("organisation", row.organisation_id),
        organisation_name=row.name,
        validation_request_id=tx.ids.text_or_none("validationrequest", row.validation_request_id),
        configuration_id=tx.ids.text_or_none("hostedconfiguration", row.configuration_id),
        suggested_activity_sub_tags=suggested
        if row.simulated_status is None
        else [triggers.trigger_value_of(row.simulated_status)],
        status=row.status,
        results=EligibilityResultsOut(
            results.status,
            _sub_tags(tx, results.confirmed, results.confirmed),
            _sub_tags(tx, results.confirmed, results.rejected),
        ),
        metadata=None if row.metadata is None else dict(row.metadata),
        created_at=iso_timestamp(row.created_at),
        updated_at=iso_timestamp(row.updated_at),
    )


def _sub_tags(tx: Tx, rules: Mapping[str, str], codes: Iterable[str]) -> list[EligibilitySubTagOut]:
    at = iso_timestamp(VERSION)
    return [
        EligibilitySubTagOut(
            id=tx.ids.text("activitysubtag", sub.id),
            name=sub.name,
            tag=EligibilityTagOut(tx.ids.text("activitytag", sub.tag_id), TAGS[sub.tag_id].name),
            description=sub.description,
            rule=rules[sub.code],
            created_at=at,
            updated_at=at,
        )
        for sub in ordered_sub_tags(codes)
    ]


class EligibilityFindingOut(ResponseRecord):
    """What was found of one activity. `rule` names what gave it; null for a suggested one that nothing gives."""

    id: str
    name: str
    rule: str | None
    suggested: bool
    verdict: FindingVerdict


class EligibilityEvaluationOut(ResponseRecord, object_name="eligibility_evaluation"):
    """One decision with all that it rested on."""

    at: str
    occasion: Annotated[Occasion, msgspec.Meta(description="Why it was decided.")]
    organisation_id: Annotated[str, msgspec.Meta(description="The record that answered for the organisation.")]
    eligibility_status: EligibilityStatus | None
    allowed_activity_sub_tags: Annotated[
        list[str] | None, msgspec.Meta(description="What the configuration allowed; null for everything.")
    ]
    findings: list[EligibilityFindingOut]
    told: Annotated[bool, msgspec.Meta(description="Whether the results became others, so that an event was sent.")]


def evaluation_out(tx: Tx, made: EligibilityEvaluation) -> EligibilityEvaluationOut:
    """The answer for one decision."""
    allowed = made.allowed.codes
    found = {one.code: one for one in made.findings}
    return EligibilityEvaluationOut(
        at=iso_timestamp(made.evaluated_at),
        occasion=made.occasion,
        organisation_id=tx.ids.text("organisation", made.known.organisation_id),
        eligibility_status=made.results.status,
        allowed_activity_sub_tags=None
        if allowed is None
        else [tx.ids.text("activitysubtag", sub.id) for sub in ordered_sub_tags(allowed)],
        findings=[
            EligibilityFindingOut(
                id=tx.ids.text("activitysubtag", sub.id),
                name=sub.name,
                rule=found[sub.code].rule,
                suggested=found[sub.code].suggested,
                verdict=found[sub.code].verdict,
            )
            for sub in ordered_sub_tags(found)
        ],
        told=made.told,
    )
