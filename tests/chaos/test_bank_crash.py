"""kill -9 around every commit of an import of a bank statement: each of its lines is booked once (M4, M7)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.kit.time import iso_timestamp
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.chaos import bank_imports
from tests.support import bank, books, camt, factories, forks
from tests.support import giving as support
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.payouts import payouts, settled, verified
from tests.support.requests import asked, requests
from tests.support.service import Service, serving
from tests.support.transfers import begun, came, reference

KINDS = {
    "A": ("donation", 2500),
    "B": ("donation", 2500),
    "C": ("request", 700),
    "D": ("disbursement", -2437),
    "E": ("donation_refund", -2400),
}
"""Lines of each statement by the end of their names: what they are the movement of, and of how much."""


@pytest.fixture
async def own(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own."""
    async with serving(empty_database) as service:
        yield service


@pytest.fixture
async def partner(own: Service) -> AsyncIterator[Client]:
    api = own.client((await own.tenant()).secret)
    yield api
    await api.close()


async def statement(own: Service, api: Client, cause: str, name: str, lines: str) -> bytes:
    """A gift that is paid twice, a partner's transfer, a payout, and what goes back of a gift that was short."""
    giving = await support.open_session(own, api)
    await begun(giving)
    named = await reference(giving)
    entries = [came(f"{name}-A", 2500, named), came(f"{name}-B", 2500, named)]
    if "C" in lines:
        entries.append(came(f"{name}-C", 700, (await asked(own, api, 700))["reference"]))
    await settled(own, api, cause)
    await bank.in_a_file(own)
    [sent] = [one["endToEndId"] for one in await payouts(api, status="SENT", pageSize=1)]
    entries.append(camt.entry(f"{name}-D", -2437, end_to_end=sent, currency="USD"))
    if "E" in lines:
        entries.append(came(f"{name}-E", -2400, await refunding(own, api, name)))
    return camt.statement(*entries, reference=name, currency="USD", told=())


async def refunding(own: Service, api: Client, name: str) -> str:
    """The reference of a transfer that was short, and is to go back."""
    giving = await support.open_session(own, api)
    await begun(giving)
    named = await reference(giving)
    await bank.stated(
        own, camt.statement(came(f"{name}-0", 2400, named), reference=f"{name}-0", currency="USD", told=())
    )
    async with own.db.write() as tx:
        [held] = await suspense.lock_by_reference(tx, named)
        await suspense.begin_refund(tx, held.id, "it was short", "officer")
    return named


async def kill_everywhere(own: Service, statements: list[str]) -> list[str]:
    """Run one child for each point; the fate of each."""
    task = {
        "dsn": own.database.dsn,
        "now": iso_timestamp(own.clock.now()),
        "links": own.db.deployment.base_urls.pages,
        "master_key": own.master_key,
        "statements": statements,
    }
    words = ("-m", "tests.chaos.bank_imports", json.dumps(task), "1", str(len(statements)))
    _, output = await asyncio.to_thread(forks.run, words, {})
    return [one[1] for one in re.finditer(r"^\d+ (killed|lived|failed \d+)$", output, re.MULTILINE)]


@pytest.mark.soak
async def test_m4_m7_each_line_is_booked_once_wherever_the_process_dies(
    own: Service, partner: Client, figures: Figures, tmp_path: Path
) -> None:
    cause = await factories.nonprofit(own)
    await bank.account(own, cause)
    await verified(own, partner, cause)
    lines = "ABCDE" if figures.soak else "ABD"
    points = 2 * (len(lines) + 2)  # around each commit: of the lines as they came, of each line, and of who did it
    killed = rounds = 0
    while rounds < figures.count(1, 20):
        files = [tmp_path / f"R{rounds}S{number}.xml" for number in range(points + 1)]
        for file in files:
            file.write_bytes(await statement(own, partner, cause, file.stem, lines))
        arrived = await books.in_bank(own, "USD") + len(files) * sum(KINDS[line][1] for line in lines)
        assert await kill_everywhere(own, [str(file) for file in files]) == ["killed"] * points + ["lived"]
        killed += points
        rounds += 1
        for file in files:
            assert (await bank_imports.hear(own.db, file.read_bytes())).new_statement_count == 0
        assert await books.in_bank(own, "USD") == arrived
        await check(own, partner, lines, len(files) * rounds)
    figures.write(
        "bank-crashes",
        "Processes killed while a bank statement is imported (M4, M7)",
        f"{killed:,} processes killed with -9 before or after a commit, among gifts, second transfers of gifts, "
        "partners' transfers, payouts and refunds: once the file was imported again each line was there once, and "
        "booked once",
    )


async def check(own: Service, api: Client, lines: str, statements: int) -> None:
    """Each line is there once, and is the movement of what it should be; no self-check finds anything."""
    async with own.db.read() as tx:
        found = await tx.fetch(
            "select right(bank_reference, 1) as line, matched_as, count(*)::int from bank_statement_line "
            "where bank_reference !~ '-0$' group by 1, 2"
        )
        held = await tx.fetchval("select count(*) from unallocated_payment where reason = 'paid_twice'")
    assert sorted(tuple(row) for row in found) == [(line, KINDS[line][0], statements) for line in lines]
    assert held == statements
    assert {one["status"] for one in await requests(api)} <= {"PAID"}
    assert await payouts(api, status="SENT") == []
    assert await books.balanced(own)
    await own.drain()
    outcome = await selfcheck.run_selfcheck(own.db, CHECKS)
    assert [(one.check.name, one.examples) for one in outcome.findings] == []
