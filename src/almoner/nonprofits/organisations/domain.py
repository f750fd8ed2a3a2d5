"""Organisations: the record of settled 4, and what follows from it by rule."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from almoner.nonprofits.countries.domain import currency_of
from almoner.nonprofits.organisations.words import searchable as searchable

OrganisationType = Literal["nonprofit", "social_impact", "education"]

WORLD_CURRENCIES: Final = ("USD", "EUR", "GBP")


@dataclass(frozen=True, slots=True)
class Organisation:
    """One body of a register. ``registry_id`` is the registry's record, ``registry_number`` the body's number."""

    id: UUID
    partner_id: UUID | None
    registry_id: UUID
    registry_code: str
    registry_name: str
    registry_number: str
    name: str
    display_name: str | None
    other_name: str | None
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
    data_as_of: datetime | None
    first_seen: datetime | None
    logo: str | None
    images: tuple[str, ...]
    created_at: datetime
    updated_at: datetime

    @property
    def shown_name(self) -> str:
        """The name to show to people."""
        return self.display_name or self.name

    @property
    def address(self) -> str | None:
        """The address in one line."""
        place = " ".join(part for part in (self.state, self.postcode) if part)
        lines = [self.address_line_1, self.address_line_2, self.city, place]
        return ", ".join(line for line in lines if line) or None

    @property
    def currency(self) -> str | None:
        """The currency of its country."""
        return currency_of(self.country_code)

    @property
    def receives(self) -> tuple[str, ...]:
        """The currencies of donations that it can receive; none when it cannot receive any."""
        return receivable_currencies(self.country_code) if can_receive(self.types, active=self.active) else ()


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a record that the data of a day changed. ``field`` is a member of ``Organisation``."""

    id: int
    at: datetime
    field: str
    before: object
    after: object
    source: str


def as_of(organisation: Organisation, changes: Iterable[Change], day: datetime) -> Organisation | None:
    """The record as it stood after the data of ``day``; None when it was not known yet.

    ``changes`` are all of the organisation's, newest first; those of later data are undone.
    """
    if day < (organisation.first_seen or organisation.created_at):
        return None
    undone = {change.field: _stored(change.field, change.before) for change in changes if change.at > day}
    dated = min(day, organisation.data_as_of) if organisation.data_as_of else None
    return replace(organisation, **{**undone, "data_as_of": dated})


def _stored(field: str, value: object) -> Any:
    if field == "types" and isinstance(value, list):
        return tuple(value)
    return datetime.fromisoformat(value) if field == "registration_date" and isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Branding:
    """How an organisation wishes to be shown; what it has not said falls back to its record."""

    organisation_id: UUID
    display_name: str
    description: str
    logo: str | None
    images: tuple[str, ...]
    primary_color: str | None


@dataclass(frozen=True, slots=True)
class Milestone:
    """A goal that a nonprofit publishes: from ``amount_minor`` on, this is the reward."""

    id: UUID
    organisation_id: UUID
    amount_minor: int
    currency: str
    reward: str


def can_receive(types: tuple[OrganisationType, ...], *, active: bool) -> bool:
    """Donations go to nonprofits that their register lists now; paying out asks for more (settled 5)."""
    return active and "nonprofit" in types


def receivable_currencies(country_code: str) -> tuple[str, ...]:
    """The currency of the organisation's country first, then US dollar, euro and pound sterling."""
    own = currency_of(country_code)
    return tuple(dict.fromkeys((own, *WORLD_CURRENCIES) if own else WORLD_CURRENCIES))
