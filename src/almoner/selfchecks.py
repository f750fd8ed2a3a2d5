"""All consistency checks, by slice."""

from typing import Final

from almoner.access.credentials import checks as credentials_checks
from almoner.access.notifications import checks as notifications_checks
from almoner.access.sign_ins import checks as sign_ins_checks
from almoner.giving.accounting.dispute_evidence import checks as dispute_evidence_checks
from almoner.giving.accounting.disputes import checks as disputes_checks
from almoner.giving.accounting.ledger import checks as ledger_checks
from almoner.giving.accounting.reassignments import checks as reassignments_checks
from almoner.giving.accounting.refunds import checks as refunds_checks
from almoner.giving.accounting.settlements import checks as settlements_checks
from almoner.giving.accounting.suspense import checks as suspense_checks
from almoner.giving.banking.bank_statements import checks as bank_statements_checks
from almoner.giving.banking.payment_files import checks as payment_files_checks
from almoner.giving.checkout.donation_requests import checks as donation_requests_checks
from almoner.giving.checkout.donations import checks as donations_checks
from almoner.giving.checkout.payments import checks as payments_checks
from almoner.giving.checkout.sessions import checks as sessions_checks
from almoner.giving.disbursing.disbursements import checks as disbursements_checks
from almoner.giving.disbursing.organisation_confirmations import checks as organisation_confirmations_checks
from almoner.giving.disbursing.verifications import checks as verifications_checks
from almoner.giving.gift_aid.claims import checks as claims_checks
from almoner.giving.gift_aid.declarations import checks as declarations_checks
from almoner.giving.receipts import checks as receipts_checks
from almoner.giving.subscriptions.donation_subscriptions import checks as donation_subscriptions_checks
from almoner.nonprofits.organisations import checks as organisations_checks
from almoner.nonprofits.registers import checks as registers_checks
from almoner.platform.observability import checks as observability_checks
from almoner.platform.observability.selfcheck import ConsistencyCheck
from almoner.screening.watchlists import checks as watchlists_checks
from almoner.validation.agents import checks as agents_checks
from almoner.validation.applications.documents import checks as documents_checks
from almoner.validation.applications.invites import checks as invites_checks
from almoner.validation.applications.submissions import checks as submissions_checks
from almoner.validation.decisions.appeals import checks as appeals_checks
from almoner.validation.decisions.reviews import checks as reviews_checks
from almoner.validation.ongoing.eligibility import checks as eligibility_checks
from almoner.validation.ongoing.matches import checks as matches_checks
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from almoner.validation.requests import checks as requests_checks
from almoner.webhooks.deliveries import checks as deliveries_checks

CHECKS: Final[tuple[ConsistencyCheck, ...]] = (
    *ledger_checks.checks,
    *payments_checks.checks,
    *donations_checks.checks,
    *sessions_checks.checks,
    *donation_subscriptions_checks.checks,
    *suspense_checks.checks,
    *settlements_checks.checks,
    *disbursements_checks.checks,
    *verifications_checks.checks,
    *organisation_confirmations_checks.checks,
    *payment_files_checks.checks,
    *bank_statements_checks.checks,
    *donation_requests_checks.checks,
    *declarations_checks.checks,
    *claims_checks.checks,
    *dispute_evidence_checks.checks,
    *disputes_checks.checks,
    *reassignments_checks.checks,
    *refunds_checks.checks,
    *receipts_checks.checks,
    *notifications_checks.checks,
    *credentials_checks.checks,
    *sign_ins_checks.checks,
    *observability_checks.checks,
    *deliveries_checks.checks,
    *registers_checks.checks,
    *organisations_checks.checks,
    *documents_checks.checks,
    *watchlists_checks.checks,
    *reviews_checks.checks,
    *matches_checks.checks,
    *requests_checks.checks,
    *monitoring_checks.checks,
    *eligibility_checks.checks,
    *agents_checks.checks,
    *submissions_checks.checks,
    *appeals_checks.checks,
    *invites_checks.checks,
)
