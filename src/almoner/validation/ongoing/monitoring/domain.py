"""Monitoring subscriptions: the record, its states, and how results are derived (spec 2.4; settled 4 and 5)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple, cast
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.kit.states import Lifecycle
from almoner.screening.screenings.domain import ScreeningObstacle
from almoner.screening.watchlists.domain import CATEGORIES, Category

SUBSCRIPTION: Final = Lifecycle(
    "monitoring_subscription",
    {
        "pending_validation_request": frozenset({"pending", "validation_request_failed", "cancelled"}),  # settled 5
        "pending": frozenset({"live", "cancelled"}),
        # Waits again after an appeal reversed the rejection of its request.
        "validation_request_failed": frozenset({"pending_validation_request", "cancelled"}),
        "live": frozenset({"cancelled"}),
    },
)
MonitoringStatus = Literal["pending", "pending_validation_request", "validation_request_failed", "live", "cancelled"]
CategoryStatus = Literal["clear", "flag"]
Compliance = Literal["pass", "fail"]
RegistrationActive = Literal["yes", "no"]
ScreeningStatus = Literal["screened", "not_screened"]
MatchDecision = Literal["open", "confirmed", "cleared"]
Occasion = Literal[
    "created", "request_decided", "register_changed", "screening_changed", "chosen", "configuration_changed"
]
"""Why a subscription is evaluated."""

DEFAULT_FLAGS: Final[frozenset[Category]] = frozenset(("sanction", "warning", "hateSpeech"))
"""The complianceFlags of partners without a configuration (settled 4)."""

UPDATED: Final = "monitoring_subscription.updated"


class EntityNotFound(BadRequest):
    code = "monitoring_subscription/entity_not_found"
    message = "There is no organisation or validation request with this ID"


class OrganisationNotActive(BadRequest):
    code = "monitoring_subscription/organisation_not_active"
    message = "The organisation is not active, so it cannot be monitored"


class AlreadyCancelled(BadRequest):
    code = "monitoring_subscription/monitoring_subscription_already_cancelled"
    message = "The monitoring subscription has already been cancelled"


class InvalidState(BadRequest):
    code = "monitoring_subscription/invalid_state"
    message = "The status of the monitoring subscription does not allow this"


@dataclass(frozen=True, slots=True)
class MonitoringMatch:
    """A watchlist entry that may be the organisation, and the decision about it."""

    list: str
    version: str
    category: Category
    entry: str
    score: float
    decision: MatchDecision


@dataclass(frozen=True, slots=True)
class ScreenedWatchlist:
    """A list version that was screened for a category.

    ``not_screened``: why some of the organisation's names could not be compared; None if all could.
    """

    list: str
    version: str
    category: Category
    status: ScreeningStatus = "screened"
    reason: ScreeningObstacle | None = None


class DatedScreenedWatchlist(NamedTuple):
    """A list version that all live subscriptions were compared with, and when."""

    watchlist: ScreenedWatchlist
    screened_at: datetime


@dataclass(frozen=True, slots=True)
class MonitoringResults:
    """The known results; each member is None until known."""

    compliance_status: Compliance | None = None
    status_by_category: Mapping[Category, CategoryStatus] = field(default_factory=dict)
    registration_active: RegistrationActive | None = None

    def as_json(self) -> dict[str, str]:
        """The known members, by their API names."""
        known: dict[str, str | None] = {"complianceStatus": self.compliance_status, "active": self.registration_active}
        stated = {name: value for name, value in known.items() if value is not None}
        return {**stated, **{str(category): str(status) for category, status in self.status_by_category.items()}}


def results_from_json(results_json: Mapping[str, str]) -> MonitoringResults:
    """Parse results from ``as_json``."""
    return MonitoringResults(
        cast("Compliance | None", results_json.get("complianceStatus")),
        {
            category: cast("CategoryStatus", results_json[category])
            for category in CATEGORIES
            if category in results_json
        },
        cast("RegistrationActive | None", results_json.get("active")),
    )


@dataclass(frozen=True, slots=True)
class MonitoringEvidence:
    """Everything that results are based on.

    ``manually_flagged_categories``: what reviewers found for names that cannot be compared.
    ``are_manual_lookups_done``: whether they looked up all of these names.
    """

    matches: tuple[MonitoringMatch, ...] = ()
    screened_watchlists: tuple[ScreenedWatchlist, ...] = ()
    registration_active: RegistrationActive | None = None
    was_screened: bool = True
    manually_flagged_categories: tuple[Category, ...] = ()
    are_manual_lookups_done: bool = False

    @property
    def unscreened_categories(self) -> set[Category]:
        """The categories with a list that the organisation could not be compared with."""
        return {source.category for source in self.screened_watchlists if source.status == "not_screened"}


NO_EVIDENCE: Final = MonitoringEvidence(was_screened=False)


def build_screening_step(screened_watchlist: ScreenedWatchlist, matches: Sequence[MonitoringMatch]) -> EvaluationStep:
    """The step of screening one list for one of its categories."""
    place = (screened_watchlist.list, screened_watchlist.category)
    decisions = {match.decision for match in matches if (match.list, match.category) == place}
    verdict: StepVerdict = "pass"
    if "confirmed" in decisions:
        verdict = "fail"
    elif "open" in decisions or screened_watchlist.status == "not_screened":
        verdict = "unknown"
    return EvaluationStep(
        screened_watchlist.category,
        verdict,
        screened_watchlist.reason,
        screened_watchlist.list,
        facts={"status": screened_watchlist.status},
        version=screened_watchlist.version,
    )


def screened_watchlist_from_step(step: EvaluationStep) -> ScreenedWatchlist:
    """The screened list that a step describes."""
    return ScreenedWatchlist(
        step.source or "",
        step.version or "",
        cast("Category", step.name),
        cast("ScreeningStatus", step.facts["status"]),
        cast("ScreeningObstacle | None", step.code),
    )


def results_from_evidence(
    evidence: MonitoringEvidence,
    simulated_results: MonitoringResults | None = None,
    compliance_flags: Collection[Category] = DEFAULT_FLAGS,
) -> MonitoringResults:
    """The results that follow from the evidence; simulated results replace them member by member.

    A category is flagged by a confirmed match, unknown while a match awaits a reviewer, and clear if the organisation
    was compared with all its lists and nothing is left (settled 4, 11). Compliance fails by a relevant flag. It is
    unknown while a relevant match awaits a reviewer, or an organisation that could not be compared does.
    """
    simulated_results = simulated_results or MonitoringResults()
    confirmed = _categories_decided(evidence.matches, "confirmed") | set(evidence.manually_flagged_categories)
    waiting, checked = (
        _categories_decided(evidence.matches, "open"),
        {source.category for source in evidence.screened_watchlists},
    )
    categories: dict[Category, CategoryStatus] = {}
    for category in CATEGORIES:
        if category in simulated_results.status_by_category:
            categories[category] = simulated_results.status_by_category[category]
        elif category in confirmed:
            categories[category] = "flag"
        elif category in checked - waiting - evidence.unscreened_categories:
            categories[category] = "clear"
    unknown = waiting if evidence.are_manual_lookups_done else waiting | evidence.unscreened_categories
    compliance = simulated_results.compliance_status or _compliance(
        categories, unknown - simulated_results.status_by_category.keys(), compliance_flags
    )
    if not evidence.was_screened and simulated_results.compliance_status is None and compliance == "pass":
        compliance = None  # no flag before any screening means unknown
    return MonitoringResults(
        compliance, categories, simulated_results.registration_active or evidence.registration_active
    )


def _categories_decided(matches: Iterable[MonitoringMatch], decision: MatchDecision) -> set[Category]:
    return {match.category for match in matches if match.decision == decision}


def _compliance(
    categories: Mapping[Category, CategoryStatus], unknown: Collection[Category], flags: Collection[Category]
) -> Compliance | None:
    if any(categories.get(category) == "flag" for category in flags):
        return "fail"
    return None if any(category in flags for category in unknown) else "pass"


@dataclass(frozen=True, slots=True)
class MonitoringSubscription:
    """One subscription as read from the database.

    ``name``: of the organisation; None before there is one. ``search_name``: its words, or those of the request, at the
    last evaluation. ``simulated_results``: set in the sandbox. ``screened_at``: when it was last screened. ``due_at``:
    since when an evaluation is due; None if none is. ``matches``: those of the last screening.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID | None
    validation_request_id: UUID | None
    configuration_id: UUID | None
    status: MonitoringStatus
    search_name: str
    simulated_results: MonitoringResults | None
    results: MonitoringResults
    sources: tuple[ScreenedWatchlist, ...]
    screened_at: datetime | None
    created_at: datetime
    cancelled_at: datetime | None
    due_at: datetime | None = None
    matches: tuple[MonitoringMatch, ...] = ()
    name: str | None = None

    def ensure_transition_allowed(self, target_status: MonitoringStatus) -> None:
        """Raises AlreadyCancelled or InvalidState unless it may become ``target_status``."""
        if SUBSCRIPTION.allows_transition(self.status, target_status):
            return
        if self.status == "cancelled":
            raise AlreadyCancelled
        raise InvalidState(f"the monitoring subscription is {self.status} and cannot become {target_status}")

    @property
    def is_organisation_monitored(self) -> bool:
        """Whether its organisation is being monitored."""
        return self.status in ("pending", "live")

    def with_organisation(self, organisation_id: UUID, search_name: str) -> "MonitoringSubscription":
        """The subscription after its request was accepted as this organisation. Raises InvalidState."""
        self.ensure_transition_allowed("pending")
        return replace(self, status="pending", organisation_id=organisation_id, search_name=search_name)

    def with_validation_request_rejected(self) -> "MonitoringSubscription":
        """The subscription after its request was rejected. Raises InvalidState."""
        self.ensure_transition_allowed("validation_request_failed")
        return replace(self, status="validation_request_failed")

    def with_validation_request_resumed(self) -> "MonitoringSubscription":
        """The subscription waiting for its request again after an appeal reversed the rejection.

        Raises InvalidState.
        """
        self.ensure_transition_allowed("pending_validation_request")
        return replace(self, status="pending_validation_request")

    def with_evidence(
        self,
        evidence: MonitoringEvidence,
        search_name: str,
        now: datetime,
        compliance_flags: Collection[Category] = DEFAULT_FLAGS,
    ) -> "MonitoringSubscription":
        """The subscription with new evidence: live. ``compliance_flags``: for compliance. Raises InvalidState."""
        if self.status != "live":
            self.ensure_transition_allowed("live")
        return replace(
            self,
            status="live",
            search_name=search_name,
            results=results_from_evidence(evidence, self.simulated_results, compliance_flags),
            sources=evidence.screened_watchlists,
            matches=evidence.matches,
            screened_at=now,
            due_at=None,
        )

    def with_simulated_results(
        self,
        simulated_results: MonitoringResults,
        evidence: MonitoringEvidence,
        compliance_flags: Collection[Category] = DEFAULT_FLAGS,
    ) -> "MonitoringSubscription":
        """The subscription with simulated results of the sandbox in addition to earlier ones."""
        before = self.simulated_results or MonitoringResults()
        reported = MonitoringResults(
            simulated_results.compliance_status,
            {**before.status_by_category, **simulated_results.status_by_category},
            simulated_results.registration_active or before.registration_active,
        )
        return replace(
            self, simulated_results=reported, results=results_from_evidence(evidence, reported, compliance_flags)
        )

    def with_cancellation(self, now: datetime) -> "MonitoringSubscription":
        """The subscription, cancelled, with its last results. Raises AlreadyCancelled."""
        self.ensure_transition_allowed("cancelled")
        return replace(self, status="cancelled", cancelled_at=now, due_at=None)


def new_subscription(
    subscription_id: UUID,
    partner_id: UUID,
    now: datetime,
    search_name: str,
    *,
    organisation_id: UUID | None = None,
    validation_request_id: UUID | None = None,
    configuration_id: UUID | None = None,
    simulated_results: MonitoringResults | None = None,
) -> MonitoringSubscription:
    """A new subscription without results: to an organisation, or to a request until it is decided."""
    return MonitoringSubscription(
        id=subscription_id,
        partner_id=partner_id,
        organisation_id=organisation_id,
        validation_request_id=validation_request_id,
        configuration_id=configuration_id,
        status="pending" if organisation_id else "pending_validation_request",
        search_name=search_name,
        simulated_results=simulated_results,
        results=MonitoringResults(),
        sources=(),
        screened_at=None,
        created_at=now,
        cancelled_at=None,
    )


Sort = Literal["id", "name"]


@dataclass(frozen=True, slots=True)
class MonitoringFilters:
    """The filters of the list."""

    status: MonitoringStatus | None = None
    search_words: tuple[str, ...] = ()
    has_organisation: bool | None = None


@dataclass(frozen=True, slots=True)
class MonitoringStatusChangedEvent:
    """The subscription whose status changed."""

    subscription: UUID


STATUS_CHANGED: Final = InternalEvent("internal.monitoring_subscription_status_changed", MonitoringStatusChangedEvent)
"""Reported when a subscription becomes live, failed or cancelled; partners learn of this only through results."""
