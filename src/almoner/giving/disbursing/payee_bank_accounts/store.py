"""SQL for nonprofits' accounts."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.disbursing.payee_bank_accounts.domain import AccountReview, Address, PayeeAccount, PayeeStatus
from almoner.kit.counts import WaitingCount
from almoner.platform.database import keyset
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, organisation_id, currency, scheme, holder, encrypted_number, masked_number, town, country_code, street, "
    "building, postcode, name_score, is_change, status, proposed_by, proposed_note, proposed_at, "
    "first_by, first_note, first_at, "
    "second_by, second_note, second_at, refused_by, refused_note, denied_at"
)


def _account(row: Record) -> PayeeAccount:
    id_, organisation_id, currency, scheme, holder, encrypted_number, masked_number = row[:7]
    score, is_change, status = row[12:15]
    first, second = (AccountReview(*row[at : at + 3]) if row[at] else None for at in (18, 21))
    proposed, address = AccountReview(*row[15:18]), Address(*row[7:12])
    looks = (proposed, first, second, *row[24:27])
    whose = (id_, organisation_id, currency, scheme, holder, encrypted_number, masked_number, address)
    return PayeeAccount(*whose, score, is_change, status, *looks)


async def insert(tx: Tx, account: PayeeAccount, fingerprint: bytes) -> bool:
    """Store a proposed account; False if another proposal for the nonprofit and currency is open."""
    return bool(
        await tx.fetchval(
            """
            insert into payee_bank_account (id, organisation_id, currency, scheme, holder, encrypted_number,
                                       masked_number, fingerprint, town, country_code, street,
                                       building, postcode, name_score, is_change, status, proposed_by,
                                       proposed_note, proposed_at, status_changed_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'proposed', $16, $17, $18, $18)
            on conflict (organisation_id, currency) where status = 'proposed' do nothing returning true
            """,
            account.id,
            account.organisation_id,
            account.currency,
            account.scheme,
            account.holder,
            account.encrypted_number,
            account.masked_number,
            fingerprint,
            account.address.town,
            account.address.country,
            account.address.street,
            account.address.building,
            account.address.postcode,
            account.name_match_score,
            account.requires_second_approval,
            account.proposal.by,
            account.proposal.note,
            account.proposal.at,
        )
    )


async def lock_accounts_of_organisation(tx: Tx, organisation_id: UUID) -> None:
    """Lock the accounts of a nonprofit until the transaction ends."""
    await tx.fetchval("select pg_advisory_xact_lock(hashtextextended($1::uuid::text, 73))", organisation_id)


async def requires_second_approval(tx: Tx, organisation_id: UUID, currency: str) -> bool:
    """Whether another account needs two reviewers besides the proposer; the nonprofit's accounts are locked."""
    return bool(await tx.fetchval("select payee_requires_second_approval($1, $2)", organisation_id, currency))


async def find(tx: Tx, account_id: UUID) -> PayeeAccount | None:
    """One account."""
    row = await tx.fetchrow(f"select {_COLUMNS} from payee_bank_account where id = $1", account_id)
    return _account(row) if row else None


async def find_for_update(tx: Tx, account_id: UUID) -> PayeeAccount | None:
    """Lock one account, with all others of its nonprofit and currency, until the transaction ends."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from payee_bank_account
        where (organisation_id, currency) = (select organisation_id, currency from payee_bank_account where id = $1)
          and (id = $1 or status in ('proposed', 'approved'))
        order by id for no key update
        """,
        account_id,
    )
    return next((_account(row) for row in rows if row["id"] == account_id), None)


async def list_newest(tx: Tx, status: PayeeStatus | None, limit: int) -> list[PayeeAccount]:
    """The newest accounts, of one status or of all."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from payee_bank_account where $1::text is null or status = $1 order by id desc limit $2",
        status,
        limit,
    )
    return [_account(row) for row in rows]


async def list_for_operators(
    tx: Tx, status: PayeeStatus | None, organisation_id: UUID | None, after: UUID | None, limit: int
) -> list[PayeeAccount]:
    """A page of accounts for operators, newest first; proposed ones oldest first."""
    where = keyset.equality_conditions({"status": status, "organisation_id": organisation_id})
    rows = await keyset.list_rows_after_id(
        tx, "payee_bank_account", _COLUMNS, where, after, limit, oldest_first=status == "proposed"
    )
    return [_account(row) for row in rows]


async def count_for_operators(tx: Tx, status: PayeeStatus | None, organisation_id: UUID | None, max_count: int) -> int:
    """Count accounts, up to one more than ``max_count``."""
    where = keyset.equality_conditions({"status": status, "organisation_id": organisation_id})
    return await keyset.count_rows_up_to(tx, "payee_bank_account", where, max_count)


async def record_review(tx: Tx, account_id: UUID, account_review: AccountReview, *, is_first_review: bool) -> None:
    """Record a review of a locked account."""
    which = "first" if is_first_review else "second"
    await tx.execute(
        f"update payee_bank_account set {which}_by = $2, {which}_note = $3, {which}_at = $4 where id = $1",
        account_id,
        account_review.by,
        account_review.note,
        account_review.at,
    )


async def approve(tx: Tx, account_id: UUID) -> None:
    """Approve a locked account in place of the previous one."""
    await tx.execute(
        """
        update payee_bank_account set status = 'replaced', status_changed_at = $2
        where status = 'approved'
          and (organisation_id, currency) = (select organisation_id, currency from payee_bank_account where id = $1)
        """,
        account_id,
        tx.now,
    )
    await tx.execute(
        "update payee_bank_account set status = 'approved', status_changed_at = $2 where id = $1", account_id, tx.now
    )


async def refuse(tx: Tx, account_id: UUID, refused_by: str, note: str) -> None:
    """Reject a locked account."""
    await tx.execute(
        """
        update payee_bank_account set status = 'refused', refused_by = $2, refused_note = $3, status_changed_at = $4
        where id = $1
        """,
        account_id,
        refused_by,
        note,
        tx.now,
    )


async def record_ownership_denial(tx: Tx, account_id: UUID) -> None:
    """Record that the nonprofit denies a locked account."""
    await tx.execute("update payee_bank_account set denied_at = $2 where id = $1", account_id, tx.now)


async def list_approved_accounts(tx: Tx, organisation_id: UUID) -> list[PayeeAccount]:
    """The approved accounts of a nonprofit, by currency."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from payee_bank_account where organisation_id = $1 and status = 'approved' "
        f"order by currency",
        organisation_id,
    )
    return [_account(row) for row in rows]


_CURRENT_ACCOUNTS: Final = f"""
select {_COLUMNS} from payee_bank_account where organisation_id = any($1::uuid[]) and currency = $2
and status = 'approved'
"""


async def list_approved_accounts_in_currency(
    tx: Tx, organisation_ids: Sequence[UUID], currency: str
) -> list[PayeeAccount]:
    """The approved accounts of these nonprofits in a currency."""
    return [_account(row) for row in await tx.fetch(_CURRENT_ACCOUNTS, organisation_ids, currency)]


async def count_proposed_accounts(tx: Tx) -> WaitingCount:
    """Count proposed accounts."""
    [row] = await tx.fetch("select count(*), min(proposed_at) from payee_bank_account where status = 'proposed'")
    return WaitingCount(*row)


async def list_organisation_ids_sharing_account(tx: Tx, account_id: UUID) -> list[UUID]:
    """Other nonprofits for which the same account was proposed and not rejected."""
    rows = await tx.fetch(
        """
        select distinct other.organisation_id from payee_bank_account one
        join payee_bank_account other on other.fingerprint = one.fingerprint and other.status <> 'refused'
        where one.id = $1 and other.organisation_id <> one.organisation_id order by 1
        """,
        account_id,
    )
    return [row[0] for row in rows]
