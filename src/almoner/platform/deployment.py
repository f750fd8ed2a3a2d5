"""The deployment that a transaction runs in: environment, clocks, identifiers, addresses and secrets."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from almoner.kit.ids import RecordIdCodec
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
    """This installation of Almoner: its environment, clocks, identifiers, base URLs and secrets.

    ``outbound_address_policy``: the addresses that webhooks may be sent to. ``webhook_source_addresses``: the addresses
    that they are sent from. ``max_data_age``: older published data is shown as stale; None: never.
    ``second_look_percent``: the share of reviews that a second reviewer also decides, for comparison. ``time_zone``:
    the receipt issuer's, for dates on documents, statements and pages. ``public_links``: the operator's links, shown on
    all pages and in all emails. ``identity``: which deployment this is, and whether it may act outside its database.
    """

    environment: Environment
    clock: Clock
    ids: RecordIdCodec
    base_urls: BaseUrls
    vault: Vault
    outbound_address_policy: AddressPolicy = PUBLIC_ONLY
    webhook_source_addresses: tuple[str, ...] = ()
    max_data_age: timedelta | None = None
    second_look_percent: int = 0
    public_links: PublicLinks = NO_LINKS
    time_zone: tzinfo = UTC
    identity: DeploymentIdentity = field(default_factory=DeploymentIdentity, compare=False)

    def date_in_issuer_time_zone(self, moment: datetime) -> date:
        """The calendar day of a timestamp in the issuer's time zone."""
        return moment.astimezone(self.time_zone).date()

    @property
    def sandbox(self) -> bool:
        """Whether this is the sandbox environment."""
        return self.environment == "sandbox"
