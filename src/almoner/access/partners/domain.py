"""A partner: the account of one product that uses this service."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from almoner.kit.errors import AccountPaused
from almoner.kit.public_links import NO_LINKS, PublicLinks

Period = Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class PartnerAccount:
    """A partner's account and settings.

    ``redirect_hosts``: hosts allowed in successUrl (None: any). ``shares_donor_details``: API responses and events
    contain donors' details. ``requires_gift_aid``: eligible donations must have Gift Aid. ``request_interval``,
    ``request_minimum_multiple``, ``request_due_days``: how often donation requests are created, their minimum as a
    multiple of the minimum donation, and the days to pay. ``brand_colour`` (``#0d5c4a``) and ``brand_logo`` (key of an
    image): shown on the hosted page. ``public_links``: shown below it. ``scim_enabled``: SCIM keys are turned on.
    ``paused_at``, ``pause_reason``: since when and why operators have paused donations through the partner.
    """

    id: UUID
    name: str
    redirect_hosts: tuple[str, ...] | None
    settlement_currencies: tuple[str, ...]
    created_at: datetime
    brand_colour: str | None = None
    brand_logo: str | None = None
    shares_donor_details: bool = True
    requires_gift_aid: bool = False
    scim_enabled: bool = False
    request_interval: Period = "month"
    request_minimum_multiple: int = 0
    request_due_days: int = 30
    public_links: PublicLinks = NO_LINKS
    paused_at: datetime | None = None
    pause_reason: str | None = None

    @property
    def is_paused(self) -> bool:
        """Whether no donation can be started through the partner."""
        return self.paused_at is not None

    def ensure_not_paused(self) -> None:
        """Raises AccountPaused."""
        if self.is_paused:
            raise AccountPaused
