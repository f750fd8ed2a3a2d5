"""All that `almoner selfcheck` and the nightly job ask, slice by slice."""

from typing import Final

from almoner.access.credentials import checks as credential_checks
from almoner.access.sign_ins import checks as sign_in_checks
from almoner.giving.accounting.disputes import checks as dispute_checks
from almoner.giving.accounting.ledger import checks as ledger_checks
from almoner.giving.accounting.reassignments import checks as reassignment_checks
from almoner.giving.accounting.refunds import checks as refund_checks
from almoner.giving.accounting.settlements import checks as settlement_checks
from almoner.giving.accounting.suspense import checks as suspense_checks
from almoner.giving.banking.bank_statements import checks as bank_line_checks
from almoner.giving.banking.payment_files import checks as bank_file_checks
from almoner.giving.checkout.donation_requests import checks as donation_request_checks
from almoner.giving.checkout.donations import checks as donation_checks
from almoner.giving.checkout.payments import checks as payment_checks
from almoner.giving.checkout.sessions import checks as session_checks
from almoner.giving.disbursing.disbursements import checks as payout_checks
from almoner.giving.disbursing.organisation_confirmations import checks as confirmation_checks
from almoner.giving.disbursing.verifications import checks as verification_checks
from almoner.giving.gift_aid.claims import checks as claim_checks
from almoner.giving.gift_aid.declarations import checks as gift_aid_checks
from almoner.giving.receipts import checks as receipt_checks
from almoner.nonprofits.organisations import checks as organisation_checks
from almoner.nonprofits.registers import checks as register_checks
from almoner.platform.observability import checks as background_checks
from almoner.platform.observability.selfcheck import Check
from almoner.screening.watchlists import checks as watchlist_checks
from almoner.validation.agents import checks as agent_checks
from almoner.validation.applications.documents import checks as document_checks
from almoner.validation.applications.invites import checks as invite_checks
from almoner.validation.applications.submissions import checks as submission_checks
from almoner.validation.decisions.appeals import checks as appeal_checks
from almoner.validation.decisions.reviews import checks as review_checks
from almoner.validation.ongoing.eligibility import checks as eligibility_checks
from almoner.validation.ongoing.matches import checks as match_checks
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from almoner.validation.requests import checks as request_checks
from almoner.webhooks.deliveries import checks as delivery_checks

CHECKS: Final[tuple[Check, ...]] = (
    *ledger_checks.checks,
    *payment_checks.checks,
    *donation_checks.checks,
    *session_checks.checks,
    *suspense_checks.checks,
    *settlement_checks.checks,
    *payout_checks.checks,
    *verification_checks.checks,
    *confirmation_checks.checks,
    *bank_file_checks.checks,
    *bank_line_checks.checks,
    *donation_request_checks.checks,
    *gift_aid_checks.checks,
    *claim_checks.checks,
    *dispute_checks.checks,
    *reassignment_checks.checks,
    *refund_checks.checks,
    *receipt_checks.checks,
    *credential_checks.checks,
    *sign_in_checks.checks,
    *background_checks.checks,
    *delivery_checks.checks,
    *register_checks.checks,
    *organisation_checks.checks,
    *document_checks.checks,
    *watchlist_checks.checks,
    *review_checks.checks,
    *match_checks.checks,
    *request_checks.checks,
    *monitoring_checks.checks,
    *eligibility_checks.checks,
    *agent_checks.checks,
    *submission_checks.checks,
    *appeal_checks.checks,
    *invite_checks.checks,
)
