"""Validation requests: the record, its states and rejection reasons (spec 2.3, 3.4; settled 4 and 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.evidence import Evaluation
from almoner.kit.states import Lifecycle
from almoner.nonprofits.organisations.domain import OrganisationType, UnlistedOrganisation
from almoner.validation.applications.documents.domain import Document

REQUEST: Final = Lifecycle(
    "validation_request",
    {
        "pending": frozenset({"accepted", "rejected"}),  # settled 5, once
        "rejected": frozenset({"accepted"}),  # by an appeal alone (settled 4)
    },
)

RequestStatus = Literal["pending", "accepted", "rejected"]
RejectionReason = Literal["other", "not_eligible", "incorrect_documentation", "not_attributable_to_registry"]
REJECTION_REASONS: Final[tuple[RejectionReason, ...]] = get_args(RejectionReason)
Occasion = Literal["created", "register_loaded", "asked", "corrected"]
"""Why a request is evaluated."""

APPROVED: Final = "validation_request.approved"
REJECTED: Final = "validation_request.rejected"
DOCUMENT_REJECTED: Final = "validation_request_document.rejected"

REJECTION_MESSAGES: Final[Mapping[RejectionReason, str]] = MappingProxyType(
    {
        "other": "The nonprofit could not be validated",
        "not_eligible": "The organisation is not of a kind that can be accepted",
        "incorrect_documentation": "The documents do not show what they should",
        "not_attributable_to_registry": "The nonprofit is not the one that the registry lists under this identifier",
    }
)
"""The sentence in ``rejectionReason`` for each code."""


OutcomeVerdict = Literal["accept", "review"]

REVIEW_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "register_not_loaded": "This register is not loaded, so the number could not be checked.",
        "not_listed": "The register's latest data does not include the number.",
        "partly_loaded": "The loaded parts of the register do not list the number. Another part may list it.",
        "no_longer_listed": "The register used to list the number, but no longer does.",
        "wrong_check_digit": "The check digit of the number is wrong, and the register does not list the number.",
        "unverified_source": "The reader for this register was never tested on a real file, so a reviewer must decide.",
        "stale_data": "The data of the register is too old for an automatic decision.",
        "status_not_told": "The register's files do not say whether the organisation is registered now.",
        "removed": "The register says that the organisation is no longer registered.",
        "revoked": "The exemption was revoked, and no newer data says otherwise.",
        "terminated": "The organisation reported that it has closed.",
        "merged": "The organisation has merged into another one.",
        "reregistered": "The organisation is now registered under another number.",
        "name_disagrees": "The name does not match any name that the register lists for this number.",
        "former_name": "The name is a former name of the organisation in the register.",
        "member_not_named": "Several organisations in the register share this name, and the request does not say which "
        "one it means.",
        "other_number_fits_better": "Another number in the register fits this name better.",
        "similar_number": "An organisation elsewhere has the same name, and its number differs in one digit.",
        "distinctive_word_differs": "The only distinctive word of the name is spelled differently in the register.",
        "mixed_scripts": "The name mixes letters from different scripts. Some of them may be look-alikes.",
        "hidden_characters": "The name contains invisible characters, or characters that change the text direction.",
        "address_disagrees": "The address does not match the one in the register.",
        "match_uncertain": "Name and address together are not similar enough to those in the register for an automatic "
        "decision.",
        "same_name_elsewhere": "Organisations elsewhere in the register have exactly this name, and the address does "
        "not show which one the request means.",
        "central_body_not_active": "The organisation is exempt under a group ruling, but the central body is inactive.",
        "main_charity_not_active": "The organisation is part of a charity that is not active.",
        "not_deductible": "Donations to the organisation are not tax-deductible.",
        "insolvent": "The register lists the organisation as insolvent, in administration or being wound up.",
    }
)
"""The closed list of reasons for a review, each with a sentence for the reviewer."""


OTHER_ADDRESS: Final = "other_address"
"""The address differs, but that is no review reason since no other entry in the register has this exact name."""

MATCH: Final = "match"
"""The step for name and address together, if the address does not differ but the two do not suffice for a decision."""


@dataclass(frozen=True, slots=True)
class RequestEvaluationOutcome:
    """Whether the request may be accepted automatically; if not, why."""

    verdict: OutcomeVerdict
    reasons: tuple[str, ...] = ()


def match_score_includes_postal_address(evaluation: Evaluation) -> bool:
    """Whether the match score (``agreement``) compares the postal addresses, and not only the names."""
    return any(
        step.name in ("address", MATCH) and "score" in step.facts and step.code != OTHER_ADDRESS
        for step in evaluation.steps
    )


@dataclass(frozen=True, slots=True)
class RegisterEntryCandidate:
    """A register entry that the request may mean."""

    registry_number: str
    name: str
    place: str | None


def candidates_from_evaluation(evaluation: Evaluation) -> list[RegisterEntryCandidate]:
    """Other register entries that may be meant, as found by the evaluation."""
    found = next((step.facts.get("candidates") for step in evaluation.steps if step.name == "namesakes"), None)
    return [RegisterEntryCandidate(*one) for one in found] if isinstance(found, list) else []


MAX_CORRECTIONS: Final = 5
"""The maximum number of corrections of a request: enough to find the right number, too few to search a register."""

_WRONG_NUMBER_REASONS: Final = frozenset(
    "not_listed register_not_loaded partly_loaded no_longer_listed wrong_check_digit name_disagrees member_not_named "
    "other_number_fits_better similar_number distinctive_word_differs address_disagrees match_uncertain "
    "same_name_elsewhere removed revoked terminated merged reregistered".split()
)
"""Review reasons that a wrong number may cause: no entry, or the entry of another body."""


def is_wrong_registry_number_reason(review_reason: str) -> bool:
    """Whether the review reason means that the number may be wrong."""
    return review_reason in _WRONG_NUMBER_REASONS


class RegistryNotFound(BadRequest):
    code = "validation_request/registry_not_found"
    message = "The country has no registry with this ID, code or name"


class InvalidRegistryId(BadRequest):
    code = "validation_request/invalid_registry_id"
    message = "The registration number is not valid for this registry"


class InvalidState(BadRequest):
    code = "validation_request/invalid_state"
    message = "The status of the validation request does not allow this"


class UnchangedCorrection(ValueError):
    """The correction equals the current values."""


@dataclass(frozen=True, slots=True)
class RequestDecidedEvent:
    """The internal event that a validation request was decided."""

    request: UUID
    partner: UUID
    accepted: bool


DECIDED: Final = InternalEvent("internal.validation_request_decided", RequestDecidedEvent)
"""Emitted when a request is decided."""


@dataclass(frozen=True, slots=True)
class NonprofitDetails:
    """A partner's details of a nonprofit.

    ``registry_name``: ID, code or name of a registry; ``registry_number``: its number there in any spelling.
    """

    name: str
    registry_name: str
    registry_number: str
    website: str
    country_code: str
    email: str | None = None
    address_line_1: str | None = None
    address_line_2: str | None = None
    city: str | None = None
    state: str | None = None
    postal: str | None = None
    usa_group_exempt: bool | None = None


@dataclass(frozen=True, slots=True)
class ValidationRequest:
    """One validation request.

    ``number_key``: its number without spelling differences. ``corrections``: how often register and number were
    corrected, last at ``corrected_at``.
    """

    id: UUID
    partner_id: UUID
    status: RequestStatus
    details: NonprofitDetails
    registry_id: UUID
    number_key: str
    organisation_id: UUID | None
    organisation_types: tuple[OrganisationType, ...]
    rejection_reason: str | None
    rejection_reason_code: RejectionReason | None
    created_at: datetime
    deleted_at: datetime | None
    accepted_at: datetime | None
    rejected_at: datetime | None
    corrections: int = 0
    corrected_at: datetime | None = None
    documents: tuple[Document, ...] = ()

    def with_correction(
        self, registry_id: UUID, registry_name: str, registry_number: str, number_key: str, now: datetime
    ) -> "ValidationRequest":
        """The undecided request with another register or number. Raises InvalidState, UnchangedCorrection."""
        if self.status != "pending" or self.corrections >= MAX_CORRECTIONS:
            raise InvalidState(f"the validation request is {self.status}, and was corrected {self.corrections} times")
        if (registry_id, number_key) == (self.registry_id, self.number_key):
            raise UnchangedCorrection
        return replace(
            self,
            details=replace(self.details, registry_name=registry_name, registry_number=registry_number),
            registry_id=registry_id,
            number_key=number_key,
            corrections=self.corrections + 1,
            corrected_at=now,
        )

    def with_acceptance(
        self, organisation_id: UUID, types: Sequence[OrganisationType], now: datetime
    ) -> "ValidationRequest":
        """The request, accepted as this organisation. Raises InvalidState."""
        self.ensure_transition_allowed("accepted")
        return replace(
            self, status="accepted", organisation_id=organisation_id, organisation_types=tuple(types), accepted_at=now
        )

    def with_rejection(self, reason: RejectionReason, now: datetime) -> "ValidationRequest":
        """The request, rejected. Raises InvalidState."""
        self.ensure_transition_allowed("rejected")
        return replace(
            self,
            status="rejected",
            rejection_reason=REJECTION_MESSAGES[reason],
            rejection_reason_code=reason,
            rejected_at=now,
        )

    def with_rejection_reversed(
        self, organisation_id: UUID, types: Sequence[OrganisationType], now: datetime
    ) -> "ValidationRequest":
        """The rejected request, accepted after an appeal. Raises InvalidState unless it was rejected."""
        if self.status != "rejected":
            raise InvalidState(f"the validation request is {self.status}: there is nothing to reverse")
        return replace(
            self,
            status="accepted",
            organisation_id=organisation_id,
            organisation_types=tuple(types),
            accepted_at=now,
            rejected_at=None,
            rejection_reason=None,
            rejection_reason_code=None,
        )

    def ensure_transition_allowed(self, target_status: RequestStatus) -> None:
        """Raises InvalidState unless the request may become ``target_status`` without an appeal."""
        if self.status != "pending" or not REQUEST.allows_transition(self.status, target_status):
            raise InvalidState(f"the validation request is {self.status} and cannot become {target_status}")


@dataclass(frozen=True, slots=True)
class RequestFilters:
    """The filters of the list."""

    status: RequestStatus | None = None
    search_words: tuple[str, ...] = ()
    created_from: datetime | None = None
    created_before: datetime | None = None


Sort = Literal["id", "name"]


def new_request(
    request_id: UUID,
    partner_id: UUID,
    nonprofit_details: NonprofitDetails,
    registry_id: UUID,
    number_key: str,
    now: datetime,
) -> ValidationRequest:
    """A new pending request."""
    return ValidationRequest(
        id=request_id,
        partner_id=partner_id,
        status="pending",
        details=nonprofit_details,
        registry_id=registry_id,
        number_key=number_key,
        organisation_id=None,
        organisation_types=(),
        rejection_reason=None,
        rejection_reason_code=None,
        created_at=now,
        deleted_at=None,
        accepted_at=None,
        rejected_at=None,
    )


def parse_rejection_reason(code: str | None) -> RejectionReason:
    """Parse a reason code. Raises InvalidState for an unknown one."""
    known = next((reason for reason in REJECTION_REASONS if reason == code), None)
    if known is None:
        raise InvalidState(f"a validation request is rejected as one of {', '.join(REJECTION_REASONS)}, not as {code}")
    return known


def unlisted_organisation_of(request: ValidationRequest) -> UnlistedOrganisation:
    """The organisation to create for a request that no register lists."""
    asked = request.details
    return UnlistedOrganisation(
        registry_id=request.registry_id,
        registry_number=asked.registry_number,
        number_key=request.number_key,
        name=asked.name,
        country_code=asked.country_code,
        websites=(asked.website,),
        address_line_1=asked.address_line_1,
        address_line_2=asked.address_line_2,
        city=asked.city,
        state=asked.state,
        postcode=asked.postal,
        usa_group_exempt=asked.usa_group_exempt,
    )
