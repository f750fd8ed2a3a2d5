"""Composition: from settings to the living parts. The only module that names adapters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from starlette.routing import BaseRoute

from almoner.access.guard import KeyGuard, Limits
from almoner.adapters.mail_mailbox import Mailbox
from almoner.adapters.mail_smtp import SmtpServer
from almoner.adapters.payments_test import TestProvider
from almoner.adapters.registers_irs_bmf import IrsBmf
from almoner.adapters.till_test import TestTill
from almoner.giving.donations import flows
from almoner.giving.donations import jobs as donation_jobs
from almoner.giving.donations.flows import PaymentWork
from almoner.giving.donations.pages import callback_routes
from almoner.giving.donations.routes import routes as donations
from almoner.giving.gateway.pages import SANDBOX_TRIES, TEMPLATES, TRIES, GivePages
from almoner.giving.gateway.ports import Checkout
from almoner.giving.payments.ports import PaymentProvider
from almoner.giving.receipts import jobs as receipt_jobs
from almoner.giving.receipts import service as receipts
from almoner.giving.sessions import jobs as session_jobs
from almoner.giving.sessions.routes import routes as donation_sessions
from almoner.giving.users.routes import routes as users
from almoner.kit.ids import Ids
from almoner.kit.time import Clock, SystemClock
from almoner.migrations import REVISIONS
from almoner.nonprofits.categories.routes import routes as categories
from almoner.nonprofits.countries.routes import routes as countries
from almoner.nonprofits.organisations.routes import routes as organisations
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registries.routes import routes as registries
from almoner.platform import db as database
from almoner.platform import idempotency, readiness
from almoner.platform.addresses import Policy
from almoner.platform.background import Background
from almoner.platform.business_clock import BusinessClock, MovableClock
from almoner.platform.crypto import Vault
from almoner.platform.db import Database
from almoner.platform.deployment import Deployment
from almoner.platform.event_types import EVENT_TYPES, EventType
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.probes import Check
from almoner.platform.mail import MailTransport
from almoner.platform.outbound import Outbound
from almoner.platform.pages import assets, reports
from almoner.platform.pages.rendering import Pages
from almoner.platform.ratelimit import Limit, RateLimiter
from almoner.platform.telemetry import Telemetry
from almoner.platform.work import Duties, Schedule
from almoner.provider_test.app import ProviderTest
from almoner.sandbox.clock import SandboxClock
from almoner.sandbox.pages import TEMPLATES as SANDBOX_TEMPLATES
from almoner.sandbox.pages import MailboxPages
from almoner.sandbox.routes import sandbox_routes
from almoner.sandbox.simulate import Simulation
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


_SANDBOX_SENDER = "Almoner sandbox <sandbox@almoner.example>"

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
    provider: TestProvider | None
    provider_app: ProviderTest | None
    routes: list[Routes] = field(default_factory=list)
    pages: list[BaseRoute] = field(default_factory=list)
    checks: Mapping[str, Check] = field(default_factory=dict)
    events: Mapping[str, EventType] = field(default_factory=dict)

    async def close(self) -> None:
        """Close what was opened."""
        await self.outbound.close()
        if self.provider is not None:
            await self.provider.close()
        await self.db.close()


def _limits(settings: Settings) -> Limits:
    def limit(policy: str, rate: Rate) -> Limit:
        return Limit(policy, rate.per_second, rate.burst)

    return Limits(
        limit("secret", settings.secret_key_rate),
        limit("publishable", settings.rate_limit_publishable),
        limit("address", settings.rate_limit_address),
    )


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


TIDYING = (Schedule("idempotency.purge", idempotency.next_due, idempotency.purge, every=timedelta(hours=1)),)


def duties(db: Database, outbound: Outbound, provider: PaymentProvider | None, transport: MailTransport) -> Duties:
    """What every slice does in the background."""
    handlers = {
        **webhook_jobs.handlers(db, outbound),
        **receipt_jobs.handlers(Pages(db.deployment, receipts.MAILS), transport),
    }
    if provider is not None:
        handlers |= donation_jobs.handlers(provider)
    return Duties(
        handlers,
        reactions=(*webhook_jobs.reactions, *receipt_jobs.reactions),
        schedules=(*session_jobs.schedules, *donation_jobs.schedules, *TIDYING),
    )


def _mail(settings: Settings, db: Database) -> MailTransport:
    sender = settings.mail_from or _SANDBOX_SENDER
    if settings.mail_url is not None:
        return SmtpServer(settings.mail_url.get_secret_value(), sender, db.deployment.clock)
    return Mailbox(db, sender)


def _giving_pages(db: Database, provider: PaymentProvider, limiter: RateLimiter) -> list[BaseRoute]:
    work = PaymentWork(db, provider)
    checkout = Checkout(provider.origin, partial(flows.begin_payment, work), partial(flows.return_from_provider, work))
    tries = SANDBOX_TRIES if db.deployment.sandbox else TRIES
    gateway = GivePages(db, Pages(db.deployment, TEMPLATES), checkout, limiter, tries)
    return [*gateway.routes(), *callback_routes(work)]


def _sandbox_pages(db: Database) -> list[BaseRoute]:
    return [*MailboxPages(db, Pages(db.deployment, SANDBOX_TEMPLATES)).routes()]


async def open_house(
    settings: Settings, *, clock: MovableClock | None = None, telemetry: Telemetry | None = None
) -> House:
    """Connect to the database and compose. Raises OSError or asyncpg.PostgresError without a database."""
    clock = clock or BusinessClock(SystemClock())
    telemetry = telemetry or Telemetry()
    deployment = deployment_of(settings, clock)
    db = await database.connect(settings.dsn, deployment, size=settings.database_pool)
    limiter = RateLimiter()
    guard = KeyGuard(db, clock, limiter, _limits(settings))
    outbound = Outbound(deployment.receivers)
    pages: list[BaseRoute] = [*assets.ROUTES, *reports.routes(telemetry, clock)]
    provider = provider_app = None
    if settings.sandbox:
        secret = deployment.vault.keyed_hash("provider-test", b"merchant").hex()
        provider = TestProvider(settings.provider_base_url, secret)
        provider_app = ProviderTest(db, outbound, telemetry, url=settings.provider_base_url, secret=secret)
        pages += [*_giving_pages(db, provider, limiter), *_sandbox_pages(db)]
    background = Background(db, duties(db, outbound, provider, _mail(settings, db)), telemetry)
    routes = [*ROUTES]
    if provider is not None:
        routes.append(sandbox_routes(SandboxClock(background, clock), Simulation(db, provider, TestTill(db))))
    return House(
        settings,
        clock,
        db,
        telemetry,
        limiter,
        guard,
        outbound,
        background,
        provider,
        provider_app,
        routes=routes,
        pages=pages,
        checks=readiness.checks(db, REVISIONS[-1]),
        events=EVENT_TYPES,
    )
