"""Composition: from settings to the living parts. The only module that names adapters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.routing import BaseRoute

from almoner.access.guard import KeyGuard, Limits
from almoner.adapters.registers_irs_bmf import IrsBmf
from almoner.giving.donations.routes import routes as donations
from almoner.giving.sessions.routes import routes as donation_sessions
from almoner.giving.users.routes import routes as users
from almoner.kit.ids import Ids
from almoner.kit.time import Clock, SystemClock
from almoner.nonprofits.categories.routes import routes as categories
from almoner.nonprofits.countries.routes import routes as countries
from almoner.nonprofits.organisations.routes import routes as organisations
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registries.routes import routes as registries
from almoner.platform import db as database
from almoner.platform.addresses import Policy
from almoner.platform.background import Background
from almoner.platform.business_clock import BusinessClock, MovableClock
from almoner.platform.crypto import Vault
from almoner.platform.db import Database
from almoner.platform.deployment import Deployment
from almoner.platform.event_types import EVENT_TYPES, EventType
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.probes import Check
from almoner.platform.outbound import Outbound
from almoner.platform.ratelimit import Limit, RateLimiter
from almoner.platform.telemetry import Telemetry
from almoner.platform.work import Duties
from almoner.settings import Rate, Settings
from almoner.webhooks.deliveries import jobs as webhook_jobs
from almoner.webhooks.deliveries.routes import routes as webhook_deliveries
from almoner.webhooks.events.routes import routes as events
from almoner.webhooks.subscriptions.routes import routes as webhook_subscriptions

ROUTES = (
    organisations,
    countries,
    registries,
    categories,
    users,
    donation_sessions,
    donations,
    webhook_subscriptions,
    webhook_deliveries,
    events,
)
"""The declared endpoints of every slice, in the order of the interface description."""


REGISTER_SOURCES: Mapping[str, RegisterSource] = {source.code: source for source in (IrsBmf(),)}
"""The formats that `almoner registers import` reads."""


@dataclass(frozen=True, slots=True)
class House:
    """The living parts of one process."""

    settings: Settings
    clock: MovableClock
    db: Database
    telemetry: Telemetry
    limiter: RateLimiter
    guard: KeyGuard
    outbound: Outbound
    background: Background
    routes: list[Routes] = field(default_factory=list)
    pages: list[BaseRoute] = field(default_factory=list)
    checks: Mapping[str, Check] = field(default_factory=dict)
    events: Mapping[str, EventType] = field(default_factory=dict)

    async def close(self) -> None:
        """Close what was opened."""
        await self.outbound.close()
        await self.db.close()


def _limit(policy: str, rate: Rate) -> Limit:
    return Limit(policy, rate.per_second, rate.burst)


def deployment_of(settings: Settings, clock: Clock) -> Deployment:
    """Where and as what the service runs."""
    return Deployment(
        settings.environment,
        clock,
        Ids(sandbox=settings.sandbox),
        settings.links,
        Vault(settings.master_key_bytes),
        receivers=Policy(loopback=settings.sandbox and settings.loopback_only),
        source_addresses=tuple(settings.webhook_source_addresses),
    )


def duties(db: Database, outbound: Outbound) -> Duties:
    """What every slice does in the background."""
    return Duties(handlers=webhook_jobs.handlers(db, outbound), reactions=webhook_jobs.reactions)


async def open_house(
    settings: Settings, *, clock: MovableClock | None = None, telemetry: Telemetry | None = None
) -> House:
    """Connect to the database and compose. Raises OSError or asyncpg.PostgresError without a database."""
    clock = clock or BusinessClock(SystemClock())
    telemetry = telemetry or Telemetry()
    deployment = deployment_of(settings, clock)
    db = await database.connect(settings.dsn, deployment, size=settings.database_pool)
    limiter = RateLimiter()
    limits = Limits(
        _limit("secret", settings.secret_key_rate),
        _limit("publishable", settings.rate_limit_publishable),
        _limit("address", settings.rate_limit_address),
    )
    guard = KeyGuard(db, clock, limiter, limits)
    outbound = Outbound(deployment.receivers)
    background = Background(db, duties(db, outbound), telemetry)
    return House(
        settings, clock, db, telemetry, limiter, guard, outbound, background, routes=[*ROUTES], events=EVENT_TYPES
    )
