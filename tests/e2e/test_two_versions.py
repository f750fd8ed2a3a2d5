"""Two versions of the code over one database (spec 11).

The next one migrates it under load, and the former goes on; and the last release works over this version's.
"""

import asyncio
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

import almoner
from almoner.migrations import REVISIONS
from tests.support import cluster
from tests.support.database import TestDatabase
from tests.support.deployed import Deployed
from tests.support.factories import nonprofit
from tests.support.releases import Release, export_source, is_in_clone, releases
from tests.support.running import folder, running
from tests.support.service import Service, serving

NEXT: Final = {
    "column": "alter table partner add column next_note text",
    "check": "alter table partner add constraint next_note_length check (char_length(next_note) < 99) not valid; "
    "alter table partner validate constraint next_note_length",
    "table": "create table next_thing (id uuid primary key); grant select, insert on next_thing to almoner_app",
    "index": "create index concurrently next_session_note on donation_session (created_at)",
    "backfill": "update partner set next_note = name where next_note is null",
}
"""A revision of each kind, in the next version."""
PAUSE: Final = 0.05
"""Seconds between requests: what counts is that one falls into each step of a migration."""


def write_next_version(place: Path) -> None:
    """This code with a revision of each kind behind its newest, and what of it is compiled."""
    shutil.copytree(Path(almoner.__file__).parent, place / "almoner")
    before = REVISIONS[-1]
    for number, (kind, sql) in enumerate(NEXT.items(), len(REVISIONS) + 1):
        revision = f"r{number:04}"
        run = f"op.execute({sql!r})"
        if kind == "index":  # a migration that was ended may have left it
            drop = "op.execute('drop index concurrently if exists next_session_note')"
            run = f"with op.get_context().autocommit_block():\n        {drop}\n        {run}"
        (place / "almoner" / "migrations" / "versions" / f"{revision}_{kind}.py").write_text(
            f'"""Next: {kind}."""\nfrom alembic import op\n\nrevision = {revision!r}\n'
            f"down_revision = {before!r}\n\n\ndef upgrade():\n    {run}\n"
        )
        before = revision


def migrate_to_next(place: Path, here: Deployed) -> "subprocess.Popen[str]":
    """`almoner migrate` of the next version over the same database."""
    given = here.environment | {"PYTHONPATH": str(place)}
    command = [sys.executable, "-m", "almoner", "migrate"]
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place)


@contextmanager
def load(address: str, key: str, organisation: str) -> Iterator["Counter[int]"]:
    """Sessions made one after the other, and readiness asked for, until the block ends: counts by status."""
    counts: Counter[int] = Counter()
    over = threading.Event()
    body = {"organisationId": organisation}
    with httpx.Client(base_url=address, headers={"Authorization": key}, timeout=30) as http:

        def ask() -> None:
            while not over.wait(PAUSE):
                counts[http.post("/v1/donation-sessions", json=body).status_code] += 1
                counts[http.get("/readyz").status_code] += 1

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            yield counts
        finally:
            over.set()
            asking.join()


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, which only makes records."""
    async with serving(empty_database) as made:
        yield made


@pytest.fixture
def former(service: Service, tmp_path: Path) -> Iterator[Deployed]:
    """This version, deployed over the database of the service."""
    given = {"database_url": service.database.dsn, "owner_database_url": service.database.owner_dsn}
    given |= {"master_key": service.master_key, "rate_limit_secret": "10000/10000"}
    (tmp_path / "former").mkdir()
    made = Deployed(tmp_path / "former", given)
    yield made
    made.stop()


async def test_the_former_version_goes_on_over_the_next_ones_database(
    service: Service, former: Deployed, tmp_path: Path
) -> None:
    write_next_version(tmp_path)
    key, organisation = (await service.tenant()).secret, await nonprofit(service)
    await asyncio.to_thread(migrate_under_load, former, tmp_path, key, organisation)


def migrate_under_load(former: Deployed, next_version: Path, key: str, organisation: str) -> None:
    with load(former.start("serve"), key, organisation) as counts:
        # Ended while it migrates, wherever that is, and run again.
        ended = migrate_to_next(next_version, former)
        assert ended.stdout is not None
        assert ended.stdout.readline().startswith("applied")
        ended.send_signal(signal.SIGKILL)
        ended.wait()
        ended.stdout.close()
        again = migrate_to_next(next_version, former)
        printed, _ = again.communicate(timeout=120)
        assert again.returncode == 0, printed
    assert set(counts) == {200}, counts
    assert counts.total() > 20
    former.stop()
    former.start("serve")  # the former starts again


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder in memory for the embedded server."""
    with folder("versions", cluster.MEMORY if cluster.MEMORY.is_dir() else None) as made:
        yield made / "var"


@pytest.mark.long
@pytest.mark.parametrize("release", [one for one in releases()[:1] if one.commit], ids=lambda one: one.version)
def test_the_last_release_and_this_version_work_over_one_database(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Release
) -> None:
    """It makes the database, this version migrates it, and it goes back."""
    assert is_in_clone(release)
    released = str(export_source(release, tmp_path))
    made: list[str] = []
    for place in (released, str(Path(almoner.__file__).parents[1]), released):
        monkeypatch.setenv("PYTHONPATH", place)
        where = subprocess.check_output([sys.executable, "-c", "import almoner; print(almoner.__file__)"], text=True)
        assert where.startswith(place)
        with running(data) as here, httpx.Client(headers={"Authorization": here.secret_key}) as http:
            sessions = f"{here.base_url}/v1/donation-sessions"
            found = http.get(f"{here.base_url}/v1/organisations", params={"query": "martha table"}).json()
            answer = http.post(sessions, json={"organisationId": found["data"][0]["id"]})
            assert answer.status_code == 200, answer.text
            made.append(answer.json()["data"]["id"])
            assert [http.get(f"{sessions}/{one}").status_code for one in made] == [200] * len(made)
            assert http.get(f"{here.base_url}/readyz").status_code == 200
