"""SQL for the ledger. Ledger rows belong to no partner: partners see records, never accounts."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.ledger.domain import (
    AccountBalance,
    AccountKind,
    AccountTotals,
    DayTotals,
    LedgerAccount,
    LedgerTransfer,
    ListedBalance,
    PostedTransfer,
    TransferKind,
)
from almoner.platform.database import keyset
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import Tx

_DAY: Final = timedelta(days=1)
_ACCOUNT: Final = "kind, currency, provider, organisation_id"

_INSERT: Final = """
insert into ledger_transfer (kind, owner_id, debit_account_id, credit_account_id, currency, amount_minor, posted_at)
select $1, $2, debit.id, credit.id, debit.currency, $5, $6 from ledger_account debit, ledger_account credit
where debit.key = $3 and credit.key = $4
"""


def _values(tx: Tx, transfer: LedgerTransfer) -> tuple[object, ...]:
    return (
        transfer.kind.value, transfer.source_record_id, transfer.debit.key, transfer.credit.key,
        transfer.amount_minor, tx.now,
    )  # fmt: skip


async def insert(tx: Tx, transfer: LedgerTransfer) -> bool:
    """Post one transfer; False if one of its accounts does not exist yet.

    Raises UniqueViolationError if the movement is already posted, CheckViolationError if the balance does not cover it.
    """
    return await tx.execute(_INSERT, *_values(tx, transfer)) == "INSERT 0 1"


async def insert_all(tx: Tx, transfers: Sequence[LedgerTransfer]) -> None:
    """Post several transfers in one statement; their accounts must exist and be locked."""
    await tx.execute(
        """
        insert into ledger_transfer
            (kind, owner_id, debit_account_id, credit_account_id, currency, amount_minor, posted_at)
        select given.kind, owner_id, debit.id, credit.id, debit.currency, amount_minor, $6
        from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[]) with ordinality
            as given (kind, owner_id, debit_key, credit_key, amount_minor, place)
        join ledger_account debit on debit.key = debit_key
        join ledger_account credit on credit.key = credit_key
        order by place
        """,
        [transfer.kind.value for transfer in transfers],
        [transfer.source_record_id for transfer in transfers],
        [transfer.debit.key for transfer in transfers],
        [transfer.credit.key for transfer in transfers],
        [transfer.amount_minor for transfer in transfers],
        tx.now,
    )


async def lock_accounts_if_all_exist(tx: Tx, accounts: Sequence[LedgerAccount]) -> bool:
    """Lock accounts in a fixed order; False, and none is locked, if one does not exist yet.

    Creating an account waits for others who create the same account, so hold no account lock meanwhile: it would
    deadlock.
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
    return await find_balance_by_key(tx, account.key)


async def list_balances(tx: Tx) -> list[AccountBalance]:
    """All accounts, by key."""
    rows = await tx.fetch(f"select {_ACCOUNT}, debits_minor, credits_minor from ledger_account order by key")
    return [_balance(row) for row in rows]


async def list_nonprofit_balances(
    tx: Tx, kind: AccountKind | None, currency: str | None, before_id: int | None, limit: int
) -> list[ListedBalance]:
    """The newest accounts of nonprofits before the given one, with their IDs. None: not filtered."""
    where = keyset.equality_conditions({"kind": kind and kind.value, "currency": currency})
    where.add_without_value("organisation_id is not null")
    columns = f"id, {_ACCOUNT}, debits_minor, credits_minor"
    rows = await keyset.list_rows_after_id(tx, "ledger_account", columns, where, before_id, limit)
    return [ListedBalance(row["id"], _balance(row)) for row in rows]


async def list_balances_by_keys(tx: Tx, account_keys: Sequence[str]) -> list[AccountBalance]:
    """The accounts with these keys that exist, by key."""
    rows = await tx.fetch(
        f"select {_ACCOUNT}, debits_minor, credits_minor from ledger_account where key = any($1) order by key",
        account_keys,
    )
    return [_balance(row) for row in rows]


async def list_trial_balance(tx: Tx) -> list[AccountTotals]:
    """The trial balance: totals of the accounts of each kind, currency and provider."""
    rows = await tx.fetch(
        """
        select kind, currency::text, provider, count(*)::int, sum(debits_minor)::bigint, sum(credits_minor)::bigint
        from ledger_account group by kind, currency, provider order by currency, kind, provider nulls first
        """
    )
    return [AccountTotals(AccountKind(row[0]), *row[1:]) for row in rows]


async def find_balance_by_key(tx: Tx, account_key: str) -> AccountBalance | None:
    """Find an account with its balance by its key."""
    row = await tx.fetchrow(
        f"select {_ACCOUNT}, debits_minor, credits_minor from ledger_account where key = $1", account_key
    )
    return _balance(row) if row else None


_POSTED: Final = """
select t.id, t.kind, t.owner_id, t.amount_minor, t.posted_at, t.currency,
       d.kind, d.provider, d.organisation_id, c.kind, c.provider, c.organisation_id
from ({transfers}) t
join ledger_account d on d.id = t.debit_account_id join ledger_account c on c.id = t.credit_account_id
order by t.id {order}
"""
_OF_ACCOUNT: Final = """
select * from (
    (select * from ledger_transfer t where debit_account_id = (select id from ledger_account where key = $1)
        and {where} order by id desc limit {limit})
    union all
    (select * from ledger_transfer t where credit_account_id = (select id from ledger_account where key = $1)
        and {where} order by id desc limit {limit})
) sides order by id desc limit {limit}
"""


def _posted(row: Record) -> PostedTransfer:
    id_, kind, owner_id, minor, posted_at, currency = row[:6]
    debit = LedgerAccount(AccountKind(row[6]), currency, row[7], row[8])
    credit = LedgerAccount(AccountKind(row[9]), currency, row[10], row[11])
    return PostedTransfer(id_, TransferKind(kind), owner_id, debit, credit, minor, posted_at)


async def list_transfers_of_account(
    tx: Tx, account_key: str, days: Sequence[DayTotals] | None, before_id: int | None, limit: int
) -> list[PostedTransfer]:
    """The newest transfers of an account before the given one, from the first to the last of these days or of all."""
    where = SqlConditions(bound=1)
    if days is not None:  # IDs are in the order of posting, or nearly: the account's index finds a month of long ago
        where.add("id >= {}", min((day.first_id for day in days), default=0))
        where.add("id <= {}", max((day.last_id for day in days), default=0))
    if days:
        zone = tx.deployment.time_zone
        where.add("posted_at >= {}", datetime.combine(days[0].on, time(), zone))
        where.add("posted_at < {}", datetime.combine(days[-1].on + _DAY, time(), zone))
    if before_id is not None:
        where.add("id < {}", before_id)
    transfers = _OF_ACCOUNT.format(where=where.sql or "true", limit=int(limit))
    sql = _POSTED.format(transfers=transfers, order="desc")
    rows = await tx.fetch(sql, account_key, *where.values)
    return [_posted(row) for row in rows]


async def list_transfers_caused_by(tx: Tx, record_ids: Sequence[UUID]) -> list[PostedTransfer]:
    """The transfers that these records caused, in the order of posting."""
    transfers = "select * from ledger_transfer where owner_id = any($1::uuid[])"
    rows = await tx.fetch(_POSTED.format(transfers=transfers, order="asc"), list(record_ids))
    return [_posted(row) for row in rows]


async def list_day_totals_of_account(tx: Tx, account_key: str, since: datetime, until: datetime) -> list[DayTotals]:
    """The debits and credits of an account by day, in the issuer's time zone."""
    first = tx.deployment.date_in_issuer_time_zone(since)
    days = (tx.deployment.date_in_issuer_time_zone(until) - first).days + 1
    starts = [datetime.combine(first + day * _DAY, time(), tx.deployment.time_zone) for day in range(days)]
    rows = await tx.fetch(
        """
        select width_bucket(t.posted_at, $4::timestamptz[]), count(*)::int,
               sum(case when t.debit_account_id = a.id then t.amount_minor else 0 end)::bigint,
               sum(case when t.credit_account_id = a.id then t.amount_minor else 0 end)::bigint, min(t.id), max(t.id)
        from ledger_account a join ledger_transfer t on a.id in (t.debit_account_id, t.credit_account_id)
        where a.key = $1 and t.posted_at >= $2 and t.posted_at < $3 group by 1 order by 1
        """,
        account_key,
        since,
        until,
        starts,
    )
    return [DayTotals(first + (row[0] - 1) * _DAY, *row[1:]) for row in rows]


class TransferRange(NamedTuple):
    """The IDs of the first and the last transfer of a period."""

    first_id: int
    last_id: int


async def find_transfer_range(tx: Tx, since: datetime, until: datetime) -> TransferRange | None:
    """The IDs of the first and last transfer of a period; None if there are none."""
    row = await tx.fetchrow(
        """
        select min(id), max(id) from (
            select id from ledger_transfer where posted_at >= $1 and posted_at < $2 offset 0
        ) found
        """,
        since,
        until,
    )
    return TransferRange(row[0], row[1]) if row and row[0] is not None else None


async def list_transfers_in_period(
    tx: Tx, since: datetime, until: datetime, after_id: int, last_id: int, limit: int
) -> list[PostedTransfer]:
    """Transfers of a period in the order of posting, after ``after_id`` and up to ``last_id``."""
    transfers = (
        "select * from ledger_transfer where id > $3 and id <= $4 and posted_at >= $1 and posted_at < $2 "
        "order by id limit $5"
    )
    rows = await tx.fetch(_POSTED.format(transfers=transfers, order="asc"), since, until, after_id, last_id, limit)
    return [_posted(row) for row in rows]


async def list_balances_at(tx: Tx, moment: datetime) -> list[AccountBalance]:
    """The balance of each account at an earlier time: the current balance minus later postings."""
    rows = await tx.fetch(
        f"""
        select {_ACCOUNT}, debits_minor - coalesce(debits, 0)::bigint as debits_minor,
               credits_minor - coalesce(credits, 0)::bigint as credits_minor
        from ledger_account left join (
            select id, sum(debit) as debits, sum(credit) as credits from (
                select debit_account_id as id, amount_minor as debit, 0 as credit
                from ledger_transfer where posted_at >= $1
                union all select credit_account_id, 0, amount_minor from ledger_transfer where posted_at >= $1
            ) sides group by id
        ) since using (id) order by key
        """,
        moment,
    )
    return [_balance(row) for row in rows]
