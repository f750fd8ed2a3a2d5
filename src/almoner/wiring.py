"""Composes the application from its settings."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from almoner import deployment_probes, migrations
from almoner.access.guard import KeyGuard, RateLimits
from almoner.access.request_recorder import ApiRequestRecorder
from almoner.adapters.lazy import build_mail_host_lookup
from almoner.adapters.mail_hosts_sandbox import SandboxMailHostLookup
from almoner.adapters.scanner_clamd import ClamdScanner
from almoner.backends import build_mail_transport, build_storage
from almoner.console.service_status_page import StatusFileWriter, StatusPageRenderer
from almoner.giving.accounting.dispute_evidence import service as dispute_evidence
from almoner.giving.accounting.disputes.flows import DisputeContext
from almoner.giving.accounting.refunds.routes import refund_routes
from almoner.giving.checkout.card_testing.domain import LOOSE_LIMITS, STRICT_LIMITS, CardTestingLimits
from almoner.giving.checkout.donation_requests.routes import routes as donation_requests
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.donations.routes import routes as donations
from almoner.giving.checkout.giving_links.routes import giving_link_routes
from almoner.giving.checkout.sessions.routes import routes as donation_sessions
from almoner.giving.checkout.sessions.routes import session_creation_routes
from almoner.giving.checkout.users.routes import routes as users
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.disbursements.routes import routes as disbursements
from almoner.giving.disbursing.verifications.routes import routes as monetary_donation_verifications
from almoner.giving.gift_aid.declarations.routes import routes as gift_aid
from almoner.giving.subscriptions.donation_subscriptions.routes import routes as donation_subscriptions
from almoner.job_registry import BackgroundDependencies, build_background_tasks, email_job_kind_names
from almoner.kit.time import Clock, SystemClock
from almoner.nonprofits.activities.routes import routes as activities
from almoner.nonprofits.categories.routes import routes as categories
from almoner.nonprofits.countries.routes import routes as countries
from almoner.nonprofits.organisations.routes import routes as organisations
from almoner.nonprofits.registries.routes import routes as registries
from almoner.platform.business_clock import BusinessClock, MovableClock
from almoner.platform.database import key_check, postgres, transactions
from almoner.platform.database.copy_watch import CopiedDatabaseMonitor
from almoner.platform.database.disk_watch import DiskSpaceMonitor
from almoner.platform.database.transactions import Database
from almoner.platform.events.event_types import EVENT_TYPES, EventType
from almoner.platform.events.waiters import EventLongPollWaiters
from almoner.platform.files.storage import BlobStore
from almoner.platform.files.uploads.checking import UploadChecker
from almoner.platform.http.caller import AccessGuard
from almoner.platform.http.drain import ConnectionDrain
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.lazy_application import LazyApplication
from almoner.platform.http.probes import Check
from almoner.platform.http.service import ApiApplication
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks
from almoner.platform.observability import readiness
from almoner.platform.observability.deployment_checks import DependencyMonitor
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.platform.ratelimit import RateLimit, RateLimiter
from almoner.provider_test.app import SimulatedPaymentProvider
from almoner.providers import (
    PaymentProviderClient,
    build_payment_simulator,
    build_provider_client_and_simulated_provider,
    load_bank_accounts_by_currency,
)
from almoner.sandbox import (
    simulate_agents,
    simulate_appeals,
    simulate_direct,
    simulate_disputes,
    simulate_donations,
    simulate_eligibility,
    simulate_expiries,
    simulate_money,
    simulate_monitoring,
    simulate_registers,
    simulate_requests,
    simulate_subscriptions,
    simulate_verifications,
    simulate_webhooks,
)
from almoner.sandbox.clock import SandboxClock
from almoner.sandbox.ports import PaymentSimulator
from almoner.sandbox.routes import sandbox_routes
from almoner.sandbox.simulate import Simulation
from almoner.screening.matching.service import CERTAIN_SCORE
from almoner.screening.screenings.service import Screener
from almoner.settings import InvalidSettings, RequestRate, Settings, build_deployment
from almoner.sources import build_register_refresh_context, build_watchlist_refresh_context
from almoner.validation.agents.routes import routes as agent_verifications
from almoner.validation.applications.configurations.routes import routes as submission_configurations
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.applications.documents.ports import DisabledMalwareScanner, MalwareScanner
from almoner.validation.applications.invites.routes import routes as validation_invites
from almoner.validation.applications.submissions.routes import routes as validation_submissions
from almoner.validation.decisions.appeals.routes import routes as appeals
from almoner.validation.ongoing.eligibility.routes import routes as eligibility_subscriptions
from almoner.validation.ongoing.monitoring.routes import routes as monitoring_subscriptions
from almoner.validation.requests.routes import routes as validation_requests
from almoner.webhooks.deliveries.routes import routes as webhook_deliveries
from almoner.webhooks.events.routes import event_routes
from almoner.webhooks.subscriptions.routes import routes as webhook_subscriptions

if TYPE_CHECKING:
    from almoner.platform.observability.tracing import Tracing

_EARLIER_FILES: Final = 10
"""How many files of each kind before a missing one are looked up, to know whether the whole storage is missing."""

ROUTES = (
    organisations,
    countries,
    registries,
    activities,
    categories,
    validation_requests,
    users,
    gift_aid,
    donation_sessions,
    donations,
    donation_subscriptions,
    donation_requests,
    disbursements,
    monetary_donation_verifications,
    agent_verifications,
    monitoring_subscriptions,
    eligibility_subscriptions,
    submission_configurations,
    validation_invites,
    validation_submissions,
    appeals,
    webhook_subscriptions,
    webhook_deliveries,
)
"""The declared endpoints of every slice, in the order of the interface description."""


@dataclass(frozen=True, slots=True)
class Services:
    """All components of one process."""

    settings: Settings
    clock: MovableClock
    db: Database
    telemetry: Telemetry
    rate_limiter: RateLimiter
    key_guard: KeyGuard
    scim_application: LazyApplication
    outbound: OutboundClient
    background_worker: BackgroundWorker
    database_copy_monitor: CopiedDatabaseMonitor
    disk_space_monitor: DiskSpaceMonitor
    upload_checker: UploadChecker
    upload_intake: UploadIntake
    event_waiters: EventLongPollWaiters
    provider: PaymentProviderClient | None
    provider_app: SimulatedPaymentProvider | None
    api: ApiApplication
    dependency_monitor: DependencyMonitor
    api_requests: ApiRequestRecorder
    routes: list[Routes] = field(default_factory=list)
    pages: list[BaseRoute] = field(default_factory=list)
    checks: Mapping[str, Check] = field(default_factory=dict)
    events: Mapping[str, EventType] = field(default_factory=dict)
    drain: ConnectionDrain = field(default_factory=ConnectionDrain)
    tracing: "Tracing | None" = None

    async def close(self) -> None:
        """Close all connections."""
        self.upload_checker.close()
        await self.outbound.close()
        if self.provider is not None:
            await self.provider.close()
        await self.database_copy_monitor.close()
        await self.db.close()
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.close)


def _limits(settings: Settings) -> RateLimits:
    def limit(policy: str, rate: RequestRate) -> RateLimit:
        return RateLimit(policy, rate.per_second, rate.burst)

    return RateLimits(
        limit("secret", settings.secret_key_rate_limit),
        limit("publishable", settings.rate_limit_publishable),
        limit("address", settings.rate_limit_address),
        limit("wrong_keys", settings.rate_limit_wrong_keys),
        limit("scim", settings.rate_limit_scim),
    )


def _api_routes(
    payment_context: PaymentContext | None, rules: DisbursementRules, waiters: EventLongPollWaiters
) -> list[Routes]:
    payable = None if payment_context is None else payment_context.provider.currencies
    links = giving_link_routes(payable)
    return [*ROUTES, event_routes(waiters), session_creation_routes(payable), links, refund_routes(rules)]


def _sandbox_tools(
    settings: Settings,
    payment_context: PaymentContext | None,
    rules: DisbursementRules,
    background: BackgroundWorker,
    clock: MovableClock,
    catalogues: TranslationCatalogues,
) -> list[Routes]:
    if not settings.sandbox or payment_context is None:
        return []
    moved = SandboxClock(background, clock)
    simulator = build_payment_simulator(settings, payment_context.db)
    return [sandbox_routes(moved, build_simulation(payment_context, simulator, rules, catalogues))]


def build_simulation(
    payment_context: PaymentContext,
    simulator: PaymentSimulator,
    disbursement_rules: DisbursementRules,
    catalogues: TranslationCatalogues,
) -> Simulation:
    """The actions that the sandbox can simulate on partners' records."""
    db = payment_context.db
    return Simulation(
        db.deployment.ids,
        simulate_donations.simulated_donation_actions(payment_context, simulator, catalogues),
        simulate_subscriptions.simulated_donation_subscription_actions(payment_context, simulator),
        simulate_direct.simulated_direct_donation_actions(db),
        simulate_money.simulated_settlement_and_disbursement_actions(db, payment_context.provider, disbursement_rules),
        simulate_disputes.simulated_dispute_actions(
            DisputeContext(db, payment_context.provider, disbursement_rules), simulator
        ),
        simulate_verifications.simulated_monetary_donation_verification_actions(db),
        simulate_requests.simulated_validation_request_actions(db),
        simulate_agents.simulated_agent_actions(db),
        simulate_monitoring.simulated_monitoring_actions(db),
        simulate_eligibility.simulated_eligibility_actions(db),
        simulate_appeals.simulated_appeal_actions(db),
        simulate_expiries.simulated_session_and_invite_expiry_actions(db),
        simulate_webhooks.simulated_webhook_actions(db),
        simulate_registers.simulated_organisation_update_actions(db),
    )


def _scanner(settings: Settings) -> MalwareScanner | None:
    if settings.skips_virus_scan:
        return DisabledMalwareScanner()
    return None if settings.scanner_url is None else ClamdScanner(settings.scanner_url)


def _card_testing_limits(settings: Settings) -> CardTestingLimits:
    return STRICT_LIMITS if settings.card_testing_mode == "strict" else LOOSE_LIMITS


def _build_background_tasks(
    settings: Settings,
    db: Database,
    outbound: OutboundClient,
    provider: PaymentProviderClient | None,
    catalogues: TranslationCatalogues,
    telemetry: Telemetry,
    blobs: BlobStore,
    api: ApiApplication,
    screener: Screener,
) -> BackgroundTasks:
    return build_background_tasks(
        BackgroundDependencies(
            db=db,
            outbound=outbound,
            provider=provider,
            payout_reports=None if provider is None else provider.payout_report_source(),
            refund_statuses=None if provider is None else provider.refund_status_reader(),
            mail_transport=build_mail_transport(settings, db),
            catalogues=catalogues,
            card_testing_limits=_card_testing_limits(settings),
            disbursement_rules=DisbursementRules(settings.disbursement_min_donations),
            telemetry=telemetry,
            audit_head_folder=settings.audit_heads_folder,
            register_refresh_context=build_register_refresh_context(
                settings, db.deployment.outbound_address_policy, outbound, telemetry
            ),
            watchlists=build_watchlist_refresh_context(
                settings, db.deployment.outbound_address_policy, outbound, telemetry
            ),
            name_agreement=settings.name_match_threshold or CERTAIN_SCORE,
            mail_hosts=SandboxMailHostLookup() if settings.sandbox else build_mail_host_lookup(),
            blobs=blobs,
            scanner=_scanner(settings),
            screener=screener,
            pay_to=load_bank_accounts_by_currency(settings),
            retention=RetentionPeriods(
                timedelta(settings.rejected_retention_days), timedelta(settings.accepted_retention_days)
            ),
            api=api,
        )
    )


async def _build_document_storage(
    settings: Settings, db: Database, telemetry: Telemetry
) -> tuple[CopiedDatabaseMonitor, BlobStore]:
    """The document storage, and the watch that tells whether this database may delete from it."""
    storage = build_storage(settings)
    watch = CopiedDatabaseMonitor(db, storage, settings.dsn, telemetry)
    await watch.check_whether_database_was_copied()
    identity, list_known = db.deployment.identity, partial(_list_earlier_blob_keys, db)
    return watch, BlobStore(storage, db.deployment.vault, identity, watch.ensure_owns_storage, list_known)


async def _list_earlier_blob_keys(db: Database, record_id: UUID) -> list[str]:
    """Some files that the document storage should hold: documents and evidence from before this record."""
    async with db.read() as tx:
        return [
            *await documents.list_storage_keys_of_earlier_documents(tx, record_id, _EARLIER_FILES),
            *await dispute_evidence.list_storage_keys_of_earlier_disputes(tx, record_id, _EARLIER_FILES),
        ]


def _build_tracing(settings: Settings, clock: Clock) -> "Tracing | None":
    """The tracing; None if disabled, without importing it."""
    if not settings.traces_url:
        return None
    try:
        from almoner.platform.observability.tracing import Tracing
    except ModuleNotFoundError as error:
        problem = f"ALMONER_TRACES_URL needs packages that are not installed ({error.name})"
        raise InvalidSettings([f"{problem}: run pip install 'almoner[traces]'"]) from None
    return Tracing(settings.traces_url, settings.traces_share, settings.environment, clock)


def _build_outbound(db: Database, tracing: "Tracing | None") -> OutboundClient:
    listeners = [] if tracing is None else [tracing.outbound_trace_config()]
    return OutboundClient(db.deployment.outbound_address_policy, identity=db.deployment.identity, listeners=listeners)


def _traced(tracing: "Tracing | None", tasks: BackgroundTasks) -> BackgroundTasks:
    return tasks if tracing is None else replace(tasks, handlers=tracing.trace_job_handlers(tasks.handlers))


async def _open_database(settings: Settings, clock: MovableClock, tracing: "Tracing | None") -> Database:
    deployment = build_deployment(settings, clock)
    listener = None if tracing is None else tracing.record_statement
    db = await transactions.open_service_database(
        settings.dsn, deployment, pool_size=settings.database_pool, on_statement=listener
    )
    try:
        await key_check.ensure_master_key(db)
    except BaseException:
        await db.close()
        raise
    return db


def _load_scim(db: Database, guard: AccessGuard) -> ASGIApp:
    from almoner.scim.application import ScimApplication  # on first use: 15 MB

    return ScimApplication(db, guard)


def _schema_refusal(revision: str, compatible: list[str]) -> str | None:
    return migrations.DatabaseState(revision, frozenset(compatible)).refusal_message


def _build_upload_checks(
    settings: Settings, db: Database, telemetry: Telemetry, blobs: BlobStore
) -> tuple[UploadChecker, UploadIntake]:
    checker = UploadChecker(telemetry.record_upload_check)
    return checker, UploadIntake(db, checker, blobs, scans=not settings.skips_virus_scan)


def _build_dependency_monitor(settings: Settings, db: Database, telemetry: Telemetry) -> DependencyMonitor:
    probes = deployment_probes.build_external_probes(settings, db.deployment.clock)
    return DependencyMonitor(probes, db.deployment, telemetry)


def _build_disk_watch(settings: Settings, db: Database, telemetry: Telemetry) -> DiskSpaceMonitor:
    folders = postgres.possible_cluster_folders(settings.data_dir)
    watch = DiskSpaceMonitor(db.disk, folders, settings.disk_reserve_bytes, db.deployment.clock, telemetry)
    watch.check()
    return watch


def _with_pages(
    services: Services,
    catalogues: TranslationCatalogues,
    blobs: BlobStore,
    payment_context: PaymentContext | None,
    rules: DisbursementRules,
    screener: Screener,
) -> Services:
    from almoner.page_registry import PageDependencies, build_pages  # imported by servers only

    parts = PageDependencies(
        services.settings,
        services.db,
        services.telemetry,
        catalogues,
        services.rate_limiter,
        services.outbound,
        services.upload_intake,
        _scanner(services.settings),
        blobs,
        services.provider,
        payment_context,
        services.api,
        rules,
        _limits(services.settings),
        screener,
        services.background_worker.sweeper.list_periodic_jobs,
        StatusPageRenderer(services.db, email_job_kind_names()),
    )
    return replace(services, pages=build_pages(parts))


def build_status_page_writer(services: Services) -> StatusFileWriter:
    """The writer of the static status page, for a worker."""
    renderer = StatusPageRenderer(services.db, email_job_kind_names())
    return StatusFileWriter(renderer, services.settings.status_folder, services.telemetry)


async def build_services(
    settings: Settings,
    *,
    clock: MovableClock | None = None,
    telemetry: Telemetry | None = None,
    catalogues: TranslationCatalogues | None = None,
    serves_pages: bool = True,
) -> Services:
    """Connect to the database and compose. Raises OSError or asyncpg.PostgresError without a database.

    ``serves_pages``: False in a worker, which then never loads them.
    """
    clock = clock or BusinessClock(SystemClock())
    telemetry, catalogues, screener = telemetry or Telemetry(), catalogues or TranslationCatalogues(), Screener()
    db = await _open_database(settings, clock, tracing := _build_tracing(settings, clock))
    watch, blobs = await _build_document_storage(settings, db, telemetry)
    limiter, waiters = RateLimiter(), EventLongPollWaiters(db)
    rules = DisbursementRules(settings.disbursement_min_donations)
    guard = KeyGuard(db, clock, limiter, _limits(settings))
    outbound = _build_outbound(db, tracing)
    provider, provider_app = build_provider_client_and_simulated_provider(settings, db, outbound, telemetry, catalogues)
    payment_context = None if provider is None else PaymentContext(db, provider, _card_testing_limits(settings))
    checker, intake = _build_upload_checks(settings, db, telemetry, blobs)
    routes = _api_routes(payment_context, rules, waiters)
    jobs_api = ApiApplication(db, guard, routes)  # for jobs; without the sandbox's tools, which run jobs
    tasks = _build_background_tasks(settings, db, outbound, provider, catalogues, telemetry, blobs, jobs_api, screener)
    background = BackgroundWorker(db, _traced(tracing, tasks), telemetry)
    routes = [*routes, *_sandbox_tools(settings, payment_context, rules, background, clock, catalogues)]
    services = Services(
        settings,
        clock,
        db,
        telemetry,
        limiter,
        guard,
        LazyApplication(partial(_load_scim, db, guard)),
        outbound,
        background,
        watch,
        _build_disk_watch(settings, db, telemetry),
        checker,
        intake,
        waiters,
        provider,
        provider_app,
        ApiApplication(db, guard, routes, intake),
        routes=routes,
        checks=readiness.readiness_checks(db, migrations.STATE_QUERY, _schema_refusal),
        events=EVENT_TYPES,
        tracing=tracing,
        dependency_monitor=_build_dependency_monitor(settings, db, telemetry),
        api_requests=ApiRequestRecorder(db, telemetry),
    )
    return _with_pages(services, catalogues, blobs, payment_context, rules, screener) if serves_pages else services
