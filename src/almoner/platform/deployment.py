"""The deployment that a transaction runs in: environment, clocks, identifiers, addresses and secrets."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from almoner.kit.ids import Ids
from almoner.kit.public_links import NO_LINKS, PublicLinks
from almoner.kit.time import Clock
from almoner.platform.crypto import Vault
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.outbound.addresses import PUBLIC_ONLY, AddressPolicy

Environment = Literal["sandbox", "production"]


@dataclass(frozen=True, slots=True)
class BaseUrls:
    """The base URLs of the API and of the pages, without a trailing slash."""

    api: str
    pages: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """The environment, clocks, identifiers, base URLs and secrets of this installation.

    ``receivers``: where webhooks may go. ``source_addresses``: where they come from, as partners are told.
    ``max_age``: what published data may have; older ones are shown as stale, None: whatever their age.
    ``second_look_percent``: how many of a hundred reviews are decided once more by somebody else, to compare.
    ``time_zone``: of who issues receipts, whose days documents, statements and pages show.
    ``public_links``: of whoever runs it, shown on all pages and mails.
    ``identity``: which deployment this is, once its database was looked at, and whether it may act outside.
    """

    environment: Environment
    clock: Clock
    ids: Ids
    links: BaseUrls
    vault: Vault
    receivers: AddressPolicy = PUBLIC_ONLY
    source_addresses: tuple[str, ...] = ()
    max_age: timedelta | None = None
    second_look_percent: int = 0
    public_links: PublicLinks = NO_LINKS
    time_zone: tzinfo = UTC
    identity: DeploymentIdentity = field(default_factory=DeploymentIdentity, compare=False)

    def issuer_day_at(self, moment: datetime) -> date:
        """The calendar day of a timestamp in the issuer's time zone."""
        return moment.astimezone(self.time_zone).date()

    @property
    def sandbox(self) -> bool:
        """Whether this is the sandbox environment."""
        return self.environment == "sandbox"
