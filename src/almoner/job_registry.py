"""What every slice does in the background, collected: jobs, sweeps and reactions to events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from almoner.access.accounts import jobs as accounts_jobs
from almoner.access.accounts import service as accounts
from almoner.access.credentials import jobs as credentials_jobs
from almoner.access.security_emails import jobs as security_emails_jobs
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import jobs as sign_ins_jobs
from almoner.dashboard import jobs as dashboard_jobs
from almoner.giving.account_notices import jobs as account_notices_jobs
from almoner.giving.account_notices import service as account_notices
from almoner.giving.accounting.disputes import jobs as disputes_jobs
from almoner.giving.accounting.reassignments import jobs as reassignments_jobs
from almoner.giving.accounting.refunds import jobs as refunds_jobs
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements import jobs as settlements_jobs
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.accounting.suspense import jobs as suspense_jobs
from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.card_testing import jobs as card_testing_jobs
from almoner.giving.checkout.card_testing.domain import CardTestingLimits
from almoner.giving.checkout.donation_requests import jobs as donation_requests_jobs
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.checkout.sessions import jobs as sessions_jobs
from almoner.giving.disbursing.disbursements import jobs as disbursements_jobs
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.organisation_confirmations import jobs as organisation_confirmations_jobs
from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import Contact
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import jobs as verifications_jobs
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.donor_statements import jobs as donor_statements_jobs
from almoner.giving.donor_statements import service as donor_statements
from almoner.giving.gift_aid.claims import jobs as claims_jobs
from almoner.giving.reassignment_notices import jobs as reassignment_notices_jobs
from almoner.giving.reassignment_notices import service as reassignment_notices
from almoner.giving.receipts import jobs as receipts_jobs
from almoner.giving.receipts import service as receipts
from almoner.giving.refund_notices import jobs as refund_notices_jobs
from almoner.giving.refund_notices import service as refund_notices
from almoner.giving.transfer_notices import jobs as transfer_notices_jobs
from almoner.giving.transfer_notices import service as transfer_notices
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import jobs as organisations_jobs
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import jobs as registers_jobs
from almoner.nonprofits.registers.jobs import RegisterRefreshContext
from almoner.platform import idempotency
from almoner.platform.audit import heads as audit_heads
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import event_blocks, outbox
from almoner.platform.files.storage import BlobStore
from almoner.platform.http import upload_intake
from almoner.platform.jobs.background_tasks import BackgroundTasks, Handler, Schedule
from almoner.platform.observability import selfcheck
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import jobs as watchlists_jobs
from almoner.screening.watchlists.jobs import WatchlistRefreshContext
from almoner.selfchecks import CHECKS
from almoner.validation.agents import jobs as agents_jobs
from almoner.validation.agents import service as agents
from almoner.validation.agents.ports import MailHosts
from almoner.validation.applications.documents import jobs as documents_jobs
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.applications.documents.ports import MalwareScanner
from almoner.validation.applications.form import jobs as form_jobs
from almoner.validation.applications.form import service as application_form
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

Compared = TypeVar("Compared")

PURGE_SCHEDULES = (
    Schedule(
        "idempotency.purge", idempotency.next_purge_at, idempotency.purge_expired_answers, every=timedelta(hours=1)
    ),
    Schedule("event_blocks.build", event_blocks.next_build_at, event_blocks.build_blocks),
    Schedule("outbox.purge", outbox.next_purge_at, outbox.purge_expired_events, every=timedelta(days=1)),
    *upload_intake.schedules,
)

SCHEDULES = (
    *sessions_jobs.schedules,
    *donations_jobs.schedules,
    *donation_requests_jobs.schedules,
    *card_testing_jobs.schedules,
    *credentials_jobs.schedules,
    *sign_ins_jobs.schedules,
    *verifications_jobs.schedules,
    *organisation_confirmations_jobs.schedules,
    *settlements_jobs.schedules,
    *suspense_jobs.schedules,
    *disputes_jobs.schedules,
    *deliveries_jobs.schedules,
    *dashboard_jobs.schedules,
    *documents_jobs.schedules,
    *invites_jobs.schedules,
    *matches_jobs.schedules,
    *submissions_jobs.schedules,
    *appeals_jobs.schedules,
    *form_jobs.schedules,
    *selfcheck.schedules,
    *PURGE_SCHEDULES,
)
"""Sweeps that need nothing of the deployment."""


async def find_organisation_contact(tx: Tx, organisation_id: UUID) -> Contact | None:
    """Where a nonprofit is asked: the address that an officer has recorded, for agents and for payments alike."""
    found = await agents.find_official_contact(tx, organisation_id)
    return None if found is None else Contact(found.email, found.source)


PARTNERS_BY_ORGANISATION = (
    categories.partners_following,
    donations.partners_by_organisation,
    verifications.partners_by_organisation,
    monitoring.partners_following,
    eligibility.partners_following,
)
"""ScreenedSubject says which partners follow an organisation."""

REACTIONS = (
    *deliveries_jobs.reactions,
    *receipts_jobs.reactions,
    *claims_jobs.reactions,
    *verifications_jobs.reactions,
    *organisation_confirmations_jobs.reactions,
    *account_notices_jobs.reactions,
    *disbursements_jobs.reactions,
    *refund_notices_jobs.reactions,
    *transfer_notices_jobs.reactions,
    *disputes_jobs.reactions,
    *reassignments_jobs.reactions,
    *reassignment_notices_jobs.reactions,
    *organisations_jobs.reactions(PARTNERS_BY_ORGANISATION),
    *registers_jobs.reactions,
    *requests_jobs.reactions,
    *agents_jobs.reactions,
    *matches_jobs.reactions,
    *watchlists_jobs.reactions,
    *monitoring_jobs.reactions,
    *eligibility_jobs.reactions,
    *submissions_jobs.reactions,
    *appeals_jobs.reactions,
    *form_jobs.reactions,
)


_LEDGER_HANDLERS: Final = {**donation_requests_jobs.handlers, **claims_jobs.handlers}


class WatchlistScreening:
    """A ``giving.verifications.ports.Screening``: people are asked about matches where all matches are decided."""

    def __init__(self, screener: Screener) -> None:
        self._screener = screener

    async def run_with_screening(self, db: Database, use: Callable[[Tx], Awaitable[Compared]]) -> Compared:
        """In a writing transaction in which the lists can be had."""
        return await self._screener.run_with_watchlists(db, use)

    async def screen(self, tx: Tx, records: Sequence[Organisation], partner_id: UUID) -> Sequence[ScreeningResult]:
        """Each record by itself; what was decided of one holds for the others where the question is the same."""
        whos = [ScreenedSubject("organisation", record.id, partner_id) for record in records]
        return [
            await matches.screen(
                tx,
                self._screener,
                who,
                matches.subject_details_of(record),
                watch=True,
                others=[other for other in whos if other != who],
            )
            for record, who in zip(records, whos, strict=True)
        ]


def build_background_tasks(
    db: Database,
    outbound: OutboundClient,
    provider: PaymentProvider | None,
    reports: PayoutReportSource | None,
    looks: RefundStatusReader | None,
    transport: MailTransport,
    catalogues: TranslationCatalogues,
    figures: CardTestingLimits,
    rules: DisbursementRules,
    telemetry: Telemetry,
    heads: Path,
    registers: RegisterRefreshContext,
    watchlists: WatchlistRefreshContext,
    name_agreement: float,
    hosts: MailHosts,
    blobs: BlobStore,
    scanner: MalwareScanner | None,
    screener: Screener,
    pay_to: Mapping[str, BankDetails],
    stored: RetentionPeriods,
) -> BackgroundTasks:
    """What every slice does in the background."""
    handlers = {**deliveries_jobs.handlers(db, outbound), **selfcheck.handlers(CHECKS, telemetry)}
    handlers |= {**_LEDGER_HANDLERS, **disbursements_jobs.handlers(rules, telemetry)}
    handlers |= {**reassignments_jobs.handlers(rules), **disputes_jobs.recovery_handlers(rules)}
    handlers |= _mail_handlers(db, transport, catalogues, hosts, screener, pay_to)
    handlers |= {**sign_ins_jobs.handlers, **organisations_jobs.handlers(PARTNERS_BY_ORGANISATION)}
    handlers |= {**registers_jobs.handlers(registers), **watchlists_jobs.handlers(watchlists)}
    handlers |= {**documents_jobs.handlers(blobs, scanner), **matches_jobs.handlers(screener)}
    handlers |= verifications_jobs.handlers(WatchlistScreening(screener), payee_bank_accounts.first_approved_account)
    handlers |= {**requests_jobs.handlers(name_agreement), **monitoring_jobs.handlers(screener)}
    handlers |= {**eligibility_jobs.handlers, **submissions_jobs.handlers, **appeals_jobs.handlers}
    if provider is not None:
        handlers |= _payment_handlers(provider, looks, figures, rules)
    if reports is not None:
        handlers |= settlements_jobs.handlers(reports)
    return BackgroundTasks(
        handlers,
        reactions=REACTIONS,
        schedules=(
            *SCHEDULES,
            *disbursements_jobs.schedules(sandbox=db.deployment.sandbox),
            *registers_jobs.schedules(registers.plan),
            *watchlists_jobs.schedules(watchlists.plan),
            *audit_heads.schedules(heads),
            *_retention_schedules(stored),
            *(() if reports is None else settlements_jobs.report_schedules(reports)),
        ),
        limits={**registers_jobs.LIMITS, **watchlists_jobs.LIMITS, **documents_jobs.LIMITS, **settlements_jobs.LIMITS},
    )


def _retention_schedules(stored: RetentionPeriods) -> tuple[Schedule, ...]:
    """What goes a term after a decision."""
    return (*agents_jobs.schedules(stored), *submission_documents_jobs.schedules(stored))


def _payment_handlers(
    provider: PaymentProvider, looks: RefundStatusReader | None, figures: CardTestingLimits, rules: DisbursementRules
) -> Mapping[str, Handler]:
    """What asks the payment provider."""
    return {
        **donations_jobs.handlers(provider, figures),
        **suspense_jobs.handlers(provider),
        **refunds_jobs.handlers(provider, looks),
        **disputes_jobs.handlers(provider, rules),
    }


def _mail_handlers(
    db: Database,
    transport: MailTransport,
    catalogues: TranslationCatalogues,
    hosts: MailHosts,
    screener: Screener,
    pay_to: Mapping[str, BankDetails],
) -> Mapping[str, Handler]:
    """What is done by slices that write to people."""

    def mails(folder: Path) -> MailRenderer:
        return MailRenderer(db.deployment, folder, catalogues)

    return {
        **receipts_jobs.handlers(mails(receipts.MAILS), transport),
        **refund_notices_jobs.handlers(mails(refund_notices.MAILS), transport),
        **transfer_notices_jobs.handlers(mails(transfer_notices.MAILS), transport, pay_to),
        **reassignment_notices_jobs.handlers(mails(reassignment_notices.MAILS), transport),
        **donor_statements_jobs.handlers(mails(donor_statements.MAILS), transport),
        **organisation_confirmations_jobs.handlers(
            mails(organisation_confirmations.MAILS), transport, find_organisation_contact
        ),
        **account_notices_jobs.handlers(mails(account_notices.MAILS), transport, find_organisation_contact),
        **security_emails_jobs.handlers(mails(security_emails.MAILS), transport),
        **accounts_jobs.handlers(mails(accounts.MAILS), transport),
        **card_testing_jobs.handlers(mails(card_testing_jobs.MAILS), transport),
        **agents_jobs.handlers(mails(agents.MAILS), transport, hosts, screener),
        **form_jobs.handlers(mails(application_form.MAILS), transport),
    }
