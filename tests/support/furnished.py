"""An embedded database with a small register: without one `almoner run` loads its samples, most of a first start."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from almoner import migrations, wiring
from almoner.cli import local
from almoner.settings import Settings, read_settings
from tests.support.written_register import Loader, Written, entry


def furnish(data_dir: Path, *names: str) -> None:
    """Create the database of a data folder, with nonprofits of the United States with these names."""
    with local.settings_with_embedded_database(read_settings(data_dir=data_dir)) as complete:
        migrations.migrate(complete.owner_dsn)
        asyncio.run(_load(complete, data_dir, names))


async def _load(complete: Settings, folder: Path, names: Sequence[str]) -> None:
    services = await wiring.build_services(complete)
    try:
        rows = [entry(f"99{number:07}", name, city="Casper", state="WY") for number, name in enumerate(names)]
        await Loader(services.db, folder).load(Written("tests", "IRS"), datetime(2026, 1, 1, tzinfo=UTC), *rows)
    finally:
        await services.close()
