"""A partner: the account of one product that uses this service."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from almoner.kit.public_links import NO_LINKS, PublicLinks

Period = Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class PartnerAccount:
    """A partner's account and settings. ``redirect_hosts``: hosts allowed in successUrl (None: any).

    ``shares_donor_details``: its answers and events name donors. ``requires_gift_aid``: gifts that could have gift aid
    need it. ``request_interval``: how often it is asked for its direct donations, from ``request_minimum_multiple``
    least gifts on, to be paid within ``request_due_days``. ``brand_colour`` (``#0d5c4a``) and ``brand_logo`` (key of an
    image) are shown on the hosted page, ``public_links`` below it. ``scim_api``: its SCIM keys work.
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
    scim_api: bool = False
    request_interval: Period = "month"
    request_minimum_multiple: int = 0
    request_due_days: int = 30
    public_links: PublicLinks = NO_LINKS
