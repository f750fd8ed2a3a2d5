"""Eligibility subscriptions: the record, its states and the decision (spec 2.5, 4.5; settled 4 and 5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.kit.states import Lifecycle
from almoner.nonprofits.activities.domain import SUB_TAGS, sub_tags_in_file_order

SUBSCRIPTION: Final = Lifecycle(
    "eligibility_subscription",
    {
        "pending": frozenset({"live", "cannot_define_eligibility", "cancelled"}),  # settled 5
        "pending_validation_request": frozenset({"pending", "validation_request_failed", "cancelled"}),
        # Waits again after an appeal reversed the rejection of its request.
        "validation_request_failed": frozenset({"pending_validation_request", "cancelled"}),
        "live": frozenset({"cannot_define_eligibility", "cancelled"}),
        "cannot_define_eligibility": frozenset({"live", "cancelled"}),
    },
)
SubscriptionStatus = Literal[
    "pending",
    "pending_validation_request",
    "validation_request_failed",
    "live",
    "cancelled",
    "cannot_define_eligibility",
]
EligibilityStatus = Literal["pass", "fail"]
Sort = Literal["id", "name"]
Occasion = Literal["created", "organisation_changed", "rules_changed", "configuration_changed", "simulated"]
"""Why a subscription is evaluated."""
FindingVerdict = Literal["confirmed", "rejected", "left_out"]
_Evaluated = Literal["live", "cannot_define_eligibility"]

EVALUATED_STATUSES: Final[tuple[SubscriptionStatus, ...]] = ("pending", "live", "cannot_define_eligibility")
"""The statuses whose results depend on the organisation's data."""

UPDATED: Final = "eligibility_subscription.updated"
BY_SANDBOX: Final = "sandbox"
"""The rule name of results that a sandbox partner set."""


class EntityNotFound(BadRequest):
    code = "eligibility_subscription/entity_not_found"
    message = "There is no organisation or validation request with this ID"


class OrganisationNotActive(BadRequest):
    code = "eligibility_subscription/organisation_not_active"
    message = "The register does not list the organisation as active"


class InvalidSubTags(BadRequest):
    code = "eligibility_subscription/invalid_sub_tags"
    message = "One or more of the activity sub-tags are not known"


class AlreadyCancelled(BadRequest):
    code = "eligibility_subscription/already_cancelled"
    message = "The subscription has already been cancelled"


class InvalidMetadata(BadRequest):
    code = "eligibility_subscription/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


class InvalidState(BadRequest):
    code = "eligibility_subscription/invalid_state"
    message = "The status of the subscription does not allow this"


@dataclass(frozen=True, slots=True)
class AllowedActivities:
    """The activities that a configuration allows; None: all."""

    codes: frozenset[str] | None = None

    def allows(self, code: str) -> bool:
        """Whether an activity, or a wider one that includes it, is allowed."""
        return self.codes is None or code in self.codes or SUB_TAGS[code].wider_sub_tag_code in self.codes


ALL_ACTIVITIES: Final = AllowedActivities()
"""The allowed activities of partners without a configuration."""
NO_ACTIVITIES: Final = AllowedActivities(frozenset())


@dataclass(frozen=True, slots=True)
class OrganisationActivities:
    """The known activities of an organisation, each with the rule that assigned it.

    ``rule_by_registered_activity``: from its register. ``rule_by_activity_in_name``: from words in its name (the text
    rules of activities).
    """

    organisation_id: UUID
    rule_by_registered_activity: Mapping[str, str] = field(default_factory=dict)
    rule_by_activity_in_name: Mapping[str, str] = field(default_factory=dict)


FINDINGS: Final[Mapping[StepVerdict, FindingVerdict]] = {
    "pass": "confirmed",
    "fail": "rejected",
    "not_applicable": "left_out",
}
"""The verdict on an activity by the verdict of its step; the step's code is the rule that assigned it."""


def build_evaluation_facts(
    organisation_activities: OrganisationActivities, allowed_activities: AllowedActivities
) -> dict[str, object]:
    """The facts that an evaluation is based on, as stored."""
    return {
        "organisationId": str(organisation_activities.organisation_id),
        "classification": dict(organisation_activities.rule_by_registered_activity),
        "nameClassification": dict(organisation_activities.rule_by_activity_in_name),
        "allowed": None if allowed_activities.codes is None else sorted(allowed_activities.codes),
    }


def build_activity_step(
    activity_code: str, rule: str | None, verdict: StepVerdict, *, suggested: bool
) -> EvaluationStep:
    """The step for one activity. ``rule``: the rule that assigned it; None if none did."""
    return EvaluationStep(activity_code, verdict, rule, facts={"suggested": suggested})


@dataclass(frozen=True, slots=True)
class EligibilityResults:
    """Confirmed and rejected activities, and the resulting status.

    ``status``: None until known, and if nothing can be confirmed.
    """

    status: EligibilityStatus | None = None
    rule_by_confirmed_activity: Mapping[str, str] = field(default_factory=dict)
    rejected_activities: tuple[str, ...] = ()

    def is_same_as(self, other: "EligibilityResults") -> bool:
        """Whether partners see the same results."""
        return (self.status, dict(self.rule_by_confirmed_activity), set(self.rejected_activities)) == (
            other.status,
            dict(other.rule_by_confirmed_activity),
            set(other.rejected_activities),
        )

    @property
    def subscription_status(self) -> _Evaluated:
        """The subscription status for these results."""
        return "cannot_define_eligibility" if self.status is None else "live"


NO_RESULTS: Final = EligibilityResults()


@dataclass(frozen=True, slots=True)
class EligibilitySubscriptionInput:
    """The requested values of a subscription, by text IDs."""

    organisation_id: str | None = None
    validation_request_id: str | None = None
    suggested_sub_tag_ids: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None
    configuration_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class EligibilitySubscription:
    """One subscription as read from the database.

    ``name``: of the organisation, or of the validation request until it is accepted. ``suggested_sub_tags``: the codes
    of the suggested sub-tags. ``simulated_status``: the status requested by a sandbox test value instead.
    ``search_name``: the words of the name at the last evaluation.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID | None
    validation_request_id: UUID | None
    configuration_id: UUID | None
    name: str
    suggested_sub_tags: tuple[str, ...]
    simulated_status: EligibilityStatus | None
    metadata: Mapping[str, str] | None
    status: SubscriptionStatus
    results: EligibilityResults
    created_at: datetime
    updated_at: datetime
    search_name: str
    cancelled_at: datetime | None = None

    def with_organisation(self, organisation_id: UUID, name: str, now: datetime) -> "EligibilitySubscription":
        """The subscription after its request was accepted as this organisation. Raises InvalidState."""
        self._ensure("pending")
        return replace(self, status="pending", organisation_id=organisation_id, name=name, updated_at=now)

    def with_validation_request_rejected(self, now: datetime) -> "EligibilitySubscription":
        """The subscription after its request was rejected. Raises InvalidState."""
        self._ensure("validation_request_failed")
        return replace(self, status="validation_request_failed", updated_at=now)

    def with_validation_request_resumed(self, now: datetime) -> "EligibilitySubscription":
        """The subscription waiting for its request again after an appeal reversed the rejection.

        Raises InvalidState.
        """
        self._ensure("pending_validation_request")
        return replace(self, status="pending_validation_request", updated_at=now)

    def with_results(self, results: EligibilityResults, now: datetime) -> "EligibilitySubscription":
        """The subscription after an evaluation. Raises InvalidState."""
        if self.status != results.subscription_status:
            self._ensure(results.subscription_status)
        return replace(self, status=results.subscription_status, results=results, updated_at=now)

    def with_cancellation(self, now: datetime) -> "EligibilitySubscription":
        """The subscription, cancelled by the partner, with its last results. Raises AlreadyCancelled."""
        if self.status == "cancelled":
            raise AlreadyCancelled
        self._ensure("cancelled")
        return replace(self, status="cancelled", cancelled_at=now, updated_at=now)

    def _ensure(self, target: SubscriptionStatus) -> None:
        if not SUBSCRIPTION.allows_transition(self.status, target):
            raise InvalidState(f"the subscription is {self.status} and cannot become {target}")


@dataclass(frozen=True, slots=True)
class EligibilityFilters:
    """The filters of the list."""

    status: SubscriptionStatus | None = None
    search_words: tuple[str, ...] = ()
    has_organisation: bool | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


def evaluate_activities(
    organisation_activities: OrganisationActivities,
    suggested_codes: Sequence[str],
    allowed_activities: AllowedActivities,
    simulated_status: EligibilityStatus | None = None,
) -> tuple[EligibilityResults, tuple[EvaluationStep, ...]]:
    """Evaluate an organisation's activities against the allowed ones.

    Activities from the register are confirmed. Words of the name count for suggested activities, and if the register
    states none. A suggested wider sub-tag is confirmed by a narrower one: orchestras are performing arts.
    ``simulated_status``: a test value decides instead of ``allowed_activities``.
    """
    rules = dict(
        organisation_activities.rule_by_registered_activity or organisation_activities.rule_by_activity_in_name
    )
    for code in suggested_codes:
        rule = (
            rules.get(code)
            or organisation_activities.rule_by_activity_in_name.get(code)
            or _by_narrower(code, {**organisation_activities.rule_by_activity_in_name, **rules})
        )
        if rule is not None:
            rules[code] = rule
    if simulated_status is not None:
        allowed_activities = ALL_ACTIVITIES if simulated_status == "pass" else NO_ACTIVITIES
    confirmed = {sub.code: rules[sub.code] for sub in sub_tags_in_file_order(rules)}
    rejected = tuple(code for code in confirmed if not allowed_activities.allows(code))
    status = simulated_status or _status(confirmed, rejected)
    return EligibilityResults(status, confirmed, rejected), _findings(confirmed, suggested_codes, rejected)


def _by_narrower(code: str, rules: Mapping[str, str]) -> str | None:
    for narrower, rule in rules.items():
        if narrower in SUB_TAGS and SUB_TAGS[narrower].wider_sub_tag_code == code:
            return f"{rule} (as {narrower})"
    return None


def _status(confirmed: Collection[str], rejected: Collection[str]) -> EligibilityStatus | None:
    """The status: one allowed activity suffices. Others are reported as rejected, for partners with stricter rules."""
    if not confirmed:
        return None
    return "pass" if len(rejected) < len(confirmed) else "fail"


def _findings(
    confirmed: Mapping[str, str], suggested: Sequence[str], rejected: Collection[str]
) -> tuple[EvaluationStep, ...]:
    return tuple(
        build_activity_step(
            sub.code,
            confirmed.get(sub.code),
            "not_applicable" if sub.code not in confirmed else "fail" if sub.code in rejected else "pass",
            suggested=sub.code in suggested,
        )
        for sub in sub_tags_in_file_order({*confirmed, *suggested})
    )


@dataclass(frozen=True, slots=True)
class EligibilitySubscriptionEndedEvent:
    """The subscription that ended."""

    subscription: UUID


ENDED: Final = InternalEvent("internal.eligibility_subscription_ended", EligibilitySubscriptionEndedEvent)
"""Emitted when a subscription is cancelled, or fails with its validation request."""
