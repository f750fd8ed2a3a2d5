"""All pages of a server, built from its parts. Imported only where pages are served, so not by workers."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.routing import BaseRoute, Route

from almoner.access.accounts import pages as accounts_pages
from almoner.access.accounts.domain import MEMBERS_HOME, OPERATORS_HOME, NavigationLink
from almoner.access.accounts.page_guard import PageGuard
from almoner.access.guard import RateLimits
from almoner.access.members import pages as members_pages
from almoner.access.operators import pages as operators_pages
from almoner.access.providers import pages as providers_pages
from almoner.console import links as console_links
from almoner.console.service_status_page import StatusPage, StatusPageRenderer
from almoner.dashboard import pages as dashboard_pages
from almoner.dossiers import DOSSIERS
from almoner.giving.account_notices.pages import TEMPLATES as ACCOUNT_TEMPLATES
from almoner.giving.account_notices.pages import AccountNoticePages
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.hosted_page import embed
from almoner.giving.checkout.hosted_page.email_code_pages import EmailCodePages
from almoner.giving.checkout.hosted_page.giving_link_pages import GivingLinkPages
from almoner.giving.checkout.hosted_page.pages import TEMPLATES, DonationPages
from almoner.giving.checkout.hosted_page.ports import CheckoutFunctions
from almoner.giving.checkout.hosted_page.transfer_pages import TransferPages
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.organisation_confirmations.pages import TEMPLATES as CONFIRMATION_TEMPLATES
from almoner.giving.disbursing.organisation_confirmations.pages import ConfirmationPages
from almoner.giving.donor_statements.pages import TEMPLATES as STATEMENT_TEMPLATES
from almoner.giving.donor_statements.pages import StatementPages
from almoner.giving.gift_aid.reminders.pages import TEMPLATES as GIFT_AID_TEMPLATES
from almoner.giving.gift_aid.reminders.pages import GiftAidDeclarationPages
from almoner.giving.receipts.pages import TEMPLATES as GIFT_TEMPLATES
from almoner.giving.receipts.pages import DonationStatusPages
from almoner.giving.subscriptions.donor_pages import flows as donor_pages_flows
from almoner.giving.subscriptions.donor_pages.flows import CardChangeContext
from almoner.giving.subscriptions.donor_pages.pages import TEMPLATES as REGULAR_TEMPLATES
from almoner.giving.subscriptions.donor_pages.pages import RegularDonationPages
from almoner.giving.subscriptions.donor_pages.ports import DonorPaymentFunctions
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files.storage import BlobStore
from almoner.platform.http.service import ApiApplication
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.jobs.schedules import PeriodicJob
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages import assets, reports
from almoner.platform.pages.error_pages import not_found_routes
from almoner.platform.pages.lazy_routes import LazyRoutes
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.platform.ratelimit import RateLimiter
from almoner.providers import (
    PaymentProviderClient,
    load_bank_accounts_by_currency,
    load_giving_link_disclosures,
    provider_webhook_routes,
)
from almoner.sandbox.documentation_api_key import DocumentationApiKeyEndpoint
from almoner.sandbox.pages import TEMPLATES as SANDBOX_TEMPLATES
from almoner.sandbox.pages import MailboxPages
from almoner.screening.screenings.service import Screener
from almoner.settings import Settings
from almoner.validation.agents.pages import TEMPLATES as AGENT_TEMPLATES
from almoner.validation.agents.pages import AgentVerificationPages
from almoner.validation.applications.documents.pages import DocumentDownloadPages
from almoner.validation.applications.documents.ports import MalwareScanner
from almoner.validation.applications.form.form_documents import FormDocumentPages
from almoner.validation.applications.form.form_pages import TEMPLATES as APPLICATION_TEMPLATES
from almoner.validation.applications.form.form_pages import ApplicationFormPages
from almoner.validation.applications.form.form_previews import render_form_preview
from almoner.validation.applications.form.status_pages import ApplicationStatusPages


@dataclass(frozen=True, slots=True)
class PageDependencies:
    """The parts of the deployment that pages need."""

    settings: Settings
    db: Database
    telemetry: Telemetry
    catalogues: TranslationCatalogues
    rate_limiter: RateLimiter
    outbound: OutboundClient
    upload_intake: UploadIntake
    malware_scanner: MalwareScanner | None
    blobs: BlobStore
    provider: PaymentProviderClient | None
    payment_context: PaymentContext | None
    api_application: ApiApplication
    rules: DisbursementRules
    limits: RateLimits
    screener: Screener
    periodic_jobs: Callable[[Tx], Awaitable[Sequence[PeriodicJob]]]
    status: StatusPageRenderer


def build_pages(dependencies: PageDependencies) -> list[BaseRoute]:
    """The routes of all pages, in matching order."""
    db, catalogues, limiter = dependencies.db, dependencies.catalogues, dependencies.rate_limiter
    return [
        *assets.ROUTES,
        *reports.csp_report_routes(dependencies.telemetry, db.deployment.clock),
        *_giving_pages(
            dependencies.settings,
            dependencies.payment_context,
            dependencies.provider,
            catalogues,
            dependencies.rules,
            limiter,
        ),
        *_sandbox_pages(dependencies.settings, db, catalogues),
        *_validation_pages(db, catalogues, dependencies.upload_intake, limiter, dependencies.blobs),
        *StatusPage(dependencies.status).routes(),
        *_people_pages(dependencies),
    ]


_NAVIGATION: tuple[NavigationLink, ...] = (
    *dashboard_pages.LINKS,
    *members_pages.LINKS,
    *providers_pages.LINKS,
    *console_links.LINKS,
    *operators_pages.LINKS,
    *console_links.LAST_LINKS,
)
"""The navigation entries for signed-in people besides "your account", in display order."""


def _people_pages(parts: PageDependencies) -> list[BaseRoute]:
    """The pages of members and operators, and their not-found pages."""
    db, catalogues, limiter = parts.db, parts.catalogues, parts.rate_limiter
    api, rules, outbound = parts.api_application, parts.rules, parts.outbound
    pages = PageRenderer(db.deployment, accounts_pages.TEMPLATES, catalogues)
    gate = PageGuard(db, pages, _NAVIGATION)
    routes = [
        *accounts_pages.routes(gate, pages, limiter),
        *dashboard_pages.routes(
            gate,
            PageRenderer(db.deployment, dashboard_pages.TEMPLATES, catalogues),
            api,
            rules,
            parts.blobs,
            partial(render_form_preview, PageRenderer(db.deployment, APPLICATION_TEMPLATES, catalogues)),
            parts.limits,
            DOSSIERS,
        ),
        *members_pages.routes(
            gate, PageRenderer(db.deployment, members_pages.TEMPLATES, catalogues), dashboard_pages.RECORD_PATHS
        ),
        *providers_pages.routes(gate, PageRenderer(db.deployment, providers_pages.TEMPLATES, catalogues), outbound),
        *operators_pages.routes(gate, PageRenderer(db.deployment, operators_pages.TEMPLATES, catalogues)),
    ]
    return [
        *routes,
        *not_found_routes(MEMBERS_HOME, routes, gate.render_not_found),
        LazyRoutes(OPERATORS_HOME, partial(_console_routes, parts, gate, routes)),
    ]


def _console_routes(parts: PageDependencies, gate: PageGuard, beside: Sequence[Route]) -> list[Route]:
    """The operators' pages, which are imported on first use, and their not-found pages."""
    from almoner.console import pages as console_pages  # on first use: few people open them
    from almoner.console.context import ConsoleContext, ConsoleServices
    from almoner.giving.banking.payment_files import service as payment_files
    from almoner.platform.outbound.mail_rendering import MailRenderer
    from almoner.review_cases import REVIEW_HANDLERS
    from almoner.sources import REGISTER_SOURCES, WATCHLIST_SOURCES
    from almoner.validation.applications.form import jobs, outcome_previews

    file = parts.settings.bank_accounts
    own = payment_files.load_own_accounts(file) if file else None
    mails = MailRenderer(parts.db.deployment, jobs.MAILS, parts.catalogues)
    preview = partial(outcome_previews.preview_decision_emails, mails)
    services = ConsoleServices(
        parts.blobs,
        parts.upload_intake,
        parts.malware_scanner,
        parts.outbound,
        parts.rules,
        own,
        REVIEW_HANDLERS,
        DOSSIERS,
        preview,
        tuple(REGISTER_SOURCES),
        tuple(WATCHLIST_SOURCES),
        parts.limits,
        parts.screener,
        parts.periodic_jobs,
    )
    pages = PageRenderer(parts.db.deployment, console_pages.TEMPLATES, parts.catalogues)
    routes = console_pages.routes(ConsoleContext(parts.db, gate, pages, services))
    return [*routes, *not_found_routes(OPERATORS_HOME, [*beside, *routes], gate.render_not_found)]


def _giving_pages(
    settings: Settings,
    payment_context: PaymentContext | None,
    provider: PaymentProviderClient | None,
    catalogues: TranslationCatalogues,
    rules: DisbursementRules,
    limiter: RateLimiter,
) -> list[BaseRoute]:
    """The pages of donors; none without a payment provider."""
    if payment_context is None or provider is None:
        return []
    db = payment_context.db
    checkout = CheckoutFunctions(
        payment_context.provider.hosted_page_origin,
        payment_context.provider.fee_schedule,
        partial(donations_flows.start_payment, payment_context),
        partial(donations_flows.handle_donor_return, payment_context),
        payment_context.provider.currencies,
        partial(donations_flows.start_bank_transfer, payment_context),
        load_bank_accounts_by_currency(settings),
    )
    pages = PageRenderer(db.deployment, TEMPLATES, catalogues)
    disclosures = load_giving_link_disclosures(settings)
    hosted_page = DonationPages(db, pages, checkout, disclosures.legal_notices)
    links = GivingLinkPages(db, pages, hosted_page, checkout, limiter, disclosures)
    gifts = DonationStatusPages(db, PageRenderer(db.deployment, GIFT_TEMPLATES, catalogues), rules)
    statements = StatementPages(db, PageRenderer(db.deployment, STATEMENT_TEMPLATES, catalogues))
    codes, transfers = EmailCodePages(db, hosted_page), TransferPages(db, hosted_page, checkout)
    giving = [*hosted_page.routes(), *codes.routes(), *transfers.routes()]
    following = [*gifts.routes(), *statements.link_request_routes()]
    return [
        *giving,
        *not_found_routes("/give", giving, hosted_page.not_found_page),
        *links.routes(),
        *not_found_routes("/g", links.routes(), links.not_found_page),
        *following,
        *not_found_routes("/gift", following, gifts.not_found_page),
        *statements.routes(),
        *not_found_routes("/statement", statements.routes(), statements.not_found_page),
        *_regular_donation_pages(payment_context, catalogues),
        *embed.embed_script_routes(catalogues),
        *provider_webhook_routes(payment_context, provider.refund_status_reader(), rules),
    ]


def _regular_donation_pages(context: PaymentContext, catalogues: TranslationCatalogues) -> list[BaseRoute]:
    """The pages on which donors change regular donations or cancel a Gift Aid declaration."""
    db, card = context.db, CardChangeContext(context.db, context.provider)
    payments = DonorPaymentFunctions(
        context.provider.hosted_page_origin,
        partial(donations_flows.create_due_donation_payment_url, context),
        partial(donations_flows.refresh_due_donation_payment, context),
        partial(donor_pages_flows.start_card_change, card),
        partial(donor_pages_flows.finish_card_change, card),
    )
    regular = RegularDonationPages(db, PageRenderer(db.deployment, REGULAR_TEMPLATES, catalogues), payments)
    gift_aid_pages = GiftAidDeclarationPages(db, PageRenderer(db.deployment, GIFT_AID_TEMPLATES, catalogues))
    return [*regular.routes(), *gift_aid_pages.routes()]


def _payee_pages(db: Database, catalogues: TranslationCatalogues) -> list[BaseRoute]:
    """The pages on which nonprofits accept or decline donations and confirm bank accounts."""
    confirmations = ConfirmationPages(db, PageRenderer(db.deployment, CONFIRMATION_TEMPLATES, catalogues))
    accounts = AccountNoticePages(db, PageRenderer(db.deployment, ACCOUNT_TEMPLATES, catalogues))
    return [*confirmations.routes(), *accounts.routes()]


def _agent_pages(db: Database, catalogues: TranslationCatalogues) -> list[BaseRoute]:
    """The pages on which applicants confirm and nonprofits reply."""
    agents = AgentVerificationPages(db, PageRenderer(db.deployment, AGENT_TEMPLATES, catalogues))
    routes = agents.routes()
    return [
        *routes,
        *not_found_routes("/confirm", routes, agents.not_found_page),
        *not_found_routes("/answer", routes, agents.not_found_page),
    ]


def _validation_pages(
    db: Database, catalogues: TranslationCatalogues, intake: UploadIntake, limiter: RateLimiter, blobs: BlobStore
) -> list[BaseRoute]:
    """Pages of agents, payees and applicants, and the downloads of documents."""
    pages = [*_agent_pages(db, catalogues), *_payee_pages(db, catalogues), *DocumentDownloadPages(db, blobs).routes()]
    return [*pages, *_form_pages(db, catalogues, intake, limiter)]


def _form_pages(
    db: Database, catalogues: TranslationCatalogues, intake: UploadIntake, limiter: RateLimiter
) -> list[BaseRoute]:
    """The hosted form of applications, and their status pages."""
    pages = PageRenderer(db.deployment, APPLICATION_TEMPLATES, catalogues)
    form = ApplicationFormPages(db, pages, limiter)
    routes = [*form.routes(), *FormDocumentPages(db, pages, intake).routes()]
    status = ApplicationStatusPages(db, pages, intake)
    return [
        *routes,
        *not_found_routes("/apply", routes, form.not_found_page),
        *status.routes(),
        *not_found_routes("/application", status.routes(), status.not_found_page),
    ]


def _sandbox_pages(settings: Settings, db: Database, catalogues: TranslationCatalogues) -> list[BaseRoute]:
    if not settings.sandbox:
        return []
    guard = PageGuard(db, PageRenderer(db.deployment, accounts_pages.TEMPLATES, catalogues))
    return [
        *MailboxPages(db, PageRenderer(db.deployment, SANDBOX_TEMPLATES, catalogues)).routes(),
        *DocumentationApiKeyEndpoint(guard, settings.data_dir).routes(),
    ]
