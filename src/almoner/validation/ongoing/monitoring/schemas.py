"""Monitoring subscriptions on the wire (spec 2.4, 4.4; settled 4 and 8)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, cast

import msgspec
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from almoner.kit.evidence import Evaluation
from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations.domain import extract_search_terms
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import TEST_SUFFIX, IdString
from almoner.platform.http.wire import PageQuery, RequestBody, ResponseRecord, exactly_one_of
from almoner.screening.screenings.domain import ScreeningObstacle
from almoner.screening.watchlists.domain import Category
from almoner.validation.ongoing.monitoring.domain import (
    CategoryStatus,
    Compliance,
    MatchDecision,
    MonitoringFilters,
    MonitoringMatch,
    MonitoringResults,
    MonitoringStatus,
    MonitoringSubscription,
    Occasion,
    RegistrationActive,
    ScreenedWatchlist,
    ScreeningStatus,
    Sort,
    results_from_json,
    screened_watchlist_from_step,
)

_NEVER: Final = "?"
"""In no searched text: what a query without any word finds."""


class MonitoringSubscriptionsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    status: MonitoringStatus | None = None
    has_organisation: bool | None = Field(None, description="Whether the organisation is known yet.")
    query: str | None = Field(None, max_length=500, description="Words, or parts of words, in the nonprofit's name.")
    sort: Sort = Field("id", description="`id` sorts by creation, `name` by the nonprofit's name.")


def parse_filters(query: MonitoringSubscriptionsQuery) -> MonitoringFilters:
    """The filters in a query."""
    words = extract_search_terms(query.query) or (_NEVER,) if query.query else ()
    return MonitoringFilters(query.status, words, query.has_organisation)


_FUND: Final[JsonDict] = {"organisationId": RecordIdCodec(sandbox=True).example_id("organisation")}


class MonitoringSubscriptionBody(RequestBody):
    """The organisation to monitor, or the validation request that leads to it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FUND]})

    organisation_id: Annotated[str, Field(max_length=500), IdString("organisation", TEST_SUFFIX)] | None = None
    validation_request_id: Annotated[
        Annotated[str, Field(max_length=500), IdString("validationrequest", TEST_SUFFIX)] | None,
        exactly_one_of("organisation_id"),
    ] = Field(None, validate_default=True)


class MonitoringOrganisationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The organisation that is monitored."""

    name: str


class MonitoringCategoryResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The findings of the lists in a category."""

    status: Annotated[
        CategoryStatus | None,
        msgspec.Meta(
            description="Null until a list of the category is screened, while a match is being decided, and if a "
            "name cannot be compared."
        ),
    ]


class MonitoringRegistrationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The finding of the register."""

    active: Annotated[
        RegistrationActive | None, msgspec.Meta(description="Null until it is known, and if no register shows it.")
    ]


class MonitoringResultsResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The results of a monitoring subscription. Every field is null until its result is known."""

    compliance_status: Annotated[
        Compliance | None,
        msgspec.Meta(
            description="`fail` if a category that counts is flagged: by default sanction, warning and hateSpeech."
        ),
    ]
    warning: MonitoringCategoryResponse
    sanction: MonitoringCategoryResponse
    hate_speech: MonitoringCategoryResponse
    commercial: MonitoringCategoryResponse
    adverse_media: MonitoringCategoryResponse
    controversial: MonitoringCategoryResponse
    registration: MonitoringRegistrationResponse


_SOURCE: Final = {
    "list": "ofac-sdn",
    "version": "2024-05-03 0f3a9c41d2be",
    "category": "sanction",
    "status": "screened",
    "reason": None,
}


class MonitoringSourceResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A list that was checked for a category, and its version."""

    list: str
    version: str
    category: Category
    status: Annotated[
        ScreeningStatus,
        msgspec.Meta(description="`not_screened`: not all names of the organisation could be compared with it."),
    ]
    reason: Annotated[
        ScreeningObstacle | None,
        msgspec.Meta(
            description="Why the list was not screened: a name is in a script that cannot be compared, or has no words."
        ),
    ]


class MonitoringMatchResponse(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a list that may be the organisation, and a reviewer's decision about it."""

    list: str
    version: str
    category: Category
    entry: Annotated[str, msgspec.Meta(description="The entry's number in its list.")]
    score: Annotated[float, msgspec.Meta(description="The similarity of the two, from 0 to 1.")]
    decision: Annotated[
        MatchDecision,
        msgspec.Meta(
            description="`open` until a reviewer decides that they are the same (`confirmed`) or not (`cleared`)."
        ),
    ]


class MonitoringSubscriptionResponse(ResponseRecord, object_name="monitoring_subscription"):
    """A monitoring subscription as partners see it."""

    id: str
    organisation_id: Annotated[
        str | None, msgspec.Meta(description="The organisation; with a validation request, once it is accepted.")
    ]
    validation_request_id: str | None
    configuration_id: str | None
    status: MonitoringStatus
    organisation: MonitoringOrganisationResponse | None
    results: MonitoringResultsResponse
    sources: Annotated[list[MonitoringSourceResponse], msgspec.Meta(examples=[[_SOURCE]])]
    matches: Annotated[
        list[MonitoringMatchResponse],
        msgspec.Meta(description="The matches: confirmed, open and cleared."),
    ]
    created_at: str


def subscription_response(tx: Tx, subscription: MonitoringSubscription) -> MonitoringSubscriptionResponse:
    """The API representation of a subscription, also used in its events."""
    ids = tx.ids
    named, request, by = subscription.organisation_id, subscription.validation_request_id, subscription.configuration_id
    return MonitoringSubscriptionResponse(
        id=ids.encode("monitoringsubscription", subscription.id),
        organisation_id=ids.encode("organisation", named) if named else None,
        validation_request_id=ids.encode("validationrequest", request) if request else None,
        configuration_id=ids.encode("hostedconfiguration", by) if by else None,
        status=subscription.status,
        organisation=None if subscription.name is None else MonitoringOrganisationResponse(subscription.name),
        results=_results(subscription.results),
        sources=_sources(subscription.sources),
        matches=_matches(subscription.matches),
        created_at=iso_timestamp(subscription.created_at),
    )


class MonitoringChangeResponse(ResponseRecord, object_name="monitoring_change"):
    """The results from a given time on, with their cause and evidence."""

    at: str
    occasion: Annotated[Occasion, msgspec.Meta(description="Why the organisation was evaluated.")]
    results: MonitoringResultsResponse
    compliance_flags: Annotated[
        list[Category] | None, msgspec.Meta(description="The categories whose flags failed compliance at that time.")
    ]
    sources: Annotated[list[MonitoringSourceResponse], msgspec.Meta(examples=[[_SOURCE]])]
    matches: list[MonitoringMatchResponse]


def results_change_response(change: Evaluation) -> MonitoringChangeResponse:
    """The response for one change of results."""
    facts = change.facts
    return MonitoringChangeResponse(
        at=iso_timestamp(change.at),
        occasion=cast("Occasion", change.occasion),
        results=_results(results_from_json(cast("Mapping[str, str]", facts["results"]))),
        compliance_flags=cast("list[Category]", facts["flags"]),
        sources=_sources([screened_watchlist_from_step(step) for step in change.steps]),
        matches=_matches(msgspec.convert(facts["matches"], list[MonitoringMatch])),
    )


def _sources(screened: Sequence[ScreenedWatchlist]) -> list[MonitoringSourceResponse]:
    return [MonitoringSourceResponse(one.list, one.version, one.category, one.status, one.reason) for one in screened]


def _matches(found: Sequence[MonitoringMatch]) -> list[MonitoringMatchResponse]:
    return [
        MonitoringMatchResponse(one.list, one.version, one.category, one.entry, round(one.score, 3), one.decision)
        for one in found
    ]


def _results(results: MonitoringResults) -> MonitoringResultsResponse:
    known: Mapping[Category, CategoryStatus] = results.status_by_category
    return MonitoringResultsResponse(
        compliance_status=results.compliance_status,
        warning=MonitoringCategoryResponse(known.get("warning")),
        sanction=MonitoringCategoryResponse(known.get("sanction")),
        hate_speech=MonitoringCategoryResponse(known.get("hateSpeech")),
        commercial=MonitoringCategoryResponse(known.get("commercial")),
        adverse_media=MonitoringCategoryResponse(known.get("adverseMedia")),
        controversial=MonitoringCategoryResponse(known.get("controversial")),
        registration=MonitoringRegistrationResponse(results.registration_active),
    )
