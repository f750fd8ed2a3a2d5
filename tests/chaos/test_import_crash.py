"""An import that is killed goes on where it was when it is typed again, and half of it is never seen."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from almoner.adapters.registers_ccew import CcewReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterImport
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.platform.database.transactions import Tx
from tests.support.bmf import bodies, write
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.service import Service, serving
from tests.support.uk_registers import ccew_text, charity, said

ROWS = 30_000


class Watched(IrsBmfReader):
    """Notes which files are read."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """As the reader does."""
        self.names += [file.name for file in files]
        return super().read(files)


@pytest.fixture
async def alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    async with serving(empty_database) as service:
        yield service


async def begin(service: Service, home: Path, folder: Path) -> asyncio.subprocess.Process:
    """The command, in a process of its own."""
    key = service.services.settings.master_key
    assert key is not None
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    given = {
        "ALMONER_DATABASE_URL": service.database.dsn,
        "ALMONER_MASTER_KEY": key.get_secret_value(),
        "ALMONER_ENVIRONMENT": "sandbox",
        "ALMONER_DATA_DIR": str(home),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = (sys.executable, "-m", "almoner", "registers", "import", "irs-bmf", str(folder))
    return await asyncio.create_subprocess_exec(*command, env={**stored, **given}, stdout=asyncio.subprocess.DEVNULL)


async def test_a_killed_import_goes_on_with_the_file_that_was_not_read(alone: Service, tmp_path: Path) -> None:
    folder = tmp_path / "2026-04-13"
    folder.mkdir()
    write(folder / "eo_ak.csv", bodies(50, start=300_000_000, state="AK"))
    write(folder / "eo_wy.csv", bodies(ROWS))
    running = await begin(alone, tmp_path, folder)

    async def one_is_read() -> bool:
        async with alone.db.read() as tx:
            return bool(await tx.fetchval("select count(*) = 1 from register_reading_file"))

    await eventually(one_is_read, within=60)
    os.kill(running.pid, signal.SIGKILL)
    assert await running.wait() == -signal.SIGKILL
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from organisation") == 0
        assert await tx.fetchval("select count(*) from register_load") == 0
        reading = await tx.fetchval("select id from register_reading")
    source = Watched()
    made = await registers_flows.import_files(alone.db, source, [folder])
    assert (made.rows, source.names) == (ROWS + 50, ["eo_wy.csv"])
    assert reading is not None
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from register_reading") == 0
        assert await tx.fetchval("select count(*) from register_entry") == ROWS + 50


async def test_tables_that_are_read_at_once_are_read_once(alone: Service, tmp_path: Path) -> None:
    """Their bad rows bear the place of the table that they stand in."""
    gone = said(1, event_type="Removed", date_of_event="no day")
    for file in (ccew_text("charity", [charity()]), ccew_text("charity_event_history", [gone])):
        (tmp_path / file.name).write_bytes(file.content)

    async def stopped(_tx: Tx, _load: RegisterImport) -> None:
        raise RuntimeError("stopped")

    staged = []
    for _ in range(2):
        with pytest.raises(RuntimeError, match="stopped"):
            await registers_flows.import_files(alone.db, CcewReader(), [tmp_path], force=True, record_audit=stopped)
        async with alone.db.read() as tx:
            reading = await tx.fetchval("select id from register_reading")
            staged.append(await tx.fetchval(f"select count(*) from register_staged_{reading.hex}"))
    made = await registers_flows.import_files(alone.db, CcewReader(), [tmp_path], force=True)
    assert made.rows + made.quarantined + len(made.notes) == staged[0]
    assert staged[0] == staged[1]


async def test_rows_that_a_crash_of_the_server_took_are_read_again(alone: Service, tmp_path: Path) -> None:
    first = write(tmp_path / "2026-04-13 a.csv", bodies(30, start=300_000_000, state="AK"))
    second = write(tmp_path / "2026-04-13 b.csv", bodies(30))

    class Stopped(Watched):
        def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
            if files[0].name == second.name:
                raise RuntimeError("stopped")
            return super().read(files)

    with pytest.raises(RuntimeError, match="stopped"):
        await registers_flows.import_files(alone.db, Stopped(), [first, second])
    async with alone.db.write() as tx:
        reading = await tx.fetchval("select id from register_reading")
        await tx.execute(f"delete from register_staged_{reading.hex}")  # as an unlogged table is after a crash
    source = Watched()
    made = await registers_flows.import_files(alone.db, source, [first, second])
    assert (made.rows, source.names) == (60, [first.name, second.name])
