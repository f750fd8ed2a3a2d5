"""Collects the background work of all slices: jobs, schedules and reactions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from almoner.access.accounts import jobs as accounts_jobs
from almoner.access.credentials import jobs as credentials_jobs
from almoner.access.keys import jobs as keys_jobs
from almoner.access.notifications import jobs as notifications_jobs
from almoner.access.notifications.service import NotificationDefinition
from almoner.access.security_emails import jobs as security_emails_jobs
from almoner.access.sign_ins import jobs as sign_ins_jobs
from almoner.dashboard import exports as dashboard_exports
from almoner.dashboard import jobs as dashboard_jobs
from almoner.dashboard.api_request_source import ApiRequestSource
from almoner.dashboard.list_files import RecordListReader
from almoner.dashboard.member_api_client import MemberApiClient
from almoner.dashboard.record_lists import API_REQUESTS
from almoner.giving.account_notices import jobs as account_notices_jobs
from almoner.giving.accounting.dispute_evidence import jobs as dispute_evidence_jobs
from almoner.giving.accounting.dispute_evidence import service as dispute_evidence
from almoner.giving.accounting.disputes import jobs as disputes_jobs
from almoner.giving.accounting.monthly_reports import jobs as monthly_reports_jobs
from almoner.giving.accounting.reassignments import jobs as reassignments_jobs
from almoner.giving.accounting.refunds import jobs as refunds_jobs
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements import jobs as settlements_jobs
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.accounting.suspense import jobs as suspense_jobs
from almoner.giving.banking.bank_statements import jobs as bank_statements_jobs
from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.card_testing import jobs as card_testing_jobs
from almoner.giving.checkout.card_testing.domain import CardTestingLimits
from almoner.giving.checkout.dedications import jobs as dedications_jobs
from almoner.giving.checkout.donation_requests import jobs as donation_requests_jobs
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.checkout.sessions import jobs as sessions_jobs
from almoner.giving.disbursing.disbursements import jobs as disbursements_jobs
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.organisation_confirmations import jobs as organisation_confirmations_jobs
from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import jobs as verifications_jobs
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.donor_emails import jobs as donor_emails_jobs
from almoner.giving.donor_statements import jobs as donor_statements_jobs
from almoner.giving.gift_aid.claims import jobs as claims_jobs
from almoner.giving.gift_aid.reminders import jobs as reminders_jobs
from almoner.giving.receipts import jobs as receipts_jobs
from almoner.giving.requested_emails import jobs as requested_emails_jobs
from almoner.giving.subscriptions.charging import jobs as charging_jobs
from almoner.giving.subscriptions.donor_pages import jobs as donor_pages_jobs
from almoner.giving.subscriptions.subscription_emails import jobs as subscription_emails_jobs
from almoner.nonprofits.activities import jobs as activities_jobs
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import jobs as organisations_jobs
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import jobs as registers_jobs
from almoner.nonprofits.registers.jobs import RegisterRefreshContext
from almoner.platform import idempotency
from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import proofs as audit_proofs
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import jobs as events_jobs
from almoner.platform.files import import_uploads
from almoner.platform.files.storage import BlobStore
from almoner.platform.http import upload_intake
from almoner.platform.http.service import ApiApplication
from almoner.platform.jobs.background_tasks import BackgroundTasks, merge_background_tasks
from almoner.platform.observability import selfcheck
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import jobs as watchlists_jobs
from almoner.screening.watchlists.jobs import WatchlistRefreshContext
from almoner.selfchecks import CHECKS
from almoner.sources import get_register_source, get_watchlist_source
from almoner.validation.agents import jobs as agents_jobs
from almoner.validation.agents import service as agents
from almoner.validation.agents.ports import MailHostLookup
from almoner.validation.applications.documents import jobs as documents_jobs
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.applications.documents.ports import MalwareScanner
from almoner.validation.applications.form import jobs as form_jobs
from almoner.validation.applications.invites import jobs as invites_jobs
from almoner.validation.applications.submission_documents import jobs as submission_documents_jobs
from almoner.validation.applications.submissions import jobs as submissions_jobs
from almoner.validation.decisions.appeals import jobs as appeals_jobs
from almoner.validation.ongoing.eligibility import jobs as eligibility_jobs
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.matches import jobs as matches_jobs
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import jobs as monitoring_jobs
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import jobs as requests_jobs
from almoner.webhooks.deliveries import jobs as deliveries_jobs
from almoner.webhooks.deliveries.jobs import DeliveryWorker

OperationResult = TypeVar("OperationResult")


async def find_organisation_contact(tx: Tx, organisation_id: UUID) -> NonprofitContact | None:
    """The contact address of a nonprofit that an operator recorded, for agents and for payments."""
    found = await agents.find_official_contact(tx, organisation_id)
    return None if found is None else NonprofitContact(found.email, found.source)


_PARTNERS_BY_ORGANISATION = (
    categories.load_categorising_partner_ids_by_organisation,
    donations.load_partner_ids_with_donations_by_organisation,
    verifications.load_partner_ids_with_verifications_by_organisation,
    monitoring.load_subscribed_partner_ids_by_organisation,
    eligibility.load_subscribed_partner_ids_by_organisation,
)
"""Functions that list the partners following an organisation, for ``ScreenedSubject``."""

_BLOB_REFERENCES = (
    dashboard_exports.list_referenced_blob_keys,
    dispute_evidence.list_referenced_blob_keys,
    import_uploads.list_referenced_blob_keys,
)
"""Functions that list the references to files in the document storage that belong to no document."""


class WatchlistOrganisationScreener:
    """Screens nonprofits for verifications, and sends matches to review."""

    def __init__(self, screener: Screener) -> None:
        self._screener = screener

    async def run_in_screening_transaction(
        self, db: Database, operation: Callable[[Tx], Awaitable[OperationResult]]
    ) -> OperationResult:
        """Run a function in a write transaction in which watchlists can be used."""
        return await self._screener.run_with_current_watchlists(db, operation)

    async def screen(
        self, tx: Tx, organisations: Sequence[Organisation], partner_id: UUID
    ) -> Sequence[ScreeningResult]:
        """Screen each record separately; a decision on one applies to the same question about the others."""
        whos = [ScreenedSubject("organisation", record.id, partner_id) for record in organisations]
        return [
            await matches.screen(
                tx,
                self._screener,
                who,
                matches.subject_details_of(record),
                monitor=True,
                merged_subjects=[other for other in whos if other != who],
            )
            for record, who in zip(organisations, whos, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundDependencies:
    """The parts of the deployment that background work needs.

    ``provider``: with what it tells by itself of payouts and refunds; None where no payments are taken.
    ``audit_head_folder``: the folder of signed heads. ``name_agreement``: how well names have to agree, 0 to 1.
    ``pay_to``: our own bank accounts by currency. ``retention``: how long what decisions rest on is kept.
    ``api``: answers calls that jobs make for members.
    """

    db: Database
    outbound: OutboundClient
    provider: PaymentProvider | None
    payout_reports: PayoutReportSource | None
    refund_statuses: RefundStatusReader | None
    mail_transport: MailTransport
    catalogues: TranslationCatalogues
    card_testing_limits: CardTestingLimits
    disbursement_rules: DisbursementRules
    telemetry: Telemetry
    audit_head_folder: Path
    register_refresh_context: RegisterRefreshContext
    watchlists: WatchlistRefreshContext
    name_agreement: float
    mail_hosts: MailHostLookup
    blobs: BlobStore
    scanner: MalwareScanner | None
    screener: Screener
    pay_to: Mapping[str, BankDetails]
    retention: RetentionPeriods
    api: ApiApplication


def build_background_tasks(dependencies: BackgroundDependencies) -> BackgroundTasks:
    """The background tasks of all slices."""
    return merge_background_tasks(
        [
            *_platform_tasks(dependencies),
            *_slice_tasks(dependencies),
            *_mail_tasks(dependencies),
            *_provider_tasks(dependencies),
        ]
    )


def _platform_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    return [
        idempotency.tasks.declared_tasks,
        events_jobs.tasks.declared_tasks,
        upload_intake.tasks.declared_tasks,
        audit_heads.tasks.declared_tasks,
        audit_heads.export_tasks.bind(parts.audit_head_folder),
        audit_proofs.proof_tasks.bind(parts.audit_head_folder),
        selfcheck.tasks.declared_tasks,
        selfcheck.run_tasks.bind(selfcheck.SelfcheckJobDependencies(CHECKS, parts.telemetry)),
    ]


def _dashboard_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    files = RecordListReader(parts.db, MemberApiClient(parts.api), {API_REQUESTS: ApiRequestSource(parts.db)})
    return [
        dashboard_jobs.tasks.declared_tasks,
        dashboard_exports.tasks.declared_tasks,
        dashboard_exports.file_tasks.bind(
            dashboard_exports.ExportJobDependencies(files, parts.blobs, parts.catalogues)
        ),
    ]


def _access_tasks() -> list[BackgroundTasks]:
    return [keys_jobs.tasks.declared_tasks, credentials_jobs.tasks.declared_tasks, sign_ins_jobs.tasks.declared_tasks]


def _accounting_tasks() -> list[BackgroundTasks]:
    return [
        suspense_jobs.tasks.declared_tasks,
        settlements_jobs.tasks.declared_tasks,
        bank_statements_jobs.tasks.declared_tasks,
    ]


def _import_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    return [
        activities_jobs.tasks.declared_tasks,
        registers_jobs.tasks.declared_tasks,
        registers_jobs.refresh_tasks.bind(parts.register_refresh_context),
        registers_jobs.upload_tasks.bind(registers_jobs.RegisterUploadContext(parts.blobs, get_register_source)),
        watchlists_jobs.tasks.declared_tasks,
        watchlists_jobs.refresh_tasks.bind(parts.watchlists),
        watchlists_jobs.upload_tasks.bind(watchlists_jobs.WatchlistUploadContext(parts.blobs, get_watchlist_source)),
    ]


def _slice_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    rules = parts.disbursement_rules
    payout_parts = disbursements_jobs.JobDependencies(rules, parts.telemetry)
    checking_parts = verifications_jobs.JobDependencies(
        WatchlistOrganisationScreener(parts.screener), payee_bank_accounts.find_approved_account
    )
    return [
        *_access_tasks(),
        organisations_jobs.tasks.bind(_PARTNERS_BY_ORGANISATION),
        *_import_tasks(parts),
        sessions_jobs.tasks.declared_tasks,
        charging_jobs.tasks.declared_tasks,
        donations_jobs.tasks.declared_tasks,
        donation_requests_jobs.tasks.declared_tasks,
        *_accounting_tasks(),
        disputes_jobs.tasks.declared_tasks,
        disputes_jobs.recovery_tasks.bind(rules),
        reassignments_jobs.tasks.declared_tasks,
        reassignments_jobs.rules_tasks.bind(rules),
        claims_jobs.tasks.declared_tasks,
        verifications_jobs.tasks.declared_tasks,
        verifications_jobs.checking_tasks.bind(checking_parts),
        disbursements_jobs.tasks.declared_tasks,
        disbursements_jobs.payout_tasks.bind(payout_parts),
        *([disbursements_jobs.sandbox_tasks.declared_tasks] if parts.db.deployment.sandbox else []),
        requests_jobs.tasks.declared_tasks,
        requests_jobs.evaluation_tasks.bind(parts.name_agreement),
        agents_jobs.tasks.declared_tasks,
        agents_jobs.retention_tasks.bind(parts.retention),
        documents_jobs.nightly_tasks.declared_tasks,
        documents_jobs.tasks.bind(documents_jobs.StorageDependencies(parts.blobs, _BLOB_REFERENCES)),
        documents_jobs.scan_tasks.bind(documents_jobs.ScanDependencies(parts.blobs, parts.scanner)),
        submission_documents_jobs.tasks.declared_tasks,
        submission_documents_jobs.retention_tasks.bind(parts.retention),
        submissions_jobs.tasks.declared_tasks,
        appeals_jobs.tasks.declared_tasks,
        invites_jobs.tasks.declared_tasks,
        matches_jobs.tasks.declared_tasks,
        matches_jobs.screening_tasks.bind(parts.screener),
        monitoring_jobs.tasks.declared_tasks,
        monitoring_jobs.screening_tasks.bind(parts.screener),
        eligibility_jobs.tasks.declared_tasks,
        deliveries_jobs.tasks.declared_tasks,
        *_dashboard_tasks(parts),
        deliveries_jobs.delivery_tasks.bind(DeliveryWorker(parts.db, parts.outbound, parts.telemetry)),
    ]


NOTIFICATIONS: tuple[NotificationDefinition[Any], ...] = (
    *security_emails_jobs.notifications,
    *accounts_jobs.notifications,
    *receipts_jobs.notifications,
    *monthly_reports_jobs.notifications,
    *donor_statements_jobs.notifications,
    *donor_pages_jobs.notifications,
    *subscription_emails_jobs.notifications,
    *reminders_jobs.notifications,
    *card_testing_jobs.notifications,
    *dedications_jobs.notifications,
    *organisation_confirmations_jobs.notifications,
    *account_notices_jobs.build_notifications(find_organisation_contact),
    *agents_jobs.notifications,
    *form_jobs.notifications,
    *dashboard_exports.notifications,
)
"""The emails without dependencies on the deployment."""


def email_job_kind_names() -> frozenset[str]:
    """The kinds of jobs that send an email."""
    return frozenset(one.job_kind.name for one in (*NOTIFICATIONS, *donor_emails_jobs.build_notifications({})))


def _mail_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    """The tasks that send emails, and the decisions that trigger them."""
    mailer = notifications_jobs.EmailJobDependencies(parts.db.deployment, parts.catalogues, parts.mail_transport)
    return [
        notifications_jobs.tasks.declared_tasks,
        monthly_reports_jobs.tasks.declared_tasks,
        notifications_jobs.build_email_tasks(
            (*NOTIFICATIONS, *donor_emails_jobs.build_notifications(parts.pay_to)), mailer
        ),
        card_testing_jobs.tasks.declared_tasks,
        requested_emails_jobs.tasks.declared_tasks,
        dedications_jobs.tasks.declared_tasks,
        reminders_jobs.tasks.declared_tasks,
        organisation_confirmations_jobs.tasks.declared_tasks,
        organisation_confirmations_jobs.request_tasks.bind(find_organisation_contact),
        account_notices_jobs.tasks.declared_tasks,
        account_notices_jobs.contact_tasks.bind(find_organisation_contact),
        agents_jobs.review_tasks.bind(agents_jobs.AgentReviewDependencies(parts.mail_hosts, parts.screener)),
        form_jobs.tasks.declared_tasks,
    ]


def _provider_tasks(parts: BackgroundDependencies) -> list[BackgroundTasks]:
    """The tasks that call the payment provider."""
    provider = parts.provider
    if provider is None:
        return []
    reports, statuses = parts.payout_reports, parts.refund_statuses
    return [
        donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(provider, parts.card_testing_limits)),
        suspense_jobs.provider_tasks.bind(provider),
        refunds_jobs.tasks.bind(provider),
        disputes_jobs.provider_tasks.bind(disputes_jobs.DisputeJobDependencies(provider, parts.disbursement_rules)),
        dispute_evidence_jobs.provider_tasks.bind(dispute_evidence_jobs.EvidenceJobDependencies(provider, parts.blobs)),
        *([] if statuses is None else [refunds_jobs.status_tasks.bind(statuses)]),
        *([] if reports is None else [settlements_jobs.report_tasks.bind(reports)]),
    ]
