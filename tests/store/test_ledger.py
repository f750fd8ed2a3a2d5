"""The books in the database: append-only, balanced, covered, for the service's role and for the owner (M1, M2)."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerAccount, LedgerTransfer, TransferKind
from almoner.kit.money import MAX_MINOR, Money
from tests.support import factories
from tests.support.figures import Figures
from tests.support.service import Service

WRITERS = 16
INSERT = """
insert into ledger_transfer (kind, owner_id, debit_account_id, credit_account_id, currency, amount_minor, posted_at)
values ($1, $2, $3, $4, $5, $6, now())
"""

COUNT = "select count(*) from ledger_transfer"
DIFFERENCES = """
with sides as (
    select debit_account_id as id, amount_minor as debit, 0 as credit from ledger_transfer
    union all select credit_account_id, 0, amount_minor from ledger_transfer
), sums as (
    select id, sum(debit) as debits, sum(credit) as credits from sides group by id
)
select key from ledger_account left join sums using (id)
where (debits_minor, credits_minor) <> (coalesce(debits, 0), coalesce(credits, 0))
"""
UNEVEN = "select currency from ledger_account group by 1 having sum(debits_minor) <> sum(credits_minor)"


@pytest.fixture
async def cause(service: Service) -> UUID:
    """A nonprofit of its own."""
    found = service.db.deployment.ids.decode("organisation", await factories.nonprofit(service))
    assert found is not None
    return found


@pytest.fixture
async def provider(service: Service, cause: UUID) -> str:
    """A provider of its own, which holds 100.00 USD of one gift."""
    name = f"p{uuid4().hex[:12]}"
    await post(service, ledger_domain.build_payment_transfers(uuid4(), name, cause, Money(10_000, "USD")))
    return name


async def post(service: Service, transfers: list[LedgerTransfer]) -> None:
    """In a transaction of its own."""
    async with service.db.write() as tx:
        ledger.post_at_commit(tx, transfers)


async def sides(service: Service, account: LedgerAccount) -> tuple[int, int]:
    """Debits and credits."""
    async with service.db.read() as tx:
        found = await ledger.get_balance(tx, account)
    return found.debits_minor, found.credits_minor


async def number(service: Service, account: LedgerAccount) -> int:
    """The account's row."""
    async with service.db.read() as tx:
        found = await tx.fetchval("select id from ledger_account where key = $1", account.key)
    return int(found)


async def as_role(service: Service, role: str, sql: str, *args: Any) -> None:
    """One statement as the service's role or as the owner of the tables."""
    dsn = service.database.owner_dsn if role == "owner" else service.database.dsn
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql, *args)
    finally:
        await connection.close()


@pytest.mark.parametrize("role", ["owner", "service"])
@pytest.mark.parametrize(
    "sql",
    [
        "update ledger_transfer set amount_minor = amount_minor + 1",
        "update ledger_transfer set posted_at = posted_at where false",
        "delete from ledger_transfer",
        "delete from ledger_transfer where false",
        "truncate ledger_transfer",
        "delete from ledger_account",
        "truncate ledger_account cascade",
    ],
)
async def test_m1_what_was_posted_is_never_changed_nor_removed(
    service: Service, provider: str, role: str, sql: str
) -> None:
    with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.CheckViolationError)) as refused:
        await as_role(service, role, sql)
    if role == "owner":
        assert (refused.value.constraint_name or "").endswith("_append_only")
    assert await sides(service, ledger_domain.clearing_account(provider, "USD")) == (10_000, 0)


@pytest.mark.parametrize("column", ["debits_minor", "credits_minor", "currency", "kind", "provider"])
async def test_m2_the_service_cannot_write_a_balance(service: Service, column: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await as_role(service, "service", f"update ledger_account set {column} = {column}")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await as_role(
            service,
            "service",
            "insert into ledger_account (kind, currency, provider, debits_minor) values ('bank', 'USD', null, 7)",
        )


@pytest.mark.parametrize("amount", [0, -1, MAX_MINOR + 1])
async def test_m1_amounts_outside_the_bounds_are_refused(
    service: Service, provider: str, cause: UUID, amount: int
) -> None:
    debit = await number(service, ledger_domain.clearing_account(provider, "USD"))
    credit = await number(service, ledger_domain.nonprofit_liability_account(cause, "USD"))
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await as_role(service, "service", INSERT, "payment_received", uuid4(), debit, credit, "USD", amount)
    assert refused.value.constraint_name == "ledger_transfer_amount_minor_check"


async def test_m8_amounts_and_balances_are_whole_numbers(service: Service) -> None:
    async with service.db.read() as tx:
        types = await tx.fetch(
            """
            select distinct data_type from information_schema.columns
            where table_name in ('ledger_transfer', 'ledger_account') and column_name like '%_minor'
            """
        )
    assert [row["data_type"] for row in types] == ["bigint"]


async def test_m1_one_currency_two_accounts_and_both_known(service: Service, provider: str, cause: UUID) -> None:
    await post(service, ledger_domain.build_payment_transfers(uuid4(), provider, cause, Money(1, "EUR")))
    dollars = await number(service, ledger_domain.clearing_account(provider, "USD"))
    owed_dollars = await number(service, ledger_domain.nonprofit_liability_account(cause, "USD"))
    owed_euros = await number(service, ledger_domain.nonprofit_liability_account(cause, "EUR"))
    broken = {
        (dollars, dollars, "USD"): asyncpg.CheckViolationError,
        (dollars, owed_euros, "USD"): asyncpg.ForeignKeyViolationError,
        (dollars, owed_euros, "EUR"): asyncpg.ForeignKeyViolationError,
        (dollars, owed_dollars, "EUR"): asyncpg.ForeignKeyViolationError,
        (dollars, 2**62, "USD"): asyncpg.ForeignKeyViolationError,
        (2**62, owed_dollars, "USD"): asyncpg.ForeignKeyViolationError,
    }
    for (debit, credit, currency), error in broken.items():
        with pytest.raises(error):
            await as_role(service, "service", INSERT, "payment_received", uuid4(), debit, credit, currency, 1)
    assert await sides(service, ledger_domain.clearing_account(provider, "USD")) == (10_000, 0)


async def test_m1_a_kind_of_account_has_the_owner_of_its_kind(service: Service, cause: UUID) -> None:
    insert = "insert into ledger_account (kind, currency, provider, organisation_id) values ($1, 'USD', $2, $3)"
    for kind, provider, organisation in (
        ("provider_clearing", None, None),
        ("provider_clearing", "test", cause),
        ("donation_liability", None, None),
        ("donation_liability", "test", None),
        ("bank", "test", None),
        ("bank", None, cause),
    ):
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            await as_role(service, "service", insert, kind, provider, organisation)
        assert refused.value.constraint_name == "ledger_account_owner"


async def test_m1_a_movement_is_posted_once(service: Service, provider: str, cause: UUID) -> None:
    moved = ledger_domain.build_payment_transfers(uuid4(), provider, cause, Money(700, "USD"))
    await post(service, moved)
    for again in (
        moved,
        [*moved, *ledger_domain.build_unallocated_payment_transfers(uuid4(), provider, Money(1, "USD"))],
    ):
        with pytest.raises(asyncpg.UniqueViolationError) as refused:
            await post(service, again)
        assert refused.value.constraint_name == "ledger_transfer_once"
    assert await sides(service, ledger_domain.clearing_account(provider, "USD")) == (10_700, 0)


async def test_m1_no_more_leaves_an_account_than_came_to_it(service: Service, provider: str, cause: UUID) -> None:
    money = Money(10_001, "USD")
    other, half = uuid4(), Money(5_001, "USD")
    for transfers in (
        ledger_domain.build_disbursement_sent_transfers(uuid4(), cause, money),
        ledger_domain.build_disbursement_paid_transfers(uuid4(), cause, Money(1, "USD")),
        ledger_domain.build_reassignment_transfers(uuid4(), cause, other, money),
        ledger_domain.build_unallocated_payment_refund_started_transfers(uuid4(), provider, Money(1, "USD")),
        ledger_domain.build_unallocated_payment_refund_sent_transfers(uuid4(), provider, Money(1, "USD")),
        ledger_domain.build_unallocated_payment_write_off_transfers(uuid4(), provider, Money(1, "USD")),
        [
            *ledger_domain.build_disbursement_sent_transfers(uuid4(), cause, half),
            *ledger_domain.build_disbursement_sent_transfers(uuid4(), cause, half),
        ],
    ):
        with pytest.raises((asyncpg.CheckViolationError, asyncpg.ForeignKeyViolationError)) as refused:
            await post(service, transfers)
        assert refused.value.constraint_name in ("ledger_account_not_negative", "ledger_account_organisation_id_fkey")
    assert await sides(service, ledger_domain.nonprofit_liability_account(cause, "USD")) == (0, 10_000)


async def test_m1_of_several_transfers_all_are_posted_or_none(service: Service, provider: str, cause: UUID) -> None:
    line = uuid4()
    await post(
        service,
        ledger_domain.build_payment_settlement_transfers(
            line, provider, Money(10_000, "USD"), Money(300, "USD"), cause
        ),
    )
    assert await sides(service, ledger_domain.clearing_account(provider, "USD")) == (10_000, 10_000)
    assert await sides(service, ledger_domain.nonprofit_liability_account(cause, "USD")) == (300, 10_000)
    assert await sides(service, ledger_domain.fees_account(provider, "USD")) == (300, 300)
    held, paid = (
        ledger_domain.build_unallocated_payment_transfers(uuid4(), provider, Money(5, "USD")),
        ledger_domain.build_unallocated_payment_refund_sent_transfers(uuid4(), provider, Money(9, "USD")),
    )
    with pytest.raises(asyncpg.CheckViolationError):
        await post(service, [*held, *paid])
    assert await sides(service, ledger_domain.suspense_account(provider, "USD")) == (0, 0)


@pytest.mark.soak
async def test_m2_m3_sixteen_writers_leave_no_difference(service: Service, figures: Figures) -> None:
    writers = [_Writer(service, random.Random(figures.seed + n)) for n in range(WRITERS)]
    ids = service.db.deployment.ids
    causes = [ids.decode("organisation", await factories.nonprofit(service)) for _ in range(8)]
    providers = [f"w{uuid4().hex[:10]}{n}" for n in range(3)]
    rounds = figures.count(1_600, 1_000_000) // WRITERS
    async with service.db.read() as tx:
        before = await tx.fetchval(COUNT)
    started = monotonic()
    await asyncio.gather(*(writer.write(rounds, [one for one in causes if one], providers) for writer in writers))
    seconds = monotonic() - started
    seen = sum((writer.seen for writer in writers), Counter[str]())
    async with service.db.read() as tx:
        assert await tx.fetch(DIFFERENCES) == []
        assert await tx.fetch(UNEVEN) == []
        assert await tx.fetchval(COUNT) - before == seen["transfers"]
    assert seen.keys() <= {"postings", "transfers", "ledger_account_not_negative", "undone by PostgreSQL"}
    figures.write(
        "ledger",
        f"Random transfers by {WRITERS} writers (M2, M3)",
        f"{seen['transfers']:,} transfers in {seen['postings']:,} postings",
        f"{seen['ledger_account_not_negative']:,} postings refused, since nothing covered them",
        f"{seen['transfers'] / seconds:.0f} transfers/s while testing",
        "0 differences between balances and sums, debits equal credits in every currency, 0 deadlocks",
    )


class _Writer:
    """Posts random movements between few accounts, so that writers meet."""

    def __init__(self, service: Service, chance: random.Random) -> None:
        self._service = service
        self._chance = chance
        self.seen: Counter[str] = Counter()

    async def write(self, rounds: int, causes: list[UUID], providers: list[str]) -> None:
        """So many postings; one that nothing covers is refused and forgotten."""
        for _ in range(rounds):
            transfers = self._movement(causes, self._chance.choice(providers))
            try:
                await post(self._service, transfers)
            except asyncpg.CheckViolationError as refused:
                self.seen[refused.constraint_name or ""] += 1
            except asyncpg.DeadlockDetectedError:
                self.seen["deadlocks"] += 1
            except asyncpg.InternalServerError as race:
                # PostgreSQL's own guard, very rarely: a refused posting is being undone while the next takes its rows.
                if "more than one updating member" not in str(race):
                    raise
                self.seen["undone by PostgreSQL"] += 1
            else:
                self.seen.update(postings=1, transfers=len(transfers))

    def _movement(self, causes: list[UUID], provider: str) -> list[LedgerTransfer]:
        chance = self._chance
        owner, (cause, other) = uuid4(), chance.sample(causes, 2)
        money = Money(chance.randint(1, 10_000), chance.choice(["USD", "EUR", "JPY"]))
        fee = Money(money.minor // 30, money.currency)
        moves: list[Callable[[], list[LedgerTransfer]]] = [
            lambda: ledger_domain.build_payment_transfers(owner, provider, cause, money),
            lambda: ledger_domain.build_payment_transfers(owner, provider, cause, money),
            lambda: ledger_domain.build_unallocated_payment_transfers(owner, provider, money),
            lambda: ledger_domain.build_payment_settlement_transfers(owner, provider, money, fee, cause),
            lambda: ledger_domain.build_disbursement_sent_transfers(owner, cause, money),
            lambda: ledger_domain.build_disbursement_paid_transfers(owner, cause, money),
            lambda: ledger_domain.build_disbursement_returned_transfers(
                owner, cause, money, was_paid=chance.random() < 0.5
            ),
            lambda: ledger_domain.build_reassignment_transfers(owner, cause, other, money),
            lambda: [
                *ledger_domain.build_unallocated_payment_transfers(owner, provider, money),
                *ledger_domain.build_unallocated_payment_refund_started_transfers(owner, provider, money),
            ],
            lambda: ledger_domain.build_unallocated_payment_refund_sent_transfers(owner, provider, money),
        ]
        return chance.choice(moves)()


async def test_m2_writers_who_open_the_same_new_accounts_at_once_wait_for_each_other(
    service: Service, provider: str
) -> None:
    ids = service.db.deployment.ids
    for _ in range(10):
        cause = ids.decode("organisation", await factories.nonprofit(service))
        assert cause is not None
        money = Money(100, "GBP")
        # Each opens two accounts and uses one that all of them lock.
        both = [
            [
                *ledger_domain.build_payment_transfers(uuid4(), provider, cause, money),
                *ledger_domain.build_unallocated_payment_transfers(uuid4(), provider, money),
            ]
            for _ in range(8)
        ]
        await asyncio.gather(*(post(service, transfers) for transfers in both))
        assert await sides(service, ledger_domain.nonprofit_liability_account(cause, "GBP")) == (0, 800)


async def test_m2_transactions_that_post_in_steps_never_wait_for_each_other(service: Service) -> None:
    """Each has posted to accounts that the other posts to next."""
    first, second = [
        ledger_domain.build_unallocated_payment_transfers(uuid4(), f"p{uuid4().hex[:12]}", Money(100, currency))
        for currency in ("USD", "EUR")
    ]
    await post(service, first + second)  # the accounts are open
    both = asyncio.Barrier(2)

    async def steps(*currencies: str) -> None:
        async with service.db.write() as tx:
            for currency in currencies:
                provider = first[0].debit.provider if currency == "USD" else second[0].debit.provider
                ledger.post_at_commit(
                    tx, ledger_domain.build_unallocated_payment_transfers(uuid4(), str(provider), Money(100, currency))
                )
                await both.wait()

    await asyncio.gather(steps("USD", "EUR"), steps("EUR", "USD"))
    assert [await sides(service, one[0].debit) for one in (first, second)] == [(300, 0), (300, 0)]


async def test_m1_what_is_posted_in_a_savepoint_goes_with_it(service: Service, provider: str, cause: UUID) -> None:
    liability = ledger_domain.nonprofit_liability_account(cause, "USD")
    async with service.db.write() as tx:
        ledger.post_at_commit(tx, ledger_domain.build_payment_transfers(uuid4(), provider, cause, Money(100, "USD")))
        with pytest.raises(asyncpg.CheckViolationError):
            async with tx.savepoint():
                ledger.post_at_commit(
                    tx, ledger_domain.build_disbursement_sent_transfers(uuid4(), cause, Money(10_001, "USD"))
                )
        async with tx.savepoint():
            ledger.post_at_commit(
                tx, ledger_domain.build_disbursement_sent_transfers(uuid4(), cause, Money(10_000, "USD"))
            )
    assert await sides(service, liability) == (10_000, 10_100)


async def test_m1_nothing_is_posted_where_nothing_is_written(service: Service, provider: str, cause: UUID) -> None:
    for mode in (service.db.read, service.db.single_statement, service.db.snapshot):
        with pytest.raises(RuntimeError, match=r"open db.write"):
            async with mode() as tx:
                ledger.post_at_commit(
                    tx, ledger_domain.build_payment_transfers(uuid4(), provider, cause, Money(100, "USD"))
                )


async def test_m1_the_kinds_in_the_database_are_those_in_the_code(service: Service) -> None:
    async with service.db.read() as tx:
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = 'ledger_transfer_kind_check'"
        )
    assert all(f"'{kind}'" in check for kind in TransferKind)


async def test_the_transfers_of_a_month_are_those_of_its_days(service: Service, provider: str) -> None:
    key, day = f"provider_clearing:USD:{provider}", timedelta(days=1)
    async with service.db.read() as tx:
        [one] = days = await ledger.list_day_totals_of_account(tx, key, tx.now - day, tx.now + day)
        assert (one.transfers, one.debits_minor, one.credits_minor) == (1, 10_000, 0)
        found = await ledger.list_transfers_of_account(tx, key, days, None, 10)
        assert [transfer.id for transfer in found] == [one.first_id] == [one.last_id]
        assert await ledger.list_transfers_of_account(tx, key, None, None, 10) == found
        assert await ledger.list_transfers_of_account(tx, key, [], None, 10) == []
