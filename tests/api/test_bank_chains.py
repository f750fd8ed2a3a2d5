"""Statements of our bank follow each other: one that is missing is noticed, and none is invented (M7)."""

from pathlib import Path
from random import Random

import pytest

from almoner.giving.banking.bank_statements import checks as bank_statements_checks
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankStatementError, StatementGap
from almoner.kit.errors import NotFound
from almoner.platform.observability import selfcheck
from tests.support import bank, camt
from tests.support.service import Service

DAYS = 12


async def gaps(alone: Service) -> list[StatementGap]:
    async with alone.db.read() as tx:
        return await bank_statements.list_statement_gaps(tx, 100)


async def named(alone: Service) -> list[str]:
    """Before which statements something is missing."""
    return sorted(one.statement_reference for one in await gaps(alone))


def of(name: str, opening: int, closing: int, *, day: int = 2, currency: str = "EUR") -> bytes:
    moved = [camt.entry(f"{currency}-{name}", closing - opening, currency=currency)] if closing != opening else []
    return camt.statement(*moved, opening=opening, reference=name, currency=currency, day=f"2026-03-{day:02}")


@pytest.mark.parametrize("seed", range(6))
async def test_m7_whatever_is_missing_is_found_in_any_order_and_nothing_else(alone: Service, seed: int) -> None:
    """Two accounts; some days move nothing, and some end as another one did."""
    chance = Random(seed)
    reported: dict[str, tuple[bytes, str | None]] = {}
    for currency in ("EUR", "USD"):
        balance, before = 1000, None
        for day in range(1, DAYS + 1):
            name = f"{currency}{day}"
            after = balance + chance.choice((0, 0, 10**day, 10**day, -(10**day)))
            reported[name] = of(name, balance, after, day=day, currency=currency), before
            balance, before = after, name
    left_out = [f"EUR{day}" for day in (3, 4, 7)]
    # What moved nothing is missed by nobody: the balances on either side are the same.
    seen = [name for name in reported if name not in left_out]
    chance.shuffle(seen)
    for name in seen:
        await bank.stated(alone, reported[name][0])
    expected = set()
    for first, last in ((3, 4), (7, 7)):
        opened, closed = reported[f"EUR{first}"][0], reported[f"EUR{last}"][0]
        if opening(opened) != closing(closed):
            expected.add(f"EUR{last + 1}")
    found = set(await named(alone))
    assert len(found) == len(expected)
    assert all(opening(reported[name][0]) in {opening(reported[one][0]) for one in expected} for name in found)
    for name in left_out:
        await bank.stated(alone, reported[name][0])
    assert await named(alone) == []
    assert not (
        await selfcheck.run_selfcheck(alone.db, [one for one in bank_statements_checks.checks if "follow" in one.name])
    ).findings


def opening(content: bytes) -> bytes:
    return content.partition(b"OPBD")[2].partition(b"<Amt")[2].partition(b"<Dt>")[0]


def closing(content: bytes) -> bytes:
    return content.partition(b"CLBD")[2].partition(b"<Amt")[2].partition(b"<Dt>")[0]


async def test_m7_statements_of_one_day_follow_each_other(alone: Service) -> None:
    for name, first, last in (("B", 5, 7), ("A", 0, 5), ("C", 7, 0)):
        await bank.stated(alone, of(name, first, last))
    assert await named(alone) == []
    await bank.stated(alone, of("E", 9, 11, day=3))
    assert await named(alone) == ["E"]
    await bank.stated(alone, of("D", 0, 9))
    assert await named(alone) == []


async def test_m7_pages_of_a_long_statement_are_one_link(alone: Service) -> None:
    await bank.stated(alone, of("S1", 0, 5, day=1))
    for page, moved, reported in (("1 false", 3, ("OPBD",)), ("2 false", 4, ()), ("3 true", 1, ("CLBD",))):
        opening = 12 if reported == ("CLBD",) else 5
        line = camt.entry(f"P{page[0]}", moved)
        await bank.stated(alone, camt.statement(line, reference="S2", page=page, told=reported, opening=opening))
    await bank.stated(alone, of("S3", 13, 20, day=3))
    assert await named(alone) == []


async def test_m7_a_statement_that_has_grown_ends_where_it_ends_now(alone: Service) -> None:
    first = camt.entry("B1", 5)
    await bank.stated(alone, camt.statement(first))
    await bank.stated(alone, camt.statement(first, camt.entry("B2", 2)))
    await bank.stated(alone, of("S2", 7, 8, day=3))
    assert await named(alone) == []
    await bank.stated(alone, of("S3", 5, 8, day=4))
    assert await named(alone) == ["S3"]


async def test_m7_what_is_missing_waits_until_it_is_imported_or_explained(alone: Service) -> None:
    await bank.stated(alone, of("S1", 0, 5, day=1))
    await bank.stated(alone, of("S4", 8, 9, day=4))
    [gap] = await gaps(alone)
    assert (gap.statement_reference, gap.opening_minor, str(gap.statement_date)) == ("S4", 8, "2026-03-04")
    async with alone.db.read() as tx:
        assert [
            (one.kind, one.amount_minor)
            for one in await bank_statements.list_unreconciled_items(tx, 10)
            if one.kind == "bank_statement"
        ] == [("bank_statement", 8)]
    outcome = await selfcheck.run_selfcheck(alone.db, bank_statements_checks.checks)
    assert [one.check.name for one in outcome.findings] == ["bank_statements.balances_are_continuous"]
    for note in ("", "x" * 2001):
        with pytest.raises(BankStatementError, match="1 to 2000"):
            await explain(alone, gap, note)
    await explain(alone, gap, "the bank made none while it moved our account")
    assert await gaps(alone) == []
    with pytest.raises(NotFound):
        await explain(alone, gap, "again")


async def explain(alone: Service, gap: StatementGap, note: str) -> None:
    async with alone.db.write() as tx:
        await bank_statements.record_gap_explanation(tx, gap.id, note=note, explained_by="officer")


async def test_m7_exports_of_overlapping_days_bring_each_line_once(alone: Service, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    columns = '[columns]\nday = { column = "Day", format = "%Y-%m-%d" }\namount = "Amount"\nreference = "Id"\n'
    mapping.write_text(f'account = "NL91 ABNA 0417 1643 00"\ncurrency = "EUR"\n{columns}')
    rows = [f"2026-03-{day:02},{day}.00,B{day}" for day in range(1, 29)]
    for first, last, new in ((5, 15, 11), (1, 10, 4), (12, 28, 13), (5, 15, 0), (1, 28, 0)):
        content = "\n".join(["Day,Amount,Id", *rows[first - 1 : last]]).encode()
        before = await count(alone)
        await bank.stated(alone, content, bank.all_own(tmp_path), mapping)
        assert await count(alone) - before == new
    async with alone.db.read() as tx:
        waiting = await bank_statements.list_oldest_open_or_newest_lines(tx, 100, newest_of_any_status=False)
    assert {one.unreconciled_reason for one in waiting} == {"unknown"}, "none was told before"
    assert await named(alone) == []


async def count(alone: Service) -> int:
    async with alone.db.read() as tx:
        return int(await tx.fetchval("select count(*) from bank_statement_line"))
