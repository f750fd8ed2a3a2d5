"""What every slice does in the background, collected: jobs, sweeps and reactions to events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from almoner.access.accounts import jobs as account_jobs
from almoner.access.accounts import service as accounts
from almoner.access.credentials import jobs as credential_jobs
from almoner.access.security_emails import jobs as letter_jobs
from almoner.access.security_emails import service as letters
from almoner.access.sign_ins import jobs as sign_in_jobs
from almoner.giving.account_notices import jobs as account_notice_jobs
from almoner.giving.account_notices import service as account_notices
from almoner.giving.accounting.disputes import jobs as dispute_jobs
from almoner.giving.accounting.reassignments import jobs as reassignment_jobs
from almoner.giving.accounting.refunds import jobs as refund_jobs
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.settlements import jobs as settlement_jobs
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.accounting.suspense import jobs as suspense_jobs
from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.card_testing import jobs as brake_jobs
from almoner.giving.checkout.card_testing.domain import CardTestingLimits
from almoner.giving.checkout.donation_requests import jobs as donation_request_jobs
from almoner.giving.checkout.donations import jobs as donation_jobs
from almoner.giving.checkout.donations import service as gifts
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.checkout.sessions import jobs as session_jobs
from almoner.giving.disbursing.disbursements import jobs as payout_jobs
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.organisation_confirmations import jobs as confirmation_jobs
from almoner.giving.disbursing.organisation_confirmations import service as confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import Contact
from almoner.giving.disbursing.payee_bank_accounts import service as payees
from almoner.giving.disbursing.verifications import jobs as verification_jobs
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.donor_statements import jobs as statement_jobs
from almoner.giving.donor_statements import service as statements
from almoner.giving.gift_aid.claims import jobs as claim_jobs
from almoner.giving.reassignment_notices import jobs as reassignment_notice_jobs
from almoner.giving.reassignment_notices import service as reassignment_notices
from almoner.giving.receipts import jobs as receipt_jobs
from almoner.giving.receipts import service as receipts
from almoner.giving.refund_notices import jobs as refund_notice_jobs
from almoner.giving.refund_notices import service as refund_notices
from almoner.giving.transfer_notices import jobs as transfer_notice_jobs
from almoner.giving.transfer_notices import service as transfer_notices
from almoner.nonprofits.categories import service as category_members
from almoner.nonprofits.organisations import jobs as organisation_jobs
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import jobs as register_jobs
from almoner.nonprofits.registers.jobs import RegisterRefreshContext
from almoner.platform import idempotency
from almoner.platform.audit import heads as audit_heads
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import event_blocks, outbox
from almoner.platform.files.storage import Blobs
from almoner.platform.http import upload_intake as receiving
from almoner.platform.jobs.background_tasks import BackgroundTasks, Handler, Schedule
from almoner.platform.observability import selfcheck
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import jobs as watchlist_jobs
from almoner.screening.watchlists.jobs import WatchlistRefreshContext
from almoner.selfchecks import CHECKS
from almoner.validation.agents import jobs as agent_jobs
from almoner.validation.agents import service as agents
from almoner.validation.agents.ports import MailHosts
from almoner.validation.applications.documents import jobs as document_jobs
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.applications.documents.ports import Scanner
from almoner.validation.applications.form import jobs as application_jobs
from almoner.validation.applications.form import service as applications
from almoner.validation.applications.invites import jobs as invite_jobs
from almoner.validation.applications.submission_documents import jobs as handed_in_jobs
from almoner.validation.applications.submissions import jobs as submission_jobs
from almoner.validation.decisions.appeals import jobs as appeal_jobs
from almoner.validation.ongoing.eligibility import jobs as eligibility_jobs
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.matches import jobs as match_jobs
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import jobs as monitoring_jobs
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import jobs as request_jobs
from almoner.webhooks.deliveries import jobs as webhook_jobs

Compared = TypeVar("Compared")

PURGE_SCHEDULES = (
    Schedule("idempotency.purge", idempotency.next_due, idempotency.purge, every=timedelta(hours=1)),
    Schedule("event_blocks.build", event_blocks.next_due, event_blocks.build_blocks),
    Schedule("outbox.purge", outbox.next_due, outbox.purge, every=timedelta(days=1)),
    *receiving.schedules,
)

SCHEDULES = (
    *session_jobs.schedules,
    *donation_jobs.schedules,
    *donation_request_jobs.schedules,
    *brake_jobs.schedules,
    *credential_jobs.schedules,
    *sign_in_jobs.schedules,
    *verification_jobs.schedules,
    *confirmation_jobs.schedules,
    *settlement_jobs.schedules,
    *suspense_jobs.schedules,
    *dispute_jobs.schedules,
    *webhook_jobs.schedules,
    *document_jobs.schedules,
    *invite_jobs.schedules,
    *match_jobs.schedules,
    *submission_jobs.schedules,
    *appeal_jobs.schedules,
    *application_jobs.schedules,
    *selfcheck.schedules,
    *PURGE_SCHEDULES,
)
"""Sweeps that need nothing of the deployment."""


async def contact_of(tx: Tx, organisation_id: UUID) -> Contact | None:
    """Where a nonprofit is asked: the address that an officer has recorded, for agents and for payments alike."""
    found = await agents.contact_of(tx, organisation_id)
    return None if found is None else Contact(found.email, found.source)


PARTNERS_BY_ORGANISATION = (
    category_members.followers,
    gifts.partners_by_organisation,
    verifications.partners_by_organisation,
    monitoring.followers,
    eligibility.followers,
)
"""ScreenedSubject says which partners follow an organisation."""

REACTIONS = (
    *webhook_jobs.reactions,
    *receipt_jobs.reactions,
    *claim_jobs.reactions,
    *verification_jobs.reactions,
    *confirmation_jobs.reactions,
    *account_notice_jobs.reactions,
    *payout_jobs.reactions,
    *refund_notice_jobs.reactions,
    *transfer_notice_jobs.reactions,
    *dispute_jobs.reactions,
    *reassignment_jobs.reactions,
    *reassignment_notice_jobs.reactions,
    *organisation_jobs.reactions(PARTNERS_BY_ORGANISATION),
    *register_jobs.reactions,
    *request_jobs.reactions,
    *agent_jobs.reactions,
    *match_jobs.reactions,
    *watchlist_jobs.reactions,
    *monitoring_jobs.reactions,
    *eligibility_jobs.reactions,
    *submission_jobs.reactions,
    *appeal_jobs.reactions,
    *application_jobs.reactions,
)


_LEDGER_HANDLERS: Final = {**donation_request_jobs.handlers, **claim_jobs.handlers}


class WatchlistScreening:
    """A ``giving.verifications.ports.Screening``: people are asked about matches where all matches are decided."""

    def __init__(self, screener: Screener) -> None:
        self._screener = screener

    async def run_with_screening(self, db: Database, use: Callable[[Tx], Awaitable[Compared]]) -> Compared:
        """In a writing transaction in which the lists can be had."""
        return await self._screener.run_with_lists(db, use)

    async def screen(self, tx: Tx, records: Sequence[Organisation], partner_id: UUID) -> Sequence[ScreeningResult]:
        """Each record by itself; what was decided of one holds for the others where the question is the same."""
        whos = [ScreenedSubject("organisation", record.id, partner_id) for record in records]
        return [
            await matches.screen(
                tx,
                self._screener,
                who,
                matches.screening_input_of(record),
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
    blobs: Blobs,
    scanner: Scanner | None,
    screener: Screener,
    pay_to: Mapping[str, BankDetails],
    kept: RetentionPeriods,
) -> BackgroundTasks:
    """What every slice does in the background."""
    handlers = {**webhook_jobs.handlers(db, outbound), **selfcheck.handlers(CHECKS, telemetry)}
    handlers |= {**_LEDGER_HANDLERS, **payout_jobs.handlers(rules, telemetry)}
    handlers |= {**reassignment_jobs.handlers(rules), **dispute_jobs.recovery_handlers(rules)}
    handlers |= _mail_handlers(db, transport, catalogues, hosts, screener, pay_to)
    handlers |= {**sign_in_jobs.handlers, **organisation_jobs.handlers(PARTNERS_BY_ORGANISATION)}
    handlers |= {**register_jobs.handlers(registers), **watchlist_jobs.handlers(watchlists)}
    handlers |= document_jobs.handlers(blobs, scanner)
    handlers |= {
        **match_jobs.handlers(screener),
        **verification_jobs.handlers(WatchlistScreening(screener), payees.first_approved_account),
    }
    handlers |= {**request_jobs.handlers(name_agreement), **monitoring_jobs.handlers(screener)}
    handlers |= {**eligibility_jobs.handlers, **submission_jobs.handlers, **appeal_jobs.handlers}
    if provider is not None:
        handlers |= _payment_handlers(provider, looks, figures, rules)
    if reports is not None:
        handlers |= settlement_jobs.handlers(reports)
    return BackgroundTasks(
        handlers,
        reactions=REACTIONS,
        schedules=(
            *SCHEDULES,
            *payout_jobs.schedules(sandbox=db.deployment.sandbox),
            *register_jobs.schedules(registers.plan),
            *watchlist_jobs.schedules(watchlists.plan),
            *audit_heads.schedules(heads),
            *_retention_schedules(kept),
            *(() if reports is None else settlement_jobs.fetch_schedules(reports)),
        ),
        limits={**register_jobs.LIMITS, **watchlist_jobs.LIMITS, **document_jobs.LIMITS, **settlement_jobs.LIMITS},
    )


def _retention_schedules(kept: RetentionPeriods) -> tuple[Schedule, ...]:
    """What goes a term after a decision."""
    return (*agent_jobs.schedules(kept), *handed_in_jobs.schedules(kept))


def _payment_handlers(
    provider: PaymentProvider, looks: RefundStatusReader | None, figures: CardTestingLimits, rules: DisbursementRules
) -> Mapping[str, Handler]:
    """What asks the payment provider."""
    return {
        **donation_jobs.handlers(provider, figures),
        **suspense_jobs.handlers(provider),
        **refund_jobs.handlers(provider, looks),
        **dispute_jobs.handlers(provider, rules),
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

    def mails(folder: Path) -> PageRenderer:
        return PageRenderer(db.deployment, folder, catalogues)

    return {
        **receipt_jobs.handlers(mails(receipts.MAILS), transport),
        **refund_notice_jobs.handlers(mails(refund_notices.MAILS), transport),
        **transfer_notice_jobs.handlers(mails(transfer_notices.MAILS), transport, pay_to),
        **reassignment_notice_jobs.handlers(mails(reassignment_notices.MAILS), transport),
        **statement_jobs.handlers(mails(statements.MAILS), transport),
        **confirmation_jobs.handlers(mails(confirmations.MAILS), transport, contact_of),
        **account_notice_jobs.handlers(mails(account_notices.MAILS), transport, contact_of),
        **letter_jobs.handlers(mails(letters.MAILS), transport),
        **account_jobs.handlers(mails(accounts.MAILS), transport),
        **brake_jobs.handlers(mails(brake_jobs.MAILS), transport),
        **agent_jobs.handlers(mails(agents.MAILS), transport, hosts, screener),
        **application_jobs.handlers(mails(applications.MAILS), transport),
    }
