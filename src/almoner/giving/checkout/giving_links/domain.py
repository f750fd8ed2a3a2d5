"""Giving links: permanent pages at ``/g/{slug}``, and which nonprofits accept donations by them (settled 11)."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.sessions.domain import NO_OPTIONS, DonationFrequency, DonationOptions
from almoner.kit.errors import BadRequest

MAX_LINKS: Final = 1000
"""The maximum number of giving links of one partner."""
MAX_ORGANISATIONS: Final = 50
_SLUG: Final = re.compile(r"[a-z0-9](-?[a-z0-9])*")
MIN_SLUG: Final = 3
MAX_SLUG: Final = 60
_SLUG_OF_TITLE: Final = 40


class OrganisationNotFound(BadRequest):
    code = "giving_link/organisation_not_found"
    message = "There is no organisation with this ID"


class CategoryNotFound(BadRequest):
    code = "giving_link/category_not_found"
    message = "There is no category with this ID"


class CannotAcceptDonations(BadRequest):
    code = "giving_link/cannot_accept_donations"
    message = "Giving links cannot be created for this organisation"


class SlugTaken(BadRequest):
    code = "giving_link/slug_taken"
    message = "This slug is or was used by another giving link; choose another slug"


class InvalidMetadata(BadRequest):
    code = "giving_link/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


@dataclass(frozen=True, slots=True)
class GivingLink:
    """A permanent donation page for some organisations or a category; the donor chooses one.

    Amounts of ``options`` and ``goal_minor`` are in minor units of its only currency; without ``currencies``, donors
    may give in any that the organisation receives. ``allowed_origins``: sites that may show its form in a frame.
    ``shows_progress``: the page shows the amount raised and the number of donors.
    """

    id: UUID
    partner_id: UUID
    slug: str
    title: str
    text: str | None
    image_key: str | None
    organisation_ids: tuple[UUID, ...]
    category_id: UUID | None
    currencies: tuple[str, ...]
    frequencies: tuple[DonationFrequency, ...]
    goal_minor: int | None
    shows_progress: bool
    allowed_origins: tuple[str, ...]
    success_url: str | None
    metadata: Mapping[str, str] | None
    active: bool
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    options: DonationOptions = NO_OPTIONS

    def is_open(self, now: datetime) -> bool:
        """Whether the link accepts donations."""
        return self.active and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class GivingLinkRecipient:
    """An organisation of a giving link.

    ``primary_organisation_id``: its primary record's. ``has_opted_out``: it opted out of giving links.
    ``has_open_verification_flag``: its verification has an open flag.
    """

    listed_organisation_id: UUID
    primary_organisation_id: UUID
    can_receive_donations: bool
    currencies: tuple[str, ...]
    has_opted_out: bool
    has_open_verification_flag: bool

    @property
    def ineligibility_reason(self) -> str | None:
        """Why it cannot receive donations by a giving link; None if it can."""
        if not self.can_receive_donations:
            return "cannot accept donations: they go to nonprofits that their register lists as active"
        if self.has_opted_out:
            return "does not want donations by giving links"
        return "is under review and cannot be given to by giving links now" if self.has_open_verification_flag else None


@dataclass(frozen=True, slots=True)
class GivingLinkOptOut:
    """A nonprofit's opt-out of giving links. ``reason``: the nonprofit's reason, as recorded by an operator."""

    organisation_id: UUID
    reason: str
    recorded_by: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class FundraisingProgress:
    """The amount raised through a link in its currency, minus refunds, and the number of donors."""

    raised_minor: int
    donor_count: int


def is_slug(text: str) -> bool:
    """Whether a text can be a slug: lower-case letters, digits and single hyphens between them."""
    return MIN_SLUG <= len(text) <= MAX_SLUG and _SLUG.fullmatch(text) is not None


def slug_of_title(title: str) -> str:
    """A slug from a title; empty if too few letters remain, for example in other scripts."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:_SLUG_OF_TITLE]
        if len(longer) > _SLUG_OF_TITLE:
            break
        slug = longer
    return slug if is_slug(slug) else ""
