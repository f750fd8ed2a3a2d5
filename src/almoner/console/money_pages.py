"""All pages about money."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.context import MOST_COUNTED, ConsoleContext, Counter
from almoner.console.links import FINANCE
from almoner.console.money_disbursements import DisbursementPages
from almoner.console.money_disputes import DisputePages
from almoner.console.money_donations import DonationActions
from almoner.console.money_donees import ReceiptDoneePages
from almoner.console.money_files import PaymentFilePages
from almoner.console.money_gift_aid import GiftAidClaimPages
from almoner.console.money_holds import DisbursementHoldPages
from almoner.console.money_ledger import LedgerPages
from almoner.console.money_lines import BankStatementLinePages
from almoner.console.money_month_end import MonthEndPages
from almoner.console.money_overview import MoneyOverviewPage, list_pending_second_approvals, summarise_open_items
from almoner.console.money_payees import PayeeAccountPages
from almoner.console.money_refunds import RefundPages
from almoner.console.money_requests import DonationRequestPages
from almoner.console.money_settlements import SettlementPages
from almoner.console.money_statements import BankStatementPages
from almoner.console.money_unallocated import UnallocatedPaymentPages
from almoner.console.operator_start_page import StartPageLine, StartPageSection
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import LineFilters
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.platform.database.transactions import Tx


async def _open_lines(tx: Tx) -> int:
    return await bank_statements.count_lines(tx, LineFilters(status="open"), MOST_COUNTED)


async def _held_payments(tx: Tx) -> int:
    return await suspense.count_for_operators(tx, "held", None, MOST_COUNTED)


async def _open_disputes(tx: Tx) -> int:
    return await disputes.count_for_operators(tx, DisputeStatus.OPEN, MOST_COUNTED)


async def _proposed_accounts(tx: Tx) -> int:
    return await payee_bank_accounts.count_for_operators(tx, "proposed", None, MOST_COUNTED)


COUNTERS: Final[Mapping[str, Counter]] = {
    "/bank-statement-lines": _open_lines,
    "/unallocated-payments": _held_payments,
    "/refunds": refunds.count_unresolved,
    "/disputes": _open_disputes,
    "/payee-accounts": _proposed_accounts,
}


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    return [
        *MoneyOverviewPage(context).routes(),
        *BankStatementPages(context).routes(),
        *BankStatementLinePages(context).routes(),
        *SettlementPages(context).routes(),
        *DonationRequestPages(context).routes(),
        *UnallocatedPaymentPages(context).routes(),
        *RefundPages(context).routes(),
        *DisputePages(context).routes(),
        *DonationActions(context).routes(),
        *DisbursementHoldPages(context).routes(),
        *DisbursementPages(context).routes(),
        *PaymentFilePages(context).routes(),
        *PayeeAccountPages(context).routes(),
        *ReceiptDoneePages(context).routes(),
        *GiftAidClaimPages(context).routes(),
        *LedgerPages(context).routes(),
        *MonthEndPages(context).routes(),
    ]


def start_page_sections(context: ConsoleContext) -> Sequence[StartPageSection]:
    """The section about money on the console's start page."""

    async def waiting(tx: Tx, visitor: SignedInRequest) -> list[StartPageLine]:
        looks = [one for one in await list_pending_second_approvals(tx, context.operator_id(visitor)) if not one.is_own]
        second = StartPageLine("Waiting for a second approval", "/money", len(looks), looks[0].since if looks else None)
        return [second, *await summarise_open_items(tx)]

    return [StartPageSection("Money", FINANCE, waiting)]
