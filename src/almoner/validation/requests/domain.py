"""Validation requests: the record, its states and what can be refused (spec 2.3, 3.4; settled 4 and 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.states import Lifecycle
from almoner.nonprofits.organisations.domain import OrganisationType, Unlisted

REQUEST: Final = Lifecycle("validation_request", {"pending": frozenset({"accepted", "rejected"})})  # settled 5, once

RequestStatus = Literal["pending", "accepted", "rejected"]
RejectionReason = Literal["other", "not_eligible", "incorrect_documentation", "not_attributable_to_registry"]
REJECTION_REASONS: Final[tuple[RejectionReason, ...]] = get_args(RejectionReason)
Occasion = Literal["created", "register_loaded", "asked"]
"""Why a request is evaluated."""

APPROVED: Final = "validation_request.approved"
REJECTED: Final = "validation_request.rejected"
DECIDED: Final = "internal.validation_request_decided"
"""Told when a request is decided, with a ``RequestDecided`` in it."""

SENTENCES: Final[Mapping[RejectionReason, str]] = MappingProxyType(
    {
        "other": "The nonprofit could not be validated",
        "not_eligible": "The organisation is not of a kind that can be accepted",
        "incorrect_documentation": "The documents do not show what they should",
        "not_attributable_to_registry": "The nonprofit is not the one that the registry lists under this identifier",
    }
)
"""What ``rejectionReason`` says for each code."""


class RegistryNotFound(BadRequest):
    code = "validation_request/registry_not_found"
    message = "The country has no registry of this id, code or name"


class InvalidRegistryId(BadRequest):
    code = "validation_request/invalid_registry_id"
    message = "The identifier is not one that the registry could have given"


class InvalidState(BadRequest):
    code = "validation_request/invalid_state"
    message = "The validation request is in a state that does not allow this"


class OrganisationNotFound(BadRequest):
    code = "validation_request/organisation_not_found"
    message = "There is no organisation with this id"


@dataclass(frozen=True, slots=True)
class RequestDecided:
    """Which request was decided, whose it is, and how."""

    request: UUID
    partner: UUID
    accepted: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a partner says of a nonprofit.

    ``registry_name`` is the id, code or name of a registry, ``registry_number`` its number there in any spelling.
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
class Attached:
    """A document that was attached as evidence."""

    document_id: UUID
    created_at: datetime
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True)
class ValidationRequest:
    """One request, as a store read it. ``number_key``: what all spellings of its number have in common."""

    id: UUID
    partner_id: UUID
    status: RequestStatus
    asked: Asked
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
    documents: tuple[Attached, ...] = ()

    def accepted(self, organisation_id: UUID, types: Sequence[OrganisationType], now: datetime) -> "ValidationRequest":
        """Accepted as this organisation. Raises InvalidState."""
        self.ensure("accepted")
        return replace(
            self, status="accepted", organisation_id=organisation_id, organisation_types=tuple(types), accepted_at=now
        )

    def rejected(self, reason: RejectionReason, now: datetime) -> "ValidationRequest":
        """Rejected. Raises InvalidState."""
        self.ensure("rejected")
        return replace(
            self,
            status="rejected",
            rejection_reason=SENTENCES[reason],
            rejection_reason_code=reason,
            rejected_at=now,
        )

    def ensure(self, target: RequestStatus) -> None:
        """Raises InvalidState unless the request may become ``target``."""
        if not REQUEST.allows(self.status, target):
            raise InvalidState(f"the validation request is {self.status} and cannot become {target}")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list may be narrowed by; None: not narrowed. ``words`` are those of ``query``, each to be found."""

    status: RequestStatus | None = None
    words: tuple[str, ...] = ()
    starts: datetime | None = None
    ends: datetime | None = None


Sort = Literal["id", "name"]


def received(
    request_id: UUID, partner_id: UUID, asked: Asked, registry_id: UUID, number_key: str, now: datetime
) -> ValidationRequest:
    """A new one, pending."""
    return ValidationRequest(
        id=request_id,
        partner_id=partner_id,
        status="pending",
        asked=asked,
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


def rejection_reason(code: str | None) -> RejectionReason:
    """The reason of a code. Raises InvalidState for one that requests do not know."""
    known = next((reason for reason in REJECTION_REASONS if reason == code), None)
    if known is None:
        raise InvalidState(f"a validation request is rejected as one of {', '.join(REJECTION_REASONS)}, not as {code}")
    return known


def unlisted(request: ValidationRequest) -> Unlisted:
    """The organisation that a request tells of, where no register here lists it."""
    asked = request.asked
    return Unlisted(
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
