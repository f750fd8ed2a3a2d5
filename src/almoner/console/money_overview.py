"""The finance overview: decisions that need a second approval, and the number and age of other open items."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.operators.domain import Approval
from almoner.access.people.domain import Person
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.money_records import FIRST, WAITS, build_operator_name_lookup, load_organisation_names_by_id
from almoner.console.operator_start_page import StartPageLine
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import LineFilters
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import OperatorDisbursementFilters, WaitingReason
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.receipts import service as receipts
from almoner.kit.money import format_amount
from almoner.platform.database.transactions import Tx

_PATH: Final = "/money"
_LISTED: Final = 50
_CONFIRM: Final = "disbursements.confirm"
_RELEASE: Final = "disbursements.release"


@dataclass(frozen=True, slots=True)
class PendingSecondApproval:
    """A decision that needs a second approval. ``is_own``: whether the visitor gave the first approval."""

    label: str
    path: str
    first_approver: str
    since: datetime
    note: str
    is_own: bool


class MoneyOverviewPage:
    """The page."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(_PATH, self.show, *FINANCE, methods=["GET"])]

    async def show(self, visitor: SignedInRequest) -> Response:
        """Show all open items for finance operators."""
        async with self._context.db.read() as tx:
            looks = await list_pending_second_approvals(tx, self._context.operator_id(visitor))
            lines = await summarise_open_items(tx)
            held = [
                (reason.description, reason.value, count, oldest)
                for reason, count, oldest in await disbursements.count_waiting_disbursements_by_reason(tx)
                if reason is not WaitingReason.BELOW_THRESHOLD
            ]
        return await self._context.render_console_page(
            visitor,
            "money_inbox.html",
            looks=looks,
            lines=[line for line in lines if line.count],
            held=held,
            most=MOST_COUNTED,
            message=WAITS if visitor.query.get("done") == FIRST else "",
        )


async def list_pending_second_approvals(tx: Tx, viewer_id: str) -> list[PendingSecondApproval]:
    """List decisions and records that need a second approval. ``viewer_id``: the visitor."""
    found = [
        PendingSecondApproval(
            words,
            path,
            person.display_name,
            one.first.at,
            one.first.note,
            one.first.by == tx.ids.decode(operators.ID, viewer_id),
        )
        for one, person in await _list_valid_approvals(tx)
        for words, path in (_address_of(one),)
    ]
    files = list(await payment_files.list_for_operators(tx, "created", None, _LISTED))
    accounts = await payee_bank_accounts.list_for_operators(tx, "proposed", None, None, _LISTED)
    names = await load_organisation_names_by_id(tx, [(None, one.organisation_id) for one in accounts])
    shown = await build_operator_name_lookup(
        tx, [*(one.created_by for one in files), *(one.proposal.by for one in accounts)]
    )
    found += [
        PendingSecondApproval(
            f"Release the payment file of {format_amount(one.total)}",
            f"/payment-files/{tx.ids.encode('bankfile', one.id)}",
            shown(one.created_by) or "",
            one.created_at,
            f"{one.payment_count:,} payments",
            one.created_by == viewer_id,
        )
        for one in files
        if one.requires_second_approval
    ]
    found += [
        PendingSecondApproval(
            f"Approve the account of {names.get(one.organisation_id) or one.holder}",
            f"/payee-accounts/{tx.ids.encode('payeeaccount', one.id)}",
            shown(one.proposal.by) or "",
            one.proposal.at,
            f"{one.completed_review_count} of {one.required_review_count} approvals",
            viewer_id in (one.proposal.by, one.first_review.by if one.first_review else None),
        )
        for one in accounts
    ]
    found += await _donees_to_approve(tx, viewer_id)
    return sorted(found, key=lambda one: one.since)


async def _donees_to_approve(tx: Tx, viewer_id: str) -> list[PendingSecondApproval]:
    donees = await receipts.list_proposed_donees(tx, _LISTED)
    shown = await build_operator_name_lookup(tx, [one.proposed_by for one in donees])
    return [
        PendingSecondApproval(
            f"Approve the donee {one.legal_name}",
            f"/receipt-donees/{tx.ids.encode('receiptdonee', one.id)}",
            shown(one.proposed_by) or "",
            one.proposed_at,
            one.proposed_note,
            one.proposed_by == viewer_id,
        )
        for one in donees
    ]


async def _list_valid_approvals(tx: Tx) -> list[tuple[Approval, Person]]:
    """Finance decisions that a second approval would complete.

    Without those whose disbursement or holds have changed since, and those of operators who have no finance role now.
    """
    found = [
        (one, first)
        for one, first in await operators.list_pending_approvals(tx)
        if first.has_role("finance") and one.action in (_CONFIRM, _RELEASE)
    ]
    sent = {one.subject: tx.ids.decode("disbursement", one.subject) for one, _ in found if one.action == _CONFIRM}
    held = {one.subject: _decode_hold(tx, one.subject) for one, _ in found if one.action == _RELEASE}
    of_sent = await disbursements.load_sent_disbursement_fingerprints_by_id(
        tx, [one for one in sent.values() if one is not None]
    )
    of_holds = await disbursements.load_hold_fingerprints_by_organisation_and_partner(
        tx, [one for one in held.values() if one is not None]
    )
    current = {subject: of_sent.get(one) for subject, one in sent.items() if one is not None}
    current |= {subject: of_holds.get(one) for subject, one in held.items() if one is not None}
    return [(one, first) for one, first in found if one.fingerprint == current.get(one.subject)]


def _parse_hold(subject: str) -> tuple[str, str]:
    """The IDs of the nonprofit and the partner in the subject of an approval to release holds; "" for all partners."""
    organisation, _, partner = subject.partition(" for ")
    return organisation, partner


def _decode_hold(tx: Tx, subject: str) -> tuple[UUID, UUID | None] | None:
    """The nonprofit and the partner of an approval to release holds; no partner for the holds of all."""
    organisation, partner = _parse_hold(subject)
    organisation_id = tx.ids.decode("organisation", organisation)
    return None if organisation_id is None else (organisation_id, tx.ids.decode("partner", partner))


def _address_of(one: Approval) -> tuple[str, str]:
    """The description of a finance decision, and the path of the page for its second approval."""
    if one.action == _CONFIRM:
        return f"Confirm that {one.subject} was paid", f"/disbursements/{one.subject}/confirm"
    organisation, partner = _parse_hold(one.subject)
    return f"Release {one.subject}", f"/disbursements/holds/{organisation}/{partner or 'all'}/release"


async def summarise_open_items(tx: Tx) -> list[StartPageLine]:
    """The number of open items of each kind, and the age of the oldest item."""
    return [*await _banking_work(tx), *await _payment_work(tx), *await _disbursing_work(tx)]


async def _banking_work(tx: Tx) -> list[StartPageLine]:
    open_lines = await bank_statements.count_lines(tx, LineFilters(status="open"), MOST_COUNTED)
    oldest_line = await bank_statements.find_oldest_unreconciled_line_at(tx)
    unbooked = await settlements.list_unmatched_lines(tx, 1)
    unbooked_count = sum(one.line_count for one in await settlements.sum_unmatched_lines_by_currency(tx))
    payouts = await bank_statements.count_missing_provider_payouts_up_to(tx, MOST_COUNTED + 1)
    gaps = await bank_statements.list_statement_gaps(tx, MOST_COUNTED + 1)
    uploads = await bank_statements.list_uploads(tx, _LISTED)
    uploaded_at = uploads[-1].uploaded_at if uploads else None
    unbooked_since = unbooked[0].stored_line.imported_at if unbooked else None
    return [
        StartPageLine("Statement lines to match", "/bank-statement-lines?status=open", open_lines, oldest_line),
        StartPageLine("Uploaded statements to book", "/bank-statements/upload", len(uploads), uploaded_at),
        StartPageLine("Unmatched settlement lines", "/settlements/unmatched", unbooked_count, unbooked_since),
        StartPageLine("Provider payouts without a bank statement line", "/settlements/provider-payouts", *payouts),
        StartPageLine(
            "Missing or incomplete statements",
            "/bank-statements/gaps",
            len(gaps),
            gaps[0].imported_at if gaps else None,
        ),
    ]


async def _payment_work(tx: Tx) -> list[StartPageLine]:
    held = await suspense.list_for_operators(tx, "held", None, None, 1)
    held_count = await suspense.count_for_operators(tx, "held", None, MOST_COUNTED)
    unsent = await refunds.list_unresolved(tx, 1)
    unsent_count = await refunds.count_unresolved(tx)
    overpaid = await donation_requests.count_held_overpayments_up_to(tx, MOST_COUNTED + 1)
    disputed = await disputes.list_for_operators(tx, DisputeStatus.OPEN, None, 1)
    disputed_count = await disputes.count_for_operators(tx, DisputeStatus.OPEN, MOST_COUNTED)
    return [
        StartPageLine(
            "Unallocated payments",
            "/unallocated-payments?status=held",
            held_count,
            held[0].received_at if held else None,
        ),
        StartPageLine("Overpayments of donation requests", "/donation-requests/overpayments", *overpaid),
        StartPageLine("Failed refunds", "/refunds/failed", unsent_count, unsent[0].ended_at if unsent else None),
        StartPageLine(
            "Open disputes", "/disputes?status=open", disputed_count, disputed[0].opened_at if disputed else None
        ),
    ]


async def _disbursing_work(tx: Tx) -> list[StartPageLine]:
    proposed = await payee_bank_accounts.list_for_operators(tx, "proposed", None, None, 1)
    proposed_count = await payee_bank_accounts.count_for_operators(tx, "proposed", None, MOST_COUNTED)
    holds = await disbursements.list_active_holds_after_id(tx, 1, 0)
    holds_count = await disbursements.count_active_holds(tx)
    sent = await disbursements.count_for_operators(tx, OperatorDisbursementFilters(status="SENT"), MOST_COUNTED)
    sent_at = await disbursements.find_oldest_unconfirmed_sent_at(tx)
    files = await payment_files.count_for_operators(tx, "created", MOST_COUNTED)
    return [
        StartPageLine(
            "Payee accounts to approve",
            "/payee-accounts?status=proposed",
            proposed_count,
            proposed[0].proposal.at if proposed else None,
        ),
        StartPageLine(
            "Nonprofits on hold", "/disbursements/holds", holds_count, holds[0][1].decided_at if holds else None
        ),
        StartPageLine("Payment files to release", "/payment-files?status=created", files),
        StartPageLine("Disbursements sent, not confirmed", "/disbursements?status=SENT", sent, sent_at),
    ]
