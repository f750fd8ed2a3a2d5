"""Imports statements and reconciles their lines, by rule or by operators."""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import DataError, IntegrityConstraintViolationError, PostgresError

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import SettlementReportError, UnmatchedSettlementLine
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import (
    account_ownership,
    batch_bookings,
    csv_statements,
    domain,
    donor_transfers,
    match_proposals,
    mt940,
    store,
    store_gaps,
    store_uploads,
    unsupported_files,
)
from almoner.giving.banking.bank_statements.csv_mapping import CsvStatementMapping as CsvStatementMapping
from almoner.giving.banking.bank_statements.csv_mapping import load_mapping as load_mapping
from almoner.giving.banking.bank_statements.csv_mapping import parse_mapping as parse_mapping
from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankMovement,
    BankStatement,
    BankStatementError,
    LineDetails,
    MatchedAs,
    MatchProposal,
    MatchTarget,
    MissingProviderPayout,
    ParsedStatements,
    ReferencedRecords,
    StatementGap,
    StatementUpload,
    UnreconciledItem,
    UnreconciledLineReason,
)
from almoner.giving.banking.bank_statements.store import count_lines as count_lines
from almoner.giving.banking.bank_statements.store import (
    count_missing_provider_payouts_up_to as count_missing_provider_payouts_up_to,
)
from almoner.giving.banking.bank_statements.store import (
    count_unreconciled_lines_and_payouts as count_unreconciled_lines_and_payouts,
)
from almoner.giving.banking.bank_statements.store import find_missing_provider_payout as find_missing_provider_payout
from almoner.giving.banking.bank_statements.store import (
    find_oldest_unreconciled_line_at as find_oldest_unreconciled_line_at,
)
from almoner.giving.banking.bank_statements.store import find_unallocated_reason as find_unallocated_reason
from almoner.giving.banking.bank_statements.store import list_filtered_lines as list_filtered_lines
from almoner.giving.banking.bank_statements.store import list_missing_provider_payouts as list_missing_provider_payouts
from almoner.giving.banking.bank_statements.store import (
    list_oldest_open_or_newest_lines as list_oldest_open_or_newest_lines,
)
from almoner.giving.banking.bank_statements.store import list_statements as list_statements
from almoner.giving.banking.bank_statements.store import (
    load_last_covered_days_by_account_and_currency as load_last_covered_days_by_account_and_currency,
)
from almoner.giving.banking.bank_statements.store import load_line_details_by_id as load_line_details_by_id
from almoner.giving.banking.bank_statements.store import (
    load_movements_by_unallocated_payment as load_movements_by_unallocated_payment,
)
from almoner.giving.banking.bank_statements.store_gaps import find_statement_gap as find_statement_gap
from almoner.giving.banking.bank_statements.store_gaps import list_statement_gaps as list_statement_gaps
from almoner.giving.banking.bank_statements.store_uploads import list_uploads as list_uploads
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import DonationRequest, DonationRequestError
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK_TRANSFER, Payment
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import Disbursement, DisbursementError, DisbursementRules
from almoner.kit.errors import NotFound
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money, MoneyError
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.observability.telemetry import Telemetry

BY_RULE: Final = "rule"
_UPLOAD: Final = "bank_statement_upload"
_SANDBOX: Final = "sandbox"
"""The account that receives simulated transfers."""
PAGE_SIZE: Final = 500
REFUSALS: Final = (
    *(DonationRequestError, DisbursementError, SettlementReportError, BankStatementError, InvalidState),
    *(NotFound, LookupError, MoneyError, DataError, IntegrityConstraintViolationError),
)
"""Errors of a single line that do not affect other lines."""
_REPORTED: Final = 200
_DAYS: Final = 30
_LEAST_REFERENCE: Final = 6
"""The minimum length of a provider's payout reference; a shorter one may occur in a text by chance."""


def parse_statement_file(
    content: bytes, mapping: CsvStatementMapping | None, own_accounts: Mapping[str, OwnAccount] | None, today: date
) -> ParsedStatements:
    """Parse a file of any format.

    camt.053, MT940, or CSV with a mapping; packed or not. Raises BankStatementError if there is no statement to import.
    ``own_accounts``: our accounts by currency; statements of other accounts are refused; None accepts any account, as
    in the sandbox.
    """
    from almoner.giving.banking.bank_statements import packed_files  # on first use: 0.4 MB with tarfile

    wrong: list[str] = []
    found: list[BankStatement] = []
    files = packed_files.unpack_archive(content)
    for file in files:
        where = f"{file.name}: " if len(files) > 1 else ""
        try:
            parsed = _parse_one(file.content, mapping)
        except BankStatementError as refused:
            wrong += [f"{where}{problem}" for problem in str(refused).splitlines()]
            continue
        wrong += [f"{where}{problem}" for problem in parsed.problems]
        found += parsed.statements
    believed = []
    for one in (domain.reject_unbookable_lines(some, today + timedelta(days=domain.DAYS_AHEAD)) for some in found):
        whole = [*account_ownership.find_ownership_problems(one, own_accounts), *domain.find_statement_problems(one)]
        wrong += [f"{one.account}, {one.reference}: {problem}" for problem in whole or one.rejected]
        if not whole:
            believed.append(replace(one, account=account_ownership.canonical_account_number(one, own_accounts)))
    if not believed:
        rest = f"\nand {len(wrong) - _REPORTED:,} more" if len(wrong) > _REPORTED else ""
        raise BankStatementError("\n".join(wrong[:_REPORTED]) + rest if wrong else "The file contains no statement.")
    return ParsedStatements(believed, wrong)


def _parse_one(content: bytes, mapping: CsvStatementMapping | None) -> ParsedStatements:
    if unsupported := unsupported_files.describe_unsupported_file(content, has_csv_mapping=mapping is not None):
        raise BankStatementError(f"This is not a bank statement: the file is {unsupported}")
    if mapping is not None:
        return ParsedStatements(csv_statements.parse_statements(content, mapping), [])
    if mt940.is_mt940(content):
        return mt940.parse_statements(content)
    if not content.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00").startswith(b"<"):
        raise BankStatementError(
            "This is not a bank statement: it is neither XML nor MT940. If it is a CSV file, use --mapping"
        )
    from almoner.giving.banking.bank_statements import camt  # imported on first use: a large library

    return camt.parse_statements(content)


async def store_statement(tx: Tx, statement: BankStatement, *, imported_by: str) -> bool:
    """Store a statement, or its new lines; False if nothing is new. Raises BankStatementError.

    It is identified by account, reference, days and lines, not by its file, which the bank may create again.
    """
    account, name = statement.account, statement.reference
    await store.lock_account(tx, account)
    recurrence, parts = await store.load_statement_number_and_file_count(tx, statement)
    if statement.is_account_export and (days := statement.date_range):
        known = await store.list_movements_imported_from_account_exports(tx, account, statement.currency, *days)
    else:
        known = await store.list_stored_movements_of_statement(tx, account, name, recurrence) if parts else []
    new = domain.find_new_lines(statement, known)
    if new or not parts:
        await store.insert_statement_lines(tx, statement, new, (recurrence, parts + 1), imported_by)
    return bool(new or not parts)


async def list_line_ids_of_statement(tx: Tx, statement: BankStatement) -> list[UUID]:
    """The IDs of a statement's stored lines, in its order."""
    return await store.list_line_ids_of_statement(tx, statement.account, statement.reference)


async def get_line_details(tx: Tx, line_id: UUID) -> LineDetails:
    """A line with its statement and decisions. Raises NotFound."""
    if (found := await store.find_line_details(tx, line_id)) is None:
        raise NotFound
    return found


async def store_upload(
    tx: Tx, file_name: str, content: bytes, mapping_text: str | None, *, uploaded_by: str
) -> StatementUpload:
    """Store an uploaded file until an operator books or discards it."""
    upload_id, digest = tx.new_id(), sha256_digest(content)
    upload = StatementUpload(
        upload_id, file_name or "statement", digest, len(content), mapping_text, uploaded_by, tx.now
    )
    sealed = tx.vault.encrypt(zlib.compress(content), context=_UPLOAD, associated_data=upload_id.bytes)
    await store_uploads.insert(tx, upload, sealed)
    return upload


class UploadWithContent(NamedTuple):
    """An uploaded file and its content."""

    upload: StatementUpload
    content: bytes


async def get_upload(tx: Tx, upload_id: UUID) -> UploadWithContent:
    """An uploaded file and its content. Raises NotFound."""
    if (found := await store_uploads.find(tx, upload_id)) is None:
        raise NotFound
    content = tx.vault.decrypt(found.encrypted_content, context=_UPLOAD, associated_data=upload_id.bytes)
    return UploadWithContent(found.upload, zlib.decompress(content))


async def delete_upload(tx: Tx, upload_id: UUID) -> None:
    """Delete an uploaded file, booked or not. Raises NotFound."""
    if not await store_uploads.delete(tx, upload_id):
        raise NotFound


async def list_unreconciled_line_ids(tx: Tx, after: UUID | None) -> list[UUID]:
    """Unreconciled lines, oldest first, after the given one."""
    return await store.list_unreconciled_line_ids(tx, after, PAGE_SIZE)


async def record_gap_explanation(tx: Tx, statement_id: UUID, *, note: str, explained_by: str) -> None:
    """Record an operator's explanation why no statement is missing. Raises NotFound, BankStatementError."""
    if await store_gaps.find_statement_gap(tx, statement_id) is None:
        raise NotFound
    _ensure_note(note)
    if not await store_gaps.record_gap_explanation(tx, statement_id, note, explained_by):
        raise BankStatementError("Somebody else has just explained this.")


async def record_provider_payout_explanation(
    tx: Tx, provider: str, reference: str, *, note: str, explained_by: str
) -> None:
    """Record an operator's explanation why a provider payout never arrived. Raises NotFound, BankStatementError.

    No money moves: the difference between ledger and bank arrives with a later report, or is a cost.
    """
    _ensure_note(note)
    if not await store_gaps.record_provider_payout_explanation(tx, provider, reference, note, explained_by):
        raise NotFound


async def list_unreconciled_items(tx: Tx, limit: int) -> list[UnreconciledItem]:
    """Everything that is unreconciled, oldest first (M7)."""
    lines = [_unbooked_item(one) for one in await settlements.list_unmatched_lines(tx, limit)]
    lines += [
        _open_line_item(tx, one)
        for one in await list_oldest_open_or_newest_lines(tx, limit, newest_of_any_status=False)
    ]
    lines += [_missing_provider_payout_item(one) for one in await list_missing_provider_payouts(tx, limit)]
    lines += [_gap_item(tx, one) for one in await list_statement_gaps(tx, limit)]
    return sorted(lines, key=lambda one: one.imported_at)[:limit]


def _unbooked_item(one: UnmatchedSettlementLine) -> UnreconciledItem:
    line, why = one.stored_line.line, one.stored_line.mismatch_reason
    name = f"{one.report_reference} {line.kind} {line.provider_payment_id}"
    money = line.signed_gross_minor, line.gross.currency
    return UnreconciledItem(
        "provider_line",
        one.stored_line.imported_at,
        one.stored_line.provider,
        name,
        *money,
        why.explanation if why else "",
    )


def _open_line_item(tx: Tx, line: BankLine) -> UnreconciledItem:
    why = line.unreconciled_reason.description if line.unreconciled_reason else ""
    money = line.movement.amount_minor, line.movement.currency
    return UnreconciledItem(
        "bank_statement_line", line.imported_at, line.account, tx.ids.encode("bankline", line.id), *money, why
    )


def _missing_provider_payout_item(one: MissingProviderPayout) -> UnreconciledItem:
    paid = one.payout
    return UnreconciledItem(
        "provider_payout", one.imported_at, one.provider, paid.reference, paid.net_minor, paid.currency, one.explanation
    )


def _gap_item(tx: Tx, gap: StatementGap) -> UnreconciledItem:
    name = tx.ids.encode("bankstatement", gap.id)
    return UnreconciledItem(
        "bank_statement", gap.imported_at, gap.account, name, gap.opening_minor, gap.currency, gap.explanation
    )


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Collect metrics: unreconciled items and the age of the oldest."""
    lines, reports = await count_unreconciled_lines_and_payouts(tx)
    missing = await list_statement_gaps(tx, PAGE_SIZE)
    unbooked = sum(one.line_count for one in await settlements.sum_unmatched_lines_by_currency(tx))
    telemetry.bank_lines_open.set(lines)
    telemetry.bank_reports_open.set(reports)
    oldest = {
        "provider_line": [_unbooked_item(one) for one in await settlements.list_unmatched_lines(tx, 1)],
        "bank_statement_line": [
            _open_line_item(tx, one)
            for one in await list_oldest_open_or_newest_lines(tx, 1, newest_of_any_status=False)
        ],
        "provider_payout": [_missing_provider_payout_item(one) for one in await list_missing_provider_payouts(tx, 1)],
        "bank_statement": [_gap_item(tx, one) for one in missing[:1]],
    }
    for (kind, found), count in zip(oldest.items(), (unbooked, lines, reports, len(missing)), strict=True):
        telemetry.unreconciled.set_open_items(
            kind, count, (tx.now - found[0].imported_at).total_seconds() if found else 0.0
        )


async def book_sandbox_transfer(tx: Tx, money: Money, remittance_information: str, *, booked_by: str) -> None:
    """Book an incoming transfer as a statement with this one line would."""
    name = f"simulated-{encode_uuid(tx.new_id())}"
    today = tx.deployment.date_in_issuer_time_zone(tx.now)
    moved = BankMovement(today, money.minor, money.currency, name, None, None, remittance_information, None)
    digest = tx.vault.compute_keyed_hash("bank_statement", name.encode())
    await store_statement(
        tx, BankStatement(_SANDBOX, name, money.currency, None, None, digest, (moved,)), imported_by=booked_by
    )
    for line_id in await store.list_line_ids_of_statement(tx, _SANDBOX, name):
        try:
            async with tx.savepoint():
                await match_unreconciled_line(tx, line_id)
        except REFUSALS as refused:
            await record_booking_error(tx, line_id, describe_booking_error(refused))


async def match_unreconciled_line(tx: Tx, line_id: UUID) -> bool:
    """Reconcile an open line if its match is certain; False if not. May raise one of ``REFUSALS``.

    A collective booking of many disbursements is split into one open line for each.
    """
    line = await _lock_line(tx, line_id)
    if line.status != "open" or line.unreconciled_reason is UnreconciledLineReason.REOPENED:
        return False
    await store.lock_movements_of_same_day_and_amount(tx, line)
    moved = line.movement
    is_incoming = moved.amount_minor > 0
    if is_incoming and not moved.is_reversal and (noted := await store.find_manually_recorded_payment_id(tx, line)):
        await store.mark_matched(tx, line.id, "request", noted, BY_RULE)
        return True
    named, is_distinct = await _load_references(tx, line)
    if is_distinct:
        await store.mark_not_duplicate(tx, line)
    found = domain.match_movement(moved, named)
    if await batch_bookings.split_batch_booking(tx, line, named, found):
        return True
    # Only on the first attempt: an operator may release it meanwhile.
    if found is UnreconciledLineReason.TAKEN_BACK and line.unreconciled_reason is not found:
        await donor_transfers.hold_disbursements_of_reversed_donations(
            tx, line, [*named.payments, *await _reversed_payments(tx, line)]
        )
    if found is UnreconciledLineReason.OTHER_STATE and line.unreconciled_reason is not found:
        await _hold_returned_money(tx, line, named)
    why = found if isinstance(found, UnreconciledLineReason) else await _apply_match(tx, line, *found, BY_RULE)
    if why is not None:
        await store.record_unreconciled_reason(tx, line.id, why)
    return why is None


async def _hold_returned_money(tx: Tx, line: BankLine, named: ReferencedRecords) -> None:
    """Hold returned disbursements whose return no line shows: their donations might be paid twice."""
    for one in named.disbursements:
        if line.movement.amount_minor < 0 and one.status == "RETURNED":
            names = tx.ids.encode("bankline", line.id), tx.ids.encode("disbursement", one.id)
            note = f"{names[0]}: the bank booked {names[1]}, which is RETURNED here, but has not reported its return"
            scope = Partner(one.partner_id)
            await disbursements.hold_disbursements(
                tx, scope, one.organisation_id, note=note, decided_by=BY_RULE, rules=DisbursementRules()
            )


def describe_booking_error(error: Exception) -> str:
    """The message for operators about an error while booking a line."""
    if isinstance(error, PostgresError):
        if error.constraint_name in (suspense.UNIQUE_PROVIDER_REFUND, refunds.UNIQUE_PROVIDER_REFUND):
            return "the bank's reference for this movement is already recorded for another refund: check the reference"
        return str(error.args[0])
    return str(error)


async def record_booking_error(tx: Tx, line_id: UUID, reason: str) -> bool:
    """Record why booking an open line failed; True if the reason is new."""
    line, refusal = await _lock_line(tx, line_id), reason[: domain.MAX_REMITTANCE_TEXT] or "no reason given"
    if line.status != "open" or line.booking_error == refusal:
        return False
    await store.record_unreconciled_reason(tx, line.id, UnreconciledLineReason.REFUSED, refusal)
    return True


async def _load_references(tx: Tx, line: BankLine) -> tuple[ReferencedRecords, bool]:
    """The records that a line refers to, and whether all similar lines are certainly other movements."""
    moved = line.movement
    asked = [
        await donation_requests.find_id_by_payment_reference(tx, one)
        for one in domain.find_donation_request_references(moved)
    ]
    end_to_end_ids, donation_references = domain.find_end_to_end_ids(moved), domain.find_donation_references(moved)
    found = await store.find_disbursement_ids_by_end_to_end_ids(tx, end_to_end_ids) if end_to_end_ids else []
    gifts = (
        await payments.load_payments_by_provider_payment_id(tx, BANK_TRANSFER, donation_references)
        if donation_references
        else {}
    )
    similar = await store.list_possible_duplicates(tx, line)
    duplicate = domain.possible_duplicate_reason(moved, similar)
    reports = await store.find_referenced_provider_payouts(tx, moved, _DAYS, _LEAST_REFERENCE)
    matchable = [*found, *(one.id for one in reports)]
    named = ReferencedRecords(
        donation_requests=[await donation_requests.get(tx, ALL_PARTNERS, one) for one in asked if one is not None],
        payments=list(gifts.values()),
        provider_payouts=reports,
        disbursements=[await disbursements.get(tx, ALL_PARTNERS, one) for one in found],
        duplicate_reason=duplicate,
        matched_records=await store.find_matched_records(tx, matchable) if matchable else set(),
        released_disbursement_ids={one for one in found if await payment_files.is_in_released_file(tx, one)},
    )
    return named, bool(similar) and duplicate is None


async def propose_matches(tx: Tx, line: BankLine, max_proposals: int) -> list[MatchProposal]:
    """Possible matches of an open line, most likely first."""
    named, _ = await _load_references(tx, line)
    return await match_proposals.propose_matches(tx, line, named, max_proposals)


async def _reversed_payments(tx: Tx, line: BankLine) -> list[Payment]:
    found = [await payments.find(tx, one) for one in await store.list_payment_ids_reversed_by_line(tx, line)]
    return [one for one in found if one is not None]


async def _apply_match(
    tx: Tx, line: BankLine, matched_as: MatchedAs, thing: MatchTarget, by: str
) -> UnreconciledLineReason | None:
    """Book a match; or why it is not possible. A worker updates a disbursement's donations beyond the first batch."""
    if isinstance(thing, DonationRequest):
        called = line.movement.reference
        if await store.is_bank_reference_matched_by_other_line(tx, line, "request"):
            called = domain.build_unique_line_reference(line)
        made = await donation_requests.receive_payment(
            tx, ALL_PARTNERS, thing.id, line.movement.money, called, recorded_by=by
        )
        await store.mark_matched(tx, line.id, "request", made.id, by)
        return None
    if isinstance(thing, Payment):
        taken = await (
            donor_transfers.book_donor_transfer if matched_as == "donation" else donor_transfers.book_donor_refund
        )(tx, line, thing)
        if not isinstance(taken, UnreconciledLineReason):
            await store.mark_matched(tx, line.id, matched_as, taken, by)
        return taken if isinstance(taken, UnreconciledLineReason) else None
    await store.mark_matched(tx, line.id, matched_as, thing.id, by)
    if isinstance(thing, Disbursement):
        await _apply_to_disbursement(tx, line, matched_as, thing, by)
    return None


async def _apply_to_disbursement(
    tx: Tx, line: BankLine, matched_as: MatchedAs, disbursement: Disbursement, by: str
) -> None:
    """Confirm or return a disbursement as the line shows, unless that is already recorded."""
    if matched_as == "disbursement" and disbursement.status == "SENT":
        await disbursements.confirm_paid(tx, disbursement.id)
    elif matched_as == "disbursement_return" and disbursement.status != "RETURNED":
        reason = line.movement.return_reason or f"the bank returned it on {line.movement.booked_on}"
        await disbursements.mark_returned(tx, disbursement.id, reason, recorded_by=by)


async def assign_line_to_donation_request(tx: Tx, line_id: UUID, request_id: UUID, *, assigned_by: str) -> None:
    """Reconcile a line with a donation request on an operator's decision. Raises NotFound, BankStatementError."""
    line = await _lock_open_line(tx, line_id)
    if line.movement.amount_minor < 0:
        raise BankStatementError("The line is an outgoing payment, so it cannot pay a donation request.")
    await _assign_line(tx, line, "request", await donation_requests.get(tx, ALL_PARTNERS, request_id), assigned_by)


async def assign_line_to_donation_requests(tx: Tx, line_id: UUID, entered_references: str, *, assigned_by: str) -> None:
    """Reconcile a line with donation requests, by their references or IDs, on an operator's decision.

    ``entered_references``: as typed, separated by commas or spaces.

    Several requests must be of one partner, and the line must pay exactly all that is left to pay of them. Raises
    BankStatementError.
    """
    names = entered_references.replace(",", " ").split()
    found = [await _find_named_request(tx, name) for name in names[: domain.MAX_COMBINED + 1]]
    if len(found) != 1:
        domain.ensure_requests_match_movement((await get_line_details(tx, line_id)).line.movement, found)
    first, *others = sorted(found, key=lambda one: one.id)  # everybody locks them in this order
    await assign_line_to_donation_request(tx, line_id, first.id, assigned_by=assigned_by)
    payment_id, note = (await get_line_details(tx, line_id)).matched_record_id, f"one bank transfer: {', '.join(names)}"
    left = 0
    for other in others:
        assert payment_id is not None
        try:
            part = await donation_requests.apply_overpayment_to_other_request(
                tx, payment_id, other.id, note=note, decided_by=assigned_by
            )
        except DonationRequestError as error:
            raise BankStatementError(describe_booking_error(error)) from error
        payment_id, left = part.id, part.overpaid_minor
    if left:
        raise BankStatementError("One of the donation requests has just been paid. Check the requests and try again.")


async def _find_named_request(tx: Tx, name: str) -> DonationRequest:
    request_id = await donation_requests.find_id_by_payment_reference(tx, name.upper()) or tx.ids.decode(
        "donationrequest", name
    )
    try:
        if request_id is None:
            raise NotFound
        return await donation_requests.get(tx, ALL_PARTNERS, request_id)
    except NotFound:
        raise BankStatementError(f"There is no donation request {name}.") from None


async def assign_line_to_donation(tx: Tx, line_id: UUID, donation_id: UUID, *, assigned_by: str) -> None:
    """Reconcile a line with a donation's transfer or refund on an operator's decision.

    The rules are the same. Raises NotFound, BankStatementError.
    """
    line = await _lock_open_line(tx, line_id)
    payment = await bank_transfers.find_newest_transfer_payment(tx, await donations.get(tx, ALL_PARTNERS, donation_id))
    if payment is None:
        raise BankStatementError("The donor of this donation did not choose to pay by bank transfer.")
    await _assign_line(
        tx, line, "donation" if line.movement.amount_minor > 0 else "donation_refund", payment, assigned_by
    )


async def assign_line_to_provider_payout(
    tx: Tx, line_id: UUID, provider: str, reference: str, *, assigned_by: str
) -> None:
    """Reconcile a line with a provider payout on an operator's decision.

    Raises NotFound, BankStatementError.
    """
    line = await _lock_open_line(tx, line_id)
    if (report := await store.find_provider_payout(tx, provider, reference)) is None:
        raise BankStatementError(
            f"There is no settlement report {reference} from {provider}: see Settlement reports in the console, or "
            "`almoner settlements list`."
        )
    await _assign_checked(tx, line, ReferencedRecords(provider_payouts=[report]), assigned_by)


async def assign_line_to_disbursement(tx: Tx, line_id: UUID, disbursement_id: UUID, *, assigned_by: str) -> None:
    """Reconcile a line with a disbursement, or with its return, on an operator's decision.

    Raises NotFound, BankStatementError.
    """
    line = await _lock_open_line(tx, line_id)
    disbursement = await disbursements.get(tx, ALL_PARTNERS, disbursement_id)
    released = {disbursement.id} if await payment_files.is_in_released_file(tx, disbursement.id) else frozenset[UUID]()
    await _assign_checked(
        tx, line, ReferencedRecords(disbursements=[disbursement], released_disbursement_ids=released), assigned_by
    )


async def _assign_checked(tx: Tx, line: BankLine, named: ReferencedRecords, by: str) -> None:
    """Match a line that an operator assigned.

    Amount, currency and state must fit all the same. Raises BankStatementError.
    """
    things = [*(one.id for one in named.provider_payouts), *(one.id for one in named.disbursements)]
    found = domain.match_movement(
        line.movement, replace(named, matched_records=await store.find_matched_records(tx, things))
    )
    if isinstance(found, UnreconciledLineReason):
        raise BankStatementError(f"The line cannot be matched to this record: {found.description}")
    await _assign_line(tx, line, *found, by)


async def _assign_line(tx: Tx, line: BankLine, matched_as: MatchedAs, thing: MatchTarget, by: str) -> None:
    try:
        refused = await _apply_match(tx, line, matched_as, thing, by)
    except REFUSALS as error:
        raise BankStatementError(describe_booking_error(error)) from error
    if refused is not None:
        raise BankStatementError(f"The line cannot be matched to this record: {refused.description}")


async def dismiss_line(tx: Tx, line_id: UUID, *, note: str, dismissed_by: str) -> None:
    """Dismiss a line that belongs to none of our records, such as a bank fee. Raises BankStatementError."""
    line = await _lock_open_line(tx, line_id)
    _ensure_note(note)
    await store.mark_dismissed(tx, line.id, dismissed_by, note)


async def reopen_line(tx: Tx, line_id: UUID, *, note: str, reopened_by: str) -> None:
    """Undo an operator's dismissal of a line, or its match to a provider payout; neither moved money.

    No rule matches the line again. Raises NotFound, BankStatementError.
    """
    line = await _lock_line(tx, line_id)
    if why := domain.reopen_blocked_reason(line.status, line.matched_as):
        raise BankStatementError(why)
    _ensure_note(note)
    await store.reopen(tx, line.id, reopened_by, note)


def _ensure_note(note: str) -> None:
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise BankStatementError(f"The note must have 1 to {domain.MAX_NOTE} characters.")


async def _lock_open_line(tx: Tx, line_id: UUID) -> BankLine:
    line = await _lock_line(tx, line_id)
    if line.status != "open":
        raise BankStatementError(f"The line is already {line.status}.")
    return line


async def _lock_line(tx: Tx, line_id: UUID) -> BankLine:
    if (line := await store.find_line_for_update(tx, line_id)) is None:
        raise NotFound
    return line
