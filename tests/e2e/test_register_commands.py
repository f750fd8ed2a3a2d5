"""``almoner registers`` as it is typed: how sources stand, what differs, what waits in quarantine, what is undone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.bmf import bodies, body, write
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.terminal import Type, in_process, operator

ROWS = bodies(30)


@pytest.fixture
async def alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        yield service


@pytest.fixture
async def typed(alone: Service, tmp_path: Path) -> Type:
    return in_process(alone, tmp_path, await operator(alone, "administrator"))


def line(printed: str, word: str) -> list[str]:
    """The words of the line that begins with a word."""
    return next(line.split() for line in printed.splitlines() if line.split()[:1] == [word])


async def test_a_month_at_the_terminal(typed: Type, tmp_path: Path) -> None:
    first = write(tmp_path / "2026-03-09.csv", [body("111111111", "OLD FUND"), *ROWS])
    second = write(
        tmp_path / "2026-04-13.csv", [body("111111111", "NEW FUND"), *ROWS[1:], body("222222222", "LATE FUND")]
    )
    for file in (first, second):
        status, printed = await typed("registers", "import", "irs-bmf", str(file))
        assert status == 0, printed
    days = ("2026-03-09", "2026-04-13", "--source", "irs-bmf", "--rows", "5")
    status, printed = await typed("registers", "diff", *days)
    assert status == 0, printed
    assert [line(printed, word)[1] for word in ("added", "removed", "changed", "name")] == ["1", "1", "1", "1"]
    assert "OLD FUND -> NEW FUND" in printed
    status, printed = await typed("registers", "status")
    assert line(printed, "irs-bmf")[1:3] == ["IRS", "2026-04-13"]
    status, printed = await typed("registers", "rollback", "irs-bmf")
    assert (status, "now as of 2026-03-09" in printed) == (0, True), printed
    status, printed = await typed("registers", "list")
    assert "rolled_back" in printed
    assert "rolls back" in printed
    newest, *_ = [row.split()[0] for row in printed.splitlines() if "irs-bmf" in row]
    assert (await typed("registers", "diff", newest, newest))[0] == 0
    status, printed = await typed("registers", "diff", "yesterday", newest)
    assert (status, "is not an import ID or a date" in printed) == (1, True), printed


async def test_what_is_put_aside_ends_with_status_one_and_says_what_to_do(typed: Type, tmp_path: Path) -> None:
    await typed("registers", "import", "irs-bmf", str(write(tmp_path / "2026-03-09.csv", ROWS)))
    cut = write(tmp_path / "2026-04-13.csv", ROWS[:10])
    status, printed = await typed("registers", "import", "irs-bmf", str(cut))
    assert status == 1
    assert "what was loaded before stays" in printed
    assert "--force" in printed
    status, printed = await typed("registers", "status")
    assert (status, "In quarantine since" in printed, "the register shrank" in printed) == (0, True, True), printed
    assert (await typed("registers", "import", "irs-bmf", str(cut), "--force"))[0] == 0
    assert "In quarantine" not in (await typed("registers", "status"))[1]
