"""A load goes on beside the service."""

from pathlib import Path

from almoner.adapters.registers_anbi import Anbi
from almoner.nonprofits.registers import flows
from almoner.nonprofits.registers.domain import Load
from almoner.platform.db import Tx
from tests.support.database import TestDatabase
from tests.support.service import serving


async def test_a_load_takes_one_processor_of_the_database(empty_database: TestDatabase, tmp_path: Path) -> None:
    file = tmp_path / "anbi.xml"
    file.write_text(
        "<a><beschikking><fiscaalNummer>123456782</fiscaalNummer><naam>Stichting A</naam></beschikking></a>"
    )
    helpers = []

    async def look(tx: Tx, _: Load) -> None:
        helpers.append(await tx.fetchval("show max_parallel_workers_per_gather"))

    async with serving(empty_database) as service:
        await flows.import_files(service.db, Anbi(), [file], force=True, record=look)
    assert helpers == ["0"]
