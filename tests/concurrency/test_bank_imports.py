"""Imports of bank statements at once, and beside donors and sweeps: each line is booked exactly once (M4, M7)."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankLine
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import bank, books, camt, factories
from tests.support import giving as support
from tests.support.camt import Entry
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.giving import DAY, Giving
from tests.support.locking import waits_for_lock
from tests.support.payouts import payouts, settled, verified
from tests.support.requests import asked, requests
from tests.support.service import Service, serving
from tests.support.transfers import begun, came, confirmed, reference

AT_ONCE = 4
# A sequence counts on when a transaction is rolled back.
IN_THE_WAY = """
create sequence passed;
grant usage on passed to almoner_app;
create function let_pass() returns trigger language plpgsql as $$
begin
    if new.bank_reference = 'B1' and nextval('passed') <= {} then
        raise exception 'let pass' using errcode = '40P01';
    end if;
    return null;
end $$;
create trigger let_pass after update on bank_statement_line for each row
    when (new.status = 'matched') execute function let_pass();
"""


@pytest.fixture
async def alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own."""
    async with serving(empty_database) as made:
        yield made


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def heard(alone: Service, *entries: Entry, name: str = "S1") -> StatementImportProgress:
    """An officer imports a statement in dollars, which has no balances."""
    return await bank.stated(alone, camt.statement(*entries, reference=name, currency="USD", told=()))


async def donors(alone: Service, api: Client, count: int) -> list[Giving]:
    """So many donors who were told where to transfer their gifts to."""
    found = [await support.open_session(alone, api) for _ in range(count)]
    for giving in found:
        await begun(giving)
    return found


async def lines(alone: Service) -> list[BankLine]:
    """All lines."""
    async with alone.db.read() as tx:
        return await bank_statements.list_oldest_open_or_newest_lines(tx, 1000, newest_of_any_status=True)


async def consistent(alone: Service, arrived: int) -> None:
    """What came is in our bank's account in the books, which balance, and no self-check finds anything."""
    assert await books.balanced(alone)
    assert await books.in_bank(alone, "USD") == arrived
    await alone.drain()
    outcome = await selfcheck.run_selfcheck(alone.db, CHECKS)
    assert [(one.check.name, one.examples) for one in outcome.findings] == []


async def test_m7_one_file_imported_many_times_at_once_is_imported_once(alone: Service, partner: Client) -> None:
    givers = await donors(alone, partner, 6)
    request = await asked(alone, partner, 700)
    cause = await factories.nonprofit(alone)
    await bank.account(alone, cause)
    await verified(alone, partner, cause)
    await settled(alone, partner, cause)
    await bank.in_a_file(alone)
    before = await books.in_bank(alone, "USD")
    (payout,) = await payouts(partner)
    moved = [came(f"B{rank}", 2500, await reference(one)) for rank, one in enumerate(givers)]
    moved.append(came("C1", 700, request["reference"]))
    moved.append(camt.entry("C2", -2437, end_to_end=payout["endToEndId"], currency="USD"))
    looked = await asyncio.gather(*(heard(alone, *moved) for _ in range(AT_ONCE)))
    assert sum(one.new_statement_count for one in looked) == 1
    assert sum(one.matched_line_count for one in looked) == len(moved)
    assert {one.status for one in await lines(alone)} == {"matched"}
    assert len(await lines(alone)) == len(moved)
    assert [one["status"] for one in await requests(partner)] == ["PAID"]
    assert (await payouts(partner))[0]["status"] == "PAID"
    await consistent(alone, before + 6 * 2500 + 700 - 2437)


async def test_m7_lines_that_two_files_share_are_booked_once(alone: Service, partner: Client) -> None:
    givers = await donors(alone, partner, 9)
    moved = [came(f"B{rank}", 2500, await reference(one)) for rank, one in enumerate(givers)]
    await asyncio.gather(heard(alone, *moved[:6], name="S1"), heard(alone, *moved[3:], name="S2"))
    found = await lines(alone)
    assert len(found) == 12
    matched = sorted(one.movement.reference for one in found if one.status == "matched")
    assert matched == [f"B{rank}" for rank in range(9)]
    assert {one.unreconciled_reason for one in found if one.status == "open"} == {"seen_before"}
    assert [bool(one["settledAt"]) for one in await givers[0].donations()] == [True] * 9
    await consistent(alone, 9 * 2500)


async def test_m6_two_transfers_of_one_gift_told_at_once_are_both_in_the_books(alone: Service, partner: Client) -> None:
    givers = await donors(alone, partner, 5)
    named = [await reference(one) for one in givers]
    first = [came(f"A{rank}", 2500, one) for rank, one in enumerate(named)]
    second = [came(f"B{rank}", 2500, one) for rank, one in enumerate(named)]
    await asyncio.gather(heard(alone, *first, name="S1"), heard(alone, *second, name="S2"))
    assert {one.status for one in await lines(alone)} == {"matched"}
    for one in named:
        async with alone.db.write() as tx:
            assert [held.reason for held in await suspense.lock_by_reference(tx, one)] == ["paid_twice"]
    await consistent(alone, 10 * 2500)


@pytest.mark.parametrize("name", ["B2", "B1"])
async def test_m6_a_line_that_is_looked_at_beside_another_sees_what_became_of_it(
    alone: Service, partner: Client, name: str
) -> None:
    [giver] = await donors(alone, partner, 1)
    named = await reference(giver)
    for file, line in enumerate(("B1", name)):
        content = camt.statement(came(line, 2500, named), reference=f"S{file}", currency="USD", told=())
        async with alone.db.write() as tx:
            await bank_statements.store_statement(
                tx,
                bank_statements.parse_statement_file(content, None, None, alone.clock.now().date())[0][0],
                imported_by="officer",
            )
    async with alone.db.read() as tx:
        first, second = await bank_statements.list_unreconciled_line_ids(tx, None)

    async def look() -> bool:
        async with alone.db.write() as tx:
            return await bank_statements.match_unreconciled_line(tx, second)

    async with alone.db.write() as tx:
        assert await bank_statements.match_unreconciled_line(tx, first)
        other = asyncio.create_task(look())
        await eventually(partial(waits_for_lock, alone))
    assert await other is (name == "B2")
    async with alone.db.write() as tx:
        held = [(one.reason, one.money.minor) for one in await suspense.lock_by_reference(tx, named)]
    assert held == ([("paid_twice", 2500)] if name == "B2" else [])
    await consistent(alone, 5000 if name == "B2" else 2500)


async def test_m4_an_import_beside_the_sweep_and_donors_who_change_their_minds(alone: Service, partner: Client) -> None:
    swept = await donors(alone, partner, 3)
    alone.clock.advance(DAY / 2)
    changed, confirming = [await donors(alone, partner, 3) for _ in range(2)]
    later = [*changed, *confirming]
    alone.clock.advance(DAY / 2)
    moved = [came(f"B{rank}", 2500, await reference(one)) for rank, one in enumerate([*swept, *later])]
    await asyncio.gather(
        heard(alone, *moved),
        swept[0].sweep(),
        *(begun(one, support.gift(4000)) for one in changed),
        *(confirmed(one) for one in confirming),
        return_exceptions=True,
    )
    await heard(alone, *moved)
    assert {one.status for one in await lines(alone)} == {"matched"}
    await consistent(alone, 9 * 2500)


@pytest.mark.parametrize(
    ("times", "matched"), [(bank_statements_flows.MAX_ATTEMPTS - 1, 2), (bank_statements_flows.MAX_ATTEMPTS, 1)]
)
async def test_m4_a_line_that_lets_others_pass_is_looked_at_again(
    alone: Service, partner: Client, times: int, matched: int
) -> None:
    connection = await asyncpg.connect(alone.database.server.superuser_url(alone.database.name))
    try:
        await connection.execute(IN_THE_WAY.format(times))
    finally:
        await connection.close()
    moved = [
        came(f"B{rank}", 2500, await reference(one)) for rank, one in enumerate(await donors(alone, partner, 2), 1)
    ]
    assert (await heard(alone, *moved)).matched_line_count == matched
    if matched == 1:
        [waiting] = [one for one in await lines(alone) if one.status == "open"]
        assert (waiting.unreconciled_reason, "let pass 5 times" in (waiting.booking_error or "")) == ("refused", True)
        assert (await heard(alone, *moved)).matched_line_count == 1
    await consistent(alone, 5000)
