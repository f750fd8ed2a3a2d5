"""SQL for payment files."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.banking.payment_files.domain import (
    BankOutcome,
    CreditTransfer,
    PaymentFile,
    PaymentFileStatus,
    RecordedStatusReport,
    StatusReport,
)
from almoner.giving.disbursing.payee_bank_accounts.domain import Address, Scheme
from almoner.kit.bank_text import UNCHANGED
from almoner.kit.money import Money
from almoner.platform.database import keyset
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, message_id, currency, amount_minor, payments, single_approval_limit_minor, execution_date, sha256, "
    "encrypted_content, status, created_by, "
    "created_at, released_by, released_at, withdrawn_by, note"
)


def _file(row: Record) -> PaymentFile:
    id_, message, currency, minor, payments, alone, *rest = row
    return PaymentFile(id_, message, Money(minor, currency), payments, Money(alone, currency), *rest)


async def insert(tx: Tx, payment_file: PaymentFile, transfers: Sequence[CreditTransfer]) -> None:
    """Store a new file with its payments. Raises UniqueViolationError if one is in another file."""
    await tx.execute(
        f"insert into payment_file ({_COLUMNS}, status_changed_at) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'created', $10, $11, null, null, null, null, $11)",
        payment_file.id,
        payment_file.message_id,
        payment_file.total.currency,
        payment_file.total.minor,
        payment_file.payment_count,
        payment_file.single_operator_release_limit.minor,
        payment_file.execution_date,
        payment_file.sha256,
        payment_file.encrypted_content,
        payment_file.created_by,
        payment_file.created_at,
    )
    await tx.execute(
        """
        insert into payment_file_transaction (file_id, disbursement_id, payee_bank_account_id, amount_minor)
        select $1, * from unnest($2::uuid[], $3::uuid[], $4::bigint[])
        """,
        payment_file.id,
        [one.disbursement.id for one in transfers],
        [one.payee.account_id for one in transfers],
        [one.disbursement.money.minor for one in transfers],
    )


async def find(tx: Tx, file_id: UUID) -> PaymentFile | None:
    """One file."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payment_file where id = $1", file_id)
    return _file(row) if row else None


async def find_by_message_id(tx: Tx, message_id: str) -> PaymentFile | None:
    """Find the file to which a status report belongs."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payment_file where message_id = $1", message_id)
    return _file(row) if row else None


async def find_for_update(tx: Tx, file_id: UUID) -> PaymentFile | None:
    """One file, locked until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payment_file where id = $1 for no key update", file_id)
    return _file(row) if row else None


async def list_newest(tx: Tx, limit: int) -> list[PaymentFile]:
    """The newest files."""
    return [
        _file(row) for row in await tx.fetch(f"select {_COLUMNS} from payment_file order by id desc limit $1", limit)
    ]


_LISTED: Final = _COLUMNS.replace("encrypted_content", "''::bytea")
"""Lists do not read the contents."""


async def list_for_operators(
    tx: Tx, status: PaymentFileStatus | None, after: UUID | None, limit: int
) -> list[PaymentFile]:
    """The newest files after the given one, without their contents."""
    where = keyset.equality_conditions({"status": status})
    return [_file(row) for row in await keyset.list_rows_after_id(tx, "payment_file", _LISTED, where, after, limit)]


async def count_for_operators(tx: Tx, status: PaymentFileStatus | None, max_count: int) -> int:
    """Count files, up to one more than ``max_count``."""
    return await keyset.count_rows_up_to(tx, "payment_file", keyset.equality_conditions({"status": status}), max_count)


async def find_file_id_of_disbursement(tx: Tx, disbursement_id: UUID) -> UUID | None:
    """The file with a disbursement, unless it was withdrawn; None if there is none."""
    found: UUID | None = await tx.fetchval(
        "select file_id from payment_file_transaction where disbursement_id = $1 and active", disbursement_id
    )
    return found


async def list_status_reports(tx: Tx, file_id: UUID) -> list[RecordedStatusReport]:
    """List the status reports for a file, oldest first."""
    rows = await tx.fetch(
        "select message_id, accepted, paid, rejected, recorded_by, recorded_at from payment_status_report "
        "where file_id = $1 order by id",
        file_id,
    )
    return [RecordedStatusReport(*row) for row in rows]


@across_partners("banking")
async def count_unconfirmed_disbursements(tx: Tx, file_id: UUID) -> int:
    """Count the disbursements of a file that the bank has not confirmed."""
    return int(
        await tx.fetchval(
            """
            select count(*)::int from payment_file_transaction p join disbursement d on d.id = p.disbursement_id
            where p.file_id = $1 and p.active and d.status = 'SENT'
            """,
            file_id,
        )
    )


_DISBURSEMENTS_IN_FILES: Final = (
    "select disbursement_id from payment_file_transaction where active and disbursement_id = any($1::uuid[])"
)


async def find_disbursement_ids_in_files(tx: Tx, disbursement_ids: Sequence[UUID]) -> set[UUID]:
    """Return the disbursements that are in a file that was not withdrawn."""
    return {row[0] for row in await tx.fetch(_DISBURSEMENTS_IN_FILES, disbursement_ids)}


_HELD_DISBURSEMENTS: Final = """
select d.id from disbursement d where d.id = any($1::uuid[]) and disbursement_is_held(d.partner_id, d.organisation_id)
"""


@across_partners("banking")
async def find_disbursement_ids_on_hold(tx: Tx, disbursement_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these disbursements are on hold, so must not be paid now."""
    return {row[0] for row in await tx.fetch(_HELD_DISBURSEMENTS, disbursement_ids)}


async def is_in_released_file(tx: Tx, disbursement_id: UUID) -> bool:
    """Whether a disbursement went to the bank in a file."""
    return bool(
        await tx.fetchval(
            """
            select exists (
                select from payment_file_transaction p join payment_file f on f.id = p.file_id
                where p.disbursement_id = $1 and p.active and f.status = 'released'
            )
            """,
            disbursement_id,
        )
    )


async def release_file(tx: Tx, file_id: UUID, released_by: str) -> None:
    """Release a locked file to the bank. Raises CheckViolationError if a constraint refuses it."""
    await tx.execute(
        "update payment_file set status = 'released', released_by = $2, released_at = $3, status_changed_at = $3 "
        "where id = $1",
        file_id,
        released_by,
        tx.now,
    )


async def withdraw_file(tx: Tx, file_id: UUID, withdrawn_by: str, note: str) -> None:
    """Withdraw a locked file that was never sent; its disbursements may go into another file."""
    await tx.execute(
        "update payment_file set status = 'withdrawn', withdrawn_by = $2, note = $3, status_changed_at = $4 "
        "where id = $1",
        file_id,
        withdrawn_by,
        note,
        tx.now,
    )
    await tx.execute("update payment_file_transaction set active = false where file_id = $1", file_id)


class PaymentFileTransfer(NamedTuple):
    """A transfer of a payment file. ``masked_number``: the first characters of the account number."""

    disbursement_id: UUID
    end_to_end_id: str
    scheme: Scheme
    masked_number: str
    money: Money
    holder: str


@across_partners("banking")
async def list_transfers_of_file(tx: Tx, file_id: UUID, limit: int | None = None) -> list[PaymentFileTransfer]:
    """A file's payments: end-to-end ID, account scheme and number, amount, and account holder."""
    rows = await tx.fetch(
        """
        select p.disbursement_id, d.end_to_end_id, a.scheme, a.masked_number, p.amount_minor, d.currency, a.holder
        from payment_file_transaction p
        join disbursement d on d.id = p.disbursement_id join payee_bank_account a on a.id = p.payee_bank_account_id
        where p.file_id = $1 order by 1 limit $2
        """,
        file_id,
        limit,
    )
    return [PaymentFileTransfer(row[0], row[1], row[2], row[3], Money(row[4], row[5]), row[6]) for row in rows]


class PaymentFilePayee(NamedTuple):
    """The holder and address of an account that a file pays to."""

    account_id: UUID
    holder: str
    address: Address


async def list_payees_with_transliterated_texts(tx: Tx, file_id: UUID, limit: int | None) -> list[PaymentFilePayee]:
    """The holders and addresses of the accounts of a file, each once, of which banks may get other characters."""
    rows = await tx.fetch(
        """
        select id, holder, town, country_code, street, building, postcode from payee_bank_account
        where id in (select payee_bank_account_id from payment_file_transaction where file_id = $1)
            and not (holder ~ $2 and town ~ $2 and coalesce(street ~ $2, true) and coalesce(building ~ $2, true)
                     and coalesce(postcode ~ $2, true))
        order by id limit $3
        """,
        file_id,
        UNCHANGED,
        limit,
    )
    return [PaymentFilePayee(row[0], row[1], Address(*row[2:])) for row in rows]


class ReleasedFileTransferRow(NamedTuple):
    """A transfer of a released file. ``was_returned``: it was rejected or returned since."""

    message_id: str
    end_to_end_id: str
    scheme: Scheme
    masked_number: str
    money: Money
    was_returned: bool


@across_partners("banking")
async def list_transfers_in_released_files(tx: Tx, message_ids: Sequence[str]) -> list[ReleasedFileTransferRow]:
    """The transfers of released files with these message IDs."""
    rows = await tx.fetch(
        """
        select f.message_id, d.end_to_end_id, a.scheme, a.masked_number, d.status = 'RETURNED', p.amount_minor,
            d.currency
        from payment_file f join payment_file_transaction p on p.file_id = f.id
        join disbursement d on d.id = p.disbursement_id join payee_bank_account a on a.id = p.payee_bank_account_id
        where f.message_id = any($1) and f.status = 'released' order by 2
        """,
        message_ids,
    )
    return [ReleasedFileTransferRow(row[0], row[1], row[2], row[3], Money(row[5], row[6]), row[4]) for row in rows]


async def is_status_report_recorded(tx: Tx, sha256: bytes) -> bool:
    """Whether this status report was recorded before."""
    return bool(await tx.fetchval("select exists (select from payment_status_report where sha256 = $1)", sha256))


async def insert_status_report(
    tx: Tx, file_id: UUID, status_report: StatusReport, counts: dict[BankOutcome, int], imported_by: str
) -> None:
    """Record a status report, once."""
    await tx.execute(
        """
        insert into payment_status_report (id, file_id, message_id, sha256, accepted, paid, rejected, recorded_by,
            recorded_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (sha256) do nothing
        """,
        tx.new_id(),
        file_id,
        status_report.message_id[:35],
        status_report.sha256,
        counts.get(BankOutcome.ACCEPTED, 0),
        counts.get(BankOutcome.PAID, 0),
        counts.get(BankOutcome.REJECTED, 0),
        imported_by,
        tx.now,
    )
