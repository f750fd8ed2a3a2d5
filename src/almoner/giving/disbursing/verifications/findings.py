"""Findings of checks, their outcome by rule, and changes since a check succeeded; pure.

Unverified or outdated sources decide nothing by themselves, nor does a watchlist match before a reviewer has decided
it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.giving.disbursing.verifications.domain import CheckType
from almoner.giving.disbursing.verifications.ports import ApprovedPayeeAccount
from almoner.kit.ids import RecordIdCodec
from almoner.kit.states import Lifecycle
from almoner.nonprofits.organisations.domain import Organisation
from almoner.screening.screenings.domain import ScreeningMatch, ScreeningResult
from almoner.screening.watchlists.domain import Category

FindingOutcome = Literal["succeeded", "failed", "unclear"]
FlagKind = Literal[
    "register_removed",
    "register_renamed",
    "new_match",
    "payee_changed",
    "holder_differs",
    "account_denied",
    "evidence_expired",
]
FlagStatus = Literal["open", "lifted", "withdrawn"]

RENEWAL_PERIOD: Final = timedelta(days=90)
"""How long the findings of registers and lists are valid; then they are checked again."""
BLOCKING_CATEGORIES: Final[frozenset[Category]] = frozenset(("sanction", "warning", "hateSpeech"))
"""Categories in which a confirmed match fails the check, as in the default configuration of monitoring (settled 4)."""
_REQUIRED_CATEGORY: Final[Category] = "sanction"
"""The category that must be covered by a list before a nonprofit is cleared."""

_NO_EVIDENCE: Final = frozenset(("unverified_source", "stale_data", "no_list_loaded", "not_screened"))

FLAG: Final = Lifecycle("monetary_donation_flag", {"open": frozenset({"lifted", "withdrawn"})})
_SENTENCES: Final[Mapping[FlagKind, str]] = {
    "register_removed": "the register no longer lists the nonprofit as active",
    "register_renamed": "the register has a different name for the nonprofit",
    "new_match": "a watchlist may name the nonprofit",
    "payee_changed": "another account will replace the nonprofit's account",
    "holder_differs": "the account holder's name differs from the name in the register",
    "account_denied": "the nonprofit says that the account is not its own",
    "evidence_expired": "the evidence for a check has expired, and there is no new evidence",
}


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """The result of a check. ``source``: a register, list or person. ``expires_at``: the end of its validity."""

    check: CheckType
    outcome: FindingOutcome
    source: str
    reason: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    data_as_of: datetime | None = None
    expires_at: datetime | None = None

    def has_same_content(self, other: "CheckFinding") -> bool:
        """Whether two findings have the same content."""
        return (self.outcome, self.reason, _comparable_facts(self)) == (
            other.outcome,
            other.reason,
            _comparable_facts(other),
        )


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A stored finding."""

    id: UUID
    finding: CheckFinding
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class FlagReview:
    """An operator's review of a flag."""

    by: str
    note: str
    at: datetime


WaitingKind = Literal["monetary_donation_verification", "verification_flag"]


@dataclass(frozen=True, slots=True)
class WaitingReviewItem:
    """A verification or flag that waits for reviewers.

    ``has_first_review``: by the first of two reviewers. ``remaining_checks``: of a verification.
    """

    kind: WaitingKind
    id: UUID
    partner_id: UUID
    organisation_id: UUID
    waiting_since: datetime
    has_first_review: bool
    remaining_checks: Sequence[CheckType]


@dataclass(frozen=True, slots=True)
class VerificationFlag:
    """A change since a check succeeded; it holds disbursements until two operators lift it."""

    id: UUID
    verification_id: UUID
    kind: FlagKind
    status: FlagStatus
    facts: Mapping[str, object]
    raised_at: datetime
    first_review: FlagReview | None
    second_review: FlagReview | None

    @property
    def description(self) -> str:
        """The flag as a sentence."""
        return _SENTENCES[self.kind]


def build_registration_finding(organisation: Organisation, now: datetime, max_age: timedelta | None) -> CheckFinding:
    """The finding from the nonprofit's register."""
    lister = next(iter(organisation.sources), None)
    doubt = None
    if lister is not None:
        doubt = "unverified_source" if lister.is_format_unverified else None
        doubt = doubt or ("stale_data" if lister.is_stale(now, max_age) else None)
    active = organisation.active and organisation.succeeded_by is None
    facts = {
        "name": organisation.name,
        "number": organisation.registry_number,
        "active": active,
        "inactiveReason": "merged" if organisation.active and not active else organisation.inactive_reason,
    }
    outcome: FindingOutcome = "unclear" if doubt else "succeeded" if active else "failed"
    reason = doubt or (None if active else str(facts["inactiveReason"]))
    source = lister.registry_name if lister else organisation.registry_name
    return CheckFinding("registration", outcome, source, reason, facts, organisation.data_as_of, now + RENEWAL_PERIOD)


def build_compliance_finding(results: Sequence[ScreeningResult], ids: RecordIdCodec, now: datetime) -> CheckFinding:
    """The finding from the watchlists about all records of a nonprofit."""
    lists = sorted(
        {
            f"{version.code} {version.version_label}"
            for result in results
            for version in result.watchlists_covering_subject_kind
        }
    )
    found = [match for result in results for match in result.matches]
    facts = {"lists": lists, "matches": reviewer_decisions_by_match_id(found, ids)}
    outcome, reason = _compliance_outcome(results, found)
    return CheckFinding("compliance", outcome, "watch lists", reason, facts, None, now + RENEWAL_PERIOD)


def _compliance_outcome(
    results: Sequence[ScreeningResult], found: Sequence[ScreeningMatch]
) -> tuple[FindingOutcome, str | None]:
    if any(match.decision == "confirmed" and match.category in BLOCKING_CATEGORIES for match in found):
        return "failed", "match_confirmed"
    if any(match.decision == "open" for match in found):
        return "unclear", "match_open"
    if any(match.decision == "confirmed" for match in found):
        return "unclear", "match_confirmed"
    if any(result.obstacle is not None for result in results):
        return "unclear", "not_screened"
    if not results or any(result.status_in_category(_REQUIRED_CATEGORY) is None for result in results):
        return "unclear", "no_list_loaded"
    return "succeeded", None


def reviewer_decisions_by_match_id(matches: Iterable[ScreeningMatch], ids: RecordIdCodec) -> dict[str, str]:
    """Reviewers' decisions on each match, by its ID."""
    return {ids.encode("screeningmatch", match.id): match.decision for match in matches}


def flag_kinds_for_changes(previous: CheckFinding | None, current: CheckFinding) -> Iterator[FlagKind]:
    """The flags for changes since the check succeeded.

    A check decided by an operator without evidence never expires.
    """
    if previous and (previous.outcome, previous.reason) == ("succeeded", None) and current.reason in _NO_EVIDENCE:
        yield "evidence_expired"
    if current.check == "registration":
        was = previous.facts if previous else {"active": True}
        if was.get("active", True) and not current.facts.get("active"):
            yield "register_removed"
        if was.get("name", current.facts.get("name")) != current.facts.get("name"):
            yield "register_renamed"
    elif current.check == "compliance":
        seen = _matches(previous) if previous else {}
        reported = ((match, decision) for match, decision in _matches(current).items() if decision != "cleared")
        if any(seen.get(match) not in (decision, "confirmed") for match, decision in reported):
            yield "new_match"


def flag_kinds_for_account(account: ApprovedPayeeAccount) -> Iterator[FlagKind]:
    """The flags for an account that a check relies on."""
    if account.holder_name_differs:
        yield "holder_differs"
    if account.ownership_denied:
        yield "account_denied"


def _matches(finding: CheckFinding) -> Mapping[str, str]:
    found = finding.facts.get("matches")
    return found if isinstance(found, Mapping) else {}


def _comparable_facts(finding: CheckFinding) -> dict[str, object]:
    return {name: value for name, value in finding.facts.items() if name != "lists"}
