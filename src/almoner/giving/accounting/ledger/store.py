"""SQL for the ledger. They belong to nobody's key: partners see records, never accounts."""

from collections.abc import Sequence
from typing import Final

from asyncpg import Record

from almoner.giving.accounting.ledger.domain import AccountBalance, AccountKind, LedgerAccount, LedgerTransfer
from almoner.platform.database.transactions import Tx

_ACCOUNT: Final = "kind, currency, provider, organisation_id"

_INSERT: Final = """
insert into ledger_transfer (kind, owner_id, debit_account, credit_account, currency, amount_minor, posted_at)
select $1, $2, debit.id, credit.id, debit.currency, $5, $6 from ledger_account debit, ledger_account credit
where debit.key = $3 and credit.key = $4
"""


def _values(tx: Tx, transfer: LedgerTransfer) -> tuple[object, ...]:
    return (
        transfer.kind.value, transfer.owner_id, transfer.debit.key, transfer.credit.key, transfer.minor, tx.now,
    )  # fmt: skip


async def insert(tx: Tx, transfer: LedgerTransfer) -> bool:
    """Post one transfer; False if one of its accounts does not exist yet.

    Raises UniqueViolationError for a movement that was posted before, CheckViolationError for one that nothing covers.
    """
    return await tx.execute(_INSERT, *_values(tx, transfer)) == "INSERT 0 1"


async def insert_all(tx: Tx, transfers: Sequence[LedgerTransfer]) -> None:
    """Post several transfers in one statement; their accounts must exist and be locked."""
    await tx.execute(
        """
        insert into ledger_transfer (kind, owner_id, debit_account, credit_account, currency, amount_minor, posted_at)
        select given.kind, owner_id, debit.id, credit.id, debit.currency, amount_minor, $6
        from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[]) with ordinality
            as given (kind, owner_id, debit_key, credit_key, amount_minor, place)
        join ledger_account debit on debit.key = debit_key
        join ledger_account credit on credit.key = credit_key
        order by place
        """,
        [transfer.kind.value for transfer in transfers],
        [transfer.owner_id for transfer in transfers],
        [transfer.debit.key for transfer in transfers],
        [transfer.credit.key for transfer in transfers],
        [transfer.minor for transfer in transfers],
        tx.now,
    )


async def lock_accounts(tx: Tx, accounts: Sequence[LedgerAccount]) -> bool:
    """Lock accounts in a fixed order; False, and none locked, if one does not exist yet.

    Who opens an account waits for others who open the same: nobody may hold one meanwhile, or each waits for the other.
    """
    keys = list({account.key for account in accounts})
    rows = await tx.fetch(
        """
        select from ledger_account
        where key = any($1) and (select count(*) from ledger_account where key = any($1)) = cardinality($1)
        order by id for no key update
        """,
        keys,
    )
    return len(rows) == len(keys)


async def create_missing_accounts(tx: Tx, accounts: Sequence[LedgerAccount]) -> None:
    """Create missing accounts in a fixed order, so that writers never deadlock."""
    ordered = sorted(set(accounts), key=lambda account: account.key)
    await tx.execute(
        """
        insert into ledger_account (kind, currency, provider, organisation_id)
        select kind, currency, provider, organisation_id
        from unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) with ordinality
            as given (kind, currency, provider, organisation_id, place)
        order by place on conflict (key) do nothing
        """,
        [account.kind.value for account in ordered],
        [account.currency for account in ordered],
        [account.provider for account in ordered],
        [account.organisation_id for account in ordered],
    )


def _balance(row: Record) -> AccountBalance:
    account = LedgerAccount(AccountKind(row["kind"]), row["currency"], row["provider"], row["organisation_id"])
    return AccountBalance(account, row["debits_minor"], row["credits_minor"])


async def find_balance(tx: Tx, account: LedgerAccount) -> AccountBalance | None:
    """The balance of one account; None before its first transfer."""
    row = await tx.fetchrow(
        f"select {_ACCOUNT}, debits_minor, credits_minor from ledger_account where key = $1", account.key
    )
    return _balance(row) if row else None


async def list_balances(tx: Tx) -> list[AccountBalance]:
    """Every account, in the order of their keys."""
    rows = await tx.fetch(f"select {_ACCOUNT}, debits_minor, credits_minor from ledger_account order by key")
    return [_balance(row) for row in rows]
