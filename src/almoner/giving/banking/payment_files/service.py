"""Operations on payment files. Their XML is written and parsed in ``iso20022``, imported on first use."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import CheckViolationError, UniqueViolationError

from almoner.giving.banking.payment_files import domain, own_accounts_file, store
from almoner.giving.banking.payment_files.domain import (
    MAX_PAYMENTS,
    BankOutcome,
    CreditTransfer,
    CreditTransferInitiation,
    DisbursementConfirmationRequirement,
    OwnAccount,
    PaymentFile,
    PaymentFileError,
    ReleasedFileTransfer,
    ReportedOutcome,
    RequestedTransfer,
    StatusReport,
    TransliteratedText,
)
from almoner.giving.banking.payment_files.store import count_for_operators as count_for_operators
from almoner.giving.banking.payment_files.store import (
    count_unconfirmed_disbursements as count_unconfirmed_disbursements,
)
from almoner.giving.banking.payment_files.store import find_file_id_of_disbursement as find_file_id_of_disbursement
from almoner.giving.banking.payment_files.store import is_in_released_file as is_in_released_file
from almoner.giving.banking.payment_files.store import list_for_operators as list_for_operators
from almoner.giving.banking.payment_files.store import list_newest as list_newest
from almoner.giving.banking.payment_files.store import list_status_reports as list_status_reports
from almoner.giving.banking.payment_files.store import list_transfers_of_file as list_transfers_of_file
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.giving.disbursing.payee_bank_accounts import domain as payee_accounts
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import Scheme
from almoner.kit.errors import NotFound
from almoner.kit.money import MAX_MINOR, Money
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import AuditEntry
from almoner.platform.database.transactions import Tx

ID_TYPE: Final = "bankfile"
_CONTEXT: Final = "payment_file"
_DOWNLOADS: Final = 20
"""The maximum number of downloads that are listed."""
_PAGE: Final = 1000
_DAYS_AHEAD: Final = 60
_NOT_RELEASED: Final = {
    "payment_file_dual_control": "You created this file. Because of its amount, somebody else must release it.",
    "approvers_independent": "In the last 7 days, you added or reactivated the operator who created this file, or "
    "they added or reactivated you. Somebody else must release it.",
    "payment_file_sum": (
        "A disbursement in this file has been confirmed or returned. Withdraw the file and create a new one."
    ),
    "payment_file_payees": "A payee account in this file has changed, or disbursements to its nonprofit are now on "
    "hold. Withdraw the file and create a new one.",
    "payment_file_in_time": "The execution date of this file has passed. The bank would pay on another day or not at "
    "all. Withdraw the file and create a new one.",
}
"""Messages by the constraint that refuses the release."""


@dataclass(frozen=True, slots=True)
class FileCreationResult:
    """A new payment file, and the disbursements left out of it.

    ``disbursements_on_hold``: disbursements to nonprofits that were flagged or put on hold after sending.
    """

    file: PaymentFile | None
    disbursements_without_account: list[Disbursement]
    disbursements_on_hold: list[Disbursement]


async def create_file(tx: Tx, own_account: OwnAccount, execution_date: date, *, created_by: str) -> FileCreationResult:
    """Create a file of up to 10,000 sent disbursements in the currency that are in no other file.

    ``file`` is None if there are none. Raises PaymentFileError.
    """
    tx.deployment.identity.ensure_active()
    today = tx.deployment.date_in_issuer_time_zone(tx.now)
    if not today <= execution_date <= today + timedelta(days=_DAYS_AHEAD):
        raise PaymentFileError(f"The execution date must be today or at most {_DAYS_AHEAD} days ahead.")
    sent = await _sent_disbursements(tx, own_account.single_operator_release_limit.currency)
    stopped = await store.find_disbursement_ids_on_hold(tx, [one.id for one in sent])
    held = [one for one in sent if one.id in stopped]
    waiting = [one for one in sent if one.id not in stopped]
    homes = await payee_bank_accounts.load_approved_payees_by_organisation(
        tx, list({one.organisation_id for one in waiting}), own_account.single_operator_release_limit.currency
    )
    homeless = [one for one in waiting if one.organisation_id not in homes]
    payments = [CreditTransfer(one, homes[one.organisation_id]) for one in waiting if one.organisation_id in homes]
    payments = _within_control_sum(payments[:MAX_PAYMENTS])
    if not payments:
        return FileCreationResult(None, homeless, held)
    file_id = tx.new_id()
    order = CreditTransferInitiation(domain.message_id_of(file_id), own_account, tx.now, execution_date, payments)
    file = _new_file(tx, file_id, order, _render_file(order), created_by)
    try:
        await store.insert(tx, file, payments)
    except UniqueViolationError as refused:
        raise PaymentFileError(
            "Somebody else has just added one of these disbursements to another file. Try again."
        ) from refused
    return FileCreationResult(file, homeless, held)


def load_own_accounts(file: Path | None) -> Mapping[str, OwnAccount]:
    """Load our accounts by currency from the administrator's file. Raises PaymentFileError."""
    return own_accounts_file.parse_own_accounts(file)


def _render_file(order: CreditTransferInitiation) -> bytes:
    from almoner.giving.banking.payment_files import iso20022 as messages  # imported on first use: 30 MB

    return messages.render_pain001(order)


def parse_status_report(content: bytes) -> StatusReport:
    """Parse a bank's status report. Raises PaymentFileError."""
    from almoner.giving.banking.payment_files import iso20022 as messages  # imported on first use: 30 MB

    return messages.parse_pain002(content)


async def _sent_disbursements(tx: Tx, currency: str) -> list[Disbursement]:
    found: list[Disbursement] = []
    after: UUID | None = None
    while some := await disbursements.list_sent_disbursements(tx, currency, after, _PAGE):
        taken = await store.find_disbursement_ids_in_files(tx, [one.id for one in some])
        found += [one for one in some if one.id not in taken]
        after = some[-1].id
    return found


def _within_control_sum(payments: list[CreditTransfer]) -> list[CreditTransfer]:
    """The first transfers whose sum fits into one control sum."""
    total = 0
    for count, one in enumerate(payments):
        total += one.disbursement.money.minor
        if total > MAX_MINOR:
            return payments[:count]
    return payments


def _new_file(tx: Tx, file_id: UUID, order: CreditTransferInitiation, content: bytes, by: str) -> PaymentFile:
    return PaymentFile(
        id=file_id,
        message_id=order.message_id,
        total=order.total,
        payment_count=len(order.transfers),
        single_operator_release_limit=order.own_account.single_operator_release_limit,
        execution_date=order.execution_date,
        sha256=sha256(content).digest(),
        encrypted_content=tx.vault.encrypt(zlib.compress(content), context=_CONTEXT, associated_data=file_id.bytes),
        status="created",
        created_by=by,
        created_at=tx.now,
        released_by=None,
        released_at=None,
        withdrawn_by=None,
        note=None,
    )


async def get(tx: Tx, file_id: UUID) -> PaymentFile:
    """One file. Raises NotFound."""
    if (found := await store.find(tx, file_id)) is None:
        raise NotFound
    return found


async def get_confirmation_requirement(
    tx: Tx, disbursement_id: UUID, own_accounts: Mapping[str, OwnAccount]
) -> DisbursementConfirmationRequirement:
    """Who must confirm that the bank paid a disbursement, which is locked. ``own_accounts``: our accounts by currency.

    Raises NotFound, DisbursementError.
    """
    held, seen = await disbursements.lock_and_fingerprint_sent_disbursement(tx, disbursement_id)
    if await is_in_released_file(tx, disbursement_id):
        return DisbursementConfirmationRequirement(held, seen, 0, 0)
    account = own_accounts.get(held.money.currency)
    alone = account.single_operator_release_limit.minor if account else 0
    return DisbursementConfirmationRequirement(held, seen, 1 if held.money.minor <= alone else 2, alone)


async def list_transliterated_texts(tx: Tx, file_id: UUID, limit: int | None = None) -> list[TransliteratedText]:
    """The payees' texts in a file that the bank gets in other characters than entered. ``limit``: of payees."""
    return [
        TransliteratedText(account_id, name, text, sent)
        for account_id, holder, address in await store.list_payees_with_transliterated_texts(tx, file_id, limit)
        for name, text, sent in payee_accounts.list_fields_with_entered_and_sent_text(holder, address)
    ]


async def release_file(tx: Tx, file_id: UUID, *, released_by: str) -> PaymentFile:
    """Release a file to the bank; above a limit a second operator must do it.

    Raises NotFound, PaymentFileError.
    """
    tx.deployment.identity.ensure_active()
    held = await _lock_file(tx, file_id)
    if held.status != "created":
        raise PaymentFileError(f"The file is {held.status}. Only a file with the status created can be released.")
    try:
        await store.release_file(tx, file_id, released_by)
    except CheckViolationError as refused:
        if (why := _NOT_RELEASED.get(refused.constraint_name or "")) is None:
            raise
        raise PaymentFileError(why) from None
    return await get(tx, file_id)


async def withdraw_file(tx: Tx, file_id: UUID, *, note: str, withdrawn_by: str) -> PaymentFile:
    """Withdraw a file that is not released. Raises NotFound, PaymentFileError."""
    held = await _lock_file(tx, file_id)
    if held.status != "created":
        raise PaymentFileError(
            f"The file is {held.status} and cannot be withdrawn. To stop a released file, contact the bank."
        )
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise PaymentFileError(f"The note must have 1 to {domain.MAX_NOTE} characters.")
    await store.withdraw_file(tx, file_id, withdrawn_by, note)
    return await get(tx, file_id)


def decrypt_released_content(tx: Tx, file: PaymentFile) -> bytes:
    """The bytes of a released file, identical each time. Raises PaymentFileError."""
    tx.deployment.identity.ensure_active()
    if file.status != "released":
        raise PaymentFileError(f"The file is {file.status}. Only a released file can be written to disk.")
    opened = zlib.decompress(tx.vault.decrypt(file.encrypted_content, context=_CONTEXT, associated_data=file.id.bytes))
    if sha256(opened).digest() != file.sha256:
        raise PaymentFileError("The file was changed after it was created. Do not send it. Run the self-check.")
    return opened


async def list_downloads(tx: Tx, file: PaymentFile) -> list[AuditEntry]:
    """The entries of the audit log about the last downloads of a file, oldest first."""
    name = tx.ids.encode(ID_TYPE, file.id)
    return await audit.list_entries_about_record(
        tx, audit.DEPLOYMENT, "payment_file.downloaded", name, file.id, _DOWNLOADS
    )


class ReleasedFile(NamedTuple):
    """A released payment file and its content."""

    file: PaymentFile
    content: bytes


async def read_released_file(tx: Tx, file_id: UUID, note: str | None) -> ReleasedFile:
    """A released file with its content. ``note``: why the file is needed again; required after its first download.

    The caller records the download. Raises NotFound, PaymentFileError.
    """
    file = await _lock_file(tx, file_id)
    if not note and (earlier := await list_downloads(tx, file)):
        raise PaymentFileError(
            f"The file was downloaded on {earlier[-1].at:%Y-%m-%d}. Make sure that nobody has uploaded it to the bank, "
            "and say why you need it again."
        )
    return ReleasedFile(file, decrypt_released_content(tx, file))


class EvaluatedStatusReport(NamedTuple):
    """The file of a status report, and the outcomes of its disbursements: none if they are already recorded."""

    file: PaymentFile
    outcomes_by_disbursement_id: Mapping[UUID, ReportedOutcome]


async def evaluate_status_report(tx: Tx, status_report: StatusReport) -> EvaluatedStatusReport:
    """Match a status report with its file.

    Raises PaymentFileError with all inconsistencies; the report must then not be applied.
    """
    file = await store.find_by_message_id(tx, status_report.original_message_id)
    if file is None or file.status != "released":
        raise PaymentFileError(
            f"The status report is for {status_report.original_message_id!r}, which is not a released file of ours."
        )
    if await store.is_status_report_recorded(tx, status_report.sha256):
        return EvaluatedStatusReport(file, {})
    payments = await store.list_transfers_of_file(tx, file.id)
    asked = {
        end_to_end: RequestedTransfer(_batch_name(file.message_id, money, scheme, shown), money)
        for _, end_to_end, scheme, shown, money, _ in payments
    }
    reported = domain.match_bank_outcomes_to_transfers(status_report, asked)
    outcomes = {
        disbursement: reported[end_to_end] for disbursement, end_to_end, *_ in payments if end_to_end in reported
    }
    return EvaluatedStatusReport(file, outcomes)


async def list_transfers_in_released_files(tx: Tx, message_ids: Sequence[str]) -> list[ReleasedFileTransfer]:
    """The payments of released files with these end-to-end IDs."""
    return [
        ReleasedFileTransfer(_batch_name(message, money, scheme, shown), end_to_end, money, came_back)
        for message, end_to_end, scheme, shown, money, came_back in await store.list_transfers_in_released_files(
            tx, message_ids
        )
    ]


def _batch_name(message: str, money: Money, scheme: Scheme, shown: str) -> str:
    return domain.build_batch_id(message, is_sepa=domain.is_sepa_transfer(money.currency, scheme, shown))


async def record_status_report(
    tx: Tx, file: PaymentFile, status_report: StatusReport, counts: dict[BankOutcome, int], *, imported_by: str
) -> None:
    """Record that a status report was processed."""
    await store.insert_status_report(tx, file.id, status_report, counts, imported_by)


async def _lock_file(tx: Tx, file_id: UUID) -> PaymentFile:
    if (locked := await store.find_for_update(tx, file_id)) is None:
        raise NotFound
    return locked
