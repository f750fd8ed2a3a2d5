"""A load goes on beside the service."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from almoner.adapters.registers_anbi import AnbiReader
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterImport, RegisterLink, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile
from almoner.platform.database.transactions import Tx
from tests.support.database import TestDatabase
from tests.support.service import serving
from tests.support.written_register import Loader, Written, entry


async def test_a_load_takes_one_processor_of_the_database(empty_database: TestDatabase, tmp_path: Path) -> None:
    file = tmp_path / "anbi.xml"
    file.write_text(
        "<a><beschikking><fiscaalNummer>123456782</fiscaalNummer><naam>Stichting A</naam></beschikking></a>"
    )
    helpers = []

    async def look(tx: Tx, _: RegisterImport) -> None:
        helpers.append(await tx.fetchval("show max_parallel_workers_per_gather"))

    async with serving(empty_database) as service:
        await registers_flows.import_files(service.db, AnbiReader(), [file], force=True, record_audit=look)
    assert helpers == ["0"]


@dataclass(frozen=True)
class Sorting(Written):
    """A format that works long before its first row, as one does whose tables have to be joined."""

    begun: threading.Event = field(default_factory=threading.Event)
    others_went_on: threading.Event = field(default_factory=threading.Event)

    def read(self, files: Sequence[SourceFile]) -> Iterator[RegisterEntry | RegisterLink | RejectedRow]:
        self.begun.set()
        assert self.others_went_on.wait(20), "nothing else was done meanwhile"
        yield from super().read(files)


async def test_others_have_their_turn_while_a_reader_works(empty_database: TestDatabase, tmp_path: Path) -> None:
    source = Sorting("ccew", "CCEW")

    async def another() -> None:
        await asyncio.to_thread(source.begun.wait, 20)
        source.others_went_on.set()

    async with serving(empty_database) as service, asyncio.TaskGroup() as group:
        group.create_task(another())
        load = await Loader(service.db, tmp_path).load(source, datetime(2026, 3, 9, tzinfo=UTC), entry("260001", "A"))
    assert load.rows == 1
