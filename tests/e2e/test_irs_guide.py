"""The guide to the monthly files of the IRS: its commands are typed, and say what it says."""

from collections.abc import AsyncIterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tests.support import irs_month
from tests.support.database import TestDatabase
from tests.support.service import Service, serving
from tests.support.terminal import in_process, operator

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "irs-files.md").read_text("utf-8")
LISTS = {"pub78": "pub78.txt", "revocation": "revocations.txt", "epostcard": "notices_990n.txt"}


@pytest.fixture
async def alone(empty_database: TestDatabase) -> AsyncIterator[Service]:
    async with serving(empty_database) as service:
        yield service


def commands(heading: str) -> list[str]:
    """The commands of the first block below a heading."""
    block = GUIDE.partition(f"## {heading}\n")[2].split("```")[1]
    return [line for line in block.replace("\\\n", "").splitlines() if line]


def write_files(folder: Path) -> None:
    for day, file in (("2026-03-09", irs_month.march()), ("2026-04-13", irs_month.april())):
        (folder / day).mkdir()
        (folder / day / "eo_dc.csv").write_bytes(file.content)
    for name, excerpt in LISTS.items():
        with ZipFile(folder / "2026-04-13" / f"data-download-{name}.zip", "w", ZIP_DEFLATED) as zipped:
            zipped.write(ROOT / "tests" / "data" / "us_irs_lists" / excerpt, f"data-download-{name}.txt")


@pytest.mark.long
async def test_the_commands_of_the_guide_do_what_it_says(
    alone: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    typed = in_process(alone, tmp_path / "home", await operator(alone, "administrator"))
    stated: list[str] = []
    for command in (*commands("Compare months"), *commands("Import from a folder")[1:]):
        status, reported = await typed(*command.split()[1:])
        assert status == 0, reported
        stated.append(reported)
    shown = GUIDE.partition("## Compare months\n")[2].split("```")[3].splitlines()
    assert len(shown) > 10
    assert [line for line in shown if line not in "".join(stated)] == []
    assert "Loaded 22 rows of irs-revocations as of 2026-04-13" in "".join(stated)


async def test_addresses_and_files_of_the_guide_are_of_the_same_sources() -> None:
    by_address, from_folder = (
        [line.split()[3] for line in commands(name)] for name in ("Import from URLs", "Import from a folder")
    )
    assert by_address == from_folder == ["irs-bmf", "irs-pub78", "irs-revocations", "irs-990n"]
