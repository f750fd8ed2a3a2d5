"""Organisations: the record (settled 4) and rules about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from almoner.kit.events import InternalEvent
from almoner.kit.records import statically_frozen_dataclass
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.countries.domain import currency_of_country
from almoner.nonprofits.organisations.normalisation import MAX_INDEX_PATTERNS as MAX_INDEX_PATTERNS
from almoner.nonprofits.organisations.normalisation import extract_search_terms as extract_search_terms
from almoner.nonprofits.organisations.normalisation import normalise_indexed_text as normalise_indexed_text
from almoner.nonprofits.organisations.normalisation import normalise_search_text as normalise_search_text

OrganisationType = Literal["nonprofit", "social_impact", "education"]
ChangeKind = Literal[
    "renamed",
    "moved",
    "merged",
    "reregistered",
    "revoked",
    "terminated",
    "reinstated",
    "removed",
    "listed_again",
    "joined",
    "parted",
    "branch",
    "changed",
    "taken_back",
]
"""What happened when a field of a record changed."""

WORLD_CURRENCIES: Final = ("USD", "EUR", "GBP")


@statically_frozen_dataclass
class OrganisationSource:
    """A source that lists an organisation, its number there, and the date of its data."""

    registry_name: str
    registry_number: str
    source_code: str | None
    is_format_unverified: bool
    data_as_of: datetime | None

    def is_stale(self, now: datetime, max_age: timedelta | None) -> bool:
        """Whether the data are older than ``max_age``."""
        return max_age is not None and self.data_as_of is not None and now - self.data_as_of > max_age


@statically_frozen_dataclass
class Organisation:
    """One organisation.

    ``registry_id``: the registry's record; ``registry_number``: its number there. ``activities``: the rule that
    assigned each sub-tag, by code; None if its register states none.
    """

    id: UUID
    partner_id: UUID | None
    registry_id: UUID
    registry_code: str
    registry_name: str
    registry_number: str
    name: str
    display_name: str | None
    secondary_name: str | None
    other_names: tuple[str, ...]
    description: str
    country_code: str
    types: tuple[OrganisationType, ...]
    active: bool
    websites: tuple[str, ...]
    address_line_1: str | None
    address_line_2: str | None
    city: str | None
    state: str | None
    postcode: str | None
    registration_date: datetime | None
    claimed_at: datetime | None
    is_branch_parent: bool
    branch_of: UUID | None
    usa_group_exempt: bool | None
    status_override: str | None
    succeeded_by: UUID | None
    same_as: UUID | None
    activities: Mapping[str, str] | None
    sources: tuple[OrganisationSource, ...]
    data_as_of: datetime | None
    first_seen: datetime | None
    logo: str | None
    images: tuple[str, ...]
    created_at: datetime
    updated_at: datetime

    @property
    def inactive_reason(self) -> str | None:
        """Why it is not active; None if it is."""
        return None if self.active else self.status_override or "removed"

    @property
    def effective_display_name(self) -> str:
        """The name for display."""
        return self.display_name or self.name

    @property
    def display_city(self) -> str | None:
        """The city for display: registers often use capitals."""
        return to_title_case(self.city) if self.city else None

    @property
    def full_name(self) -> str:
        """The registered name, with its second line."""
        return f"{self.name} {self.secondary_name}" if self.secondary_name else self.name

    @property
    def registered_names(self) -> tuple[str, ...]:
        """All names in the register, the main one first."""
        return (self.name, *([self.secondary_name] if self.secondary_name else []), *self.other_names)

    @property
    def address(self) -> str | None:
        """The address in one line."""
        place = " ".join(part for part in (self.state, self.postcode) if part)
        lines = [self.address_line_1, self.address_line_2, self.city, place]
        return ", ".join(line for line in lines if line) or None

    @property
    def currency(self) -> str | None:
        """The currency of its country."""
        return currency_of_country(self.country_code)

    @property
    def accepts_donations(self) -> bool:
        """Whether it can receive donations."""
        return can_receive_donations(self.types, active=self.active)

    @property
    def donation_refusal_reason(self) -> str | None:
        """Why it cannot receive donations; None if it can."""
        if self.accepts_donations:
            return None
        if not self.active:
            return f"the organisation is not active ({self.inactive_reason})"
        kinds = " and ".join(self.types) or "neither a nonprofit nor a social impact organisation"
        return f"donations go to nonprofits, and by its register the organisation is {kinds}"

    @property
    def donation_currencies(self) -> tuple[str, ...]:
        """The currencies it can receive."""
        return donation_currencies_of_country(self.country_code) if self.accepts_donations else ()


@dataclass(frozen=True, slots=True)
class FormerName:
    """A former registered name, and until when."""

    name: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Namesake:
    """Another organisation in the register with a similar name."""

    id: UUID
    registry_number: str
    number_key: str
    name: str
    secondary_name: str | None
    other_names: tuple[str, ...]
    display_name: str | None
    address_line_1: str | None
    address_line_2: str | None
    city: str | None
    state: str | None
    postcode: str | None
    country_code: str
    same_first_line: bool


class RegistryNumberTaken(Exception):
    """Another organisation with this number is published already."""


@dataclass(frozen=True, slots=True)
class UnlistedOrganisation:
    """An organisation that no loaded register lists."""

    registry_id: UUID
    registry_number: str
    number_key: str
    name: str
    country_code: str
    types: tuple[OrganisationType, ...] = ("nonprofit",)
    websites: tuple[str, ...] = ()
    address_line_1: str | None = None
    address_line_2: str | None = None
    city: str | None = None
    state: str | None = None
    postcode: str | None = None
    usa_group_exempt: bool | None = None


@dataclass(frozen=True, slots=True)
class UnpublishedOrganisationRecord:
    """An organisation that only its partner can see, as lists show it."""

    id: UUID
    partner_id: UUID
    name: str
    registry_code: str
    registry_number: str
    country_code: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisationChange:
    """One field changed by a load.

    ``recorded_kind``: None if the field alone tells it. ``rolled_back``: its load was, or it belongs to a rollback.
    """

    id: int
    at: datetime
    field: str
    before: object
    after: object
    source: str
    recorded_kind: ChangeKind | None = None
    rolled_back: bool = False

    @property
    def kind(self) -> ChangeKind:
        """The kind of change."""
        if self.rolled_back:
            return "taken_back"
        if self.recorded_kind is not None:
            return self.recorded_kind
        if self.field == "active":
            return "listed_again" if self.after else "removed"
        return _KINDS.get(self.field, "changed")


_KINDS: Final[dict[str, ChangeKind]] = {
    "name": "renamed",
    "display_name": "renamed",
    "secondary_name": "renamed",
    "other_names": "renamed",
    "address_line_1": "moved",
    "address_line_2": "moved",
    "city": "moved",
    "state": "moved",
    "postcode": "moved",
    "part": "moved",
}


def organisation_as_of(
    organisation: Organisation, changes: Iterable[OrganisationChange], as_of: datetime
) -> Organisation | None:
    """The record as of a day; None if it was not known yet.

    ``changes``: all of the organisation's, newest first. A field has the value of the last load with data up to that
    day, in order of loading; before the first, the value that it replaced. A rollback has the date of the load it
    reverts, so that no day shows that load.
    """
    if as_of < (organisation.first_seen or organisation.created_at):
        return None
    stood: dict[str, object] = {}
    for change in reversed(list(changes)):
        if change.at <= as_of:
            stood[change.field] = change.after
        else:
            stood.setdefault(change.field, change.before)
    dated = min(as_of, organisation.data_as_of) if organisation.data_as_of else None
    known = {field: _parse_stored(field, value) for field, value in stood.items() if field in _MEMBERS}
    return replace(organisation, **known, data_as_of=dated)


def _parse_stored(field: str, value: object) -> Any:
    if field in {"types", "other_names", "websites"} and isinstance(value, list):
        return tuple(value)
    if field in {"branch_of", "succeeded_by", "same_as"} and isinstance(value, str):
        return UUID(value)
    return datetime.fromisoformat(value) if field == "registration_date" and isinstance(value, str) else value


_MEMBERS: Final = frozenset(field.name for field in fields(Organisation))


@dataclass(frozen=True, slots=True)
class EffectiveBranding:
    """How an organisation is shown: its own branding, else its record."""

    organisation_id: UUID
    display_name: str
    description: str
    logo: str | None
    images: tuple[str, ...]
    primary_color: str | None


@dataclass(frozen=True, slots=True)
class PublicDetailsChangedEvent:
    """The internal event that an organisation's public details changed, such as its branding."""

    organisation: UUID


PUBLIC_DETAILS_CHANGED: Final = InternalEvent("internal.organisation_details_changed", PublicDetailsChangedEvent)
"""Emitted when what is shown of an organisation changes, but not its register data."""


@dataclass(frozen=True, slots=True)
class DonationMilestone:
    """A donation goal that a nonprofit publishes."""

    id: UUID
    organisation_id: UUID
    goal_amount_minor: int
    currency: str
    reward: str


def can_receive_donations(types: tuple[OrganisationType, ...], *, active: bool) -> bool:
    """Whether an organisation of these types may receive donations."""
    return active and "nonprofit" in types


def donation_currencies_of_country(country_code: str) -> tuple[str, ...]:
    """The country's currency first, then USD, EUR and GBP."""
    own = currency_of_country(country_code)
    return tuple(dict.fromkeys((own, *WORLD_CURRENCIES) if own else WORLD_CURRENCIES))
