"""Two versions of the code over one database (spec 11).

The next one migrates it under load, and the former goes on; and the last release works over this version's.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

import almoner
from almoner.migrations import REVISIONS
from tests.support import cluster
from tests.support.releases import Release, export_source, releases
from tests.support.running import Running, folder, free_port, running

NEXT: Final = {
    "column": "alter table partner add column next_note text",
    "check": "alter table partner add constraint next_note_length check (char_length(next_note) < 99) not valid; "
    "alter table partner validate constraint next_note_length",
    "table": "create table next_thing (id uuid primary key); grant select, insert on next_thing to almoner_app",
    "index": "create index concurrently next_session_note on donation_session (created_at)",
    "backfill": "update partner set next_note = name where next_note is null",
}
"""A revision of each kind, in the next version."""


def write_next_version(place: Path) -> None:
    """This code with a revision of each kind behind its newest."""
    shutil.copytree(Path(almoner.__file__).parent, place / "almoner", ignore=shutil.ignore_patterns("__pycache__"))
    before = REVISIONS[-1]
    for number, (kind, sql) in enumerate(NEXT.items(), len(REVISIONS) + 1):
        revision = f"r{number:04}"
        run = f"op.execute({sql!r})"
        if "concurrently" in sql:
            run = f"with op.get_context().autocommit_block():\n        {run}"
        (place / "almoner" / "migrations" / "versions" / f"{revision}_{kind}.py").write_text(
            f'"""Next: {kind}."""\nfrom alembic import op\n\nrevision = {revision!r}\n'
            f"down_revision = {before!r}\n\n\ndef upgrade():\n    {run}\n"
        )
        before = revision


def next_version(place: Path, here: Path, *words: str, port: int = 0) -> "subprocess.Popen[str]":
    """A command of the next version over the same data folder."""
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    given = {"PYTHONPATH": str(place), "ALMONER_DATA_DIR": str(here), "ALMONER_PORT": str(port or free_port())}
    command = [sys.executable, "-m", "almoner", *words]
    return subprocess.Popen(
        command, env=stored | given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place
    )


@contextmanager
def load(here: Running) -> Iterator["Counter[int]"]:
    """Sessions made one after the other, and readiness asked for, until the block ends: counts by status."""
    counts: Counter[int] = Counter()
    over = threading.Event()
    with httpx.Client(base_url=here.base_url, headers={"Authorization": here.secret_key}) as http:
        found = http.get("/v1/organisations", params={"query": "martha table", "countryCode": "USA"}).json()
        body = {"organisationId": found["data"][0]["id"]}

        def ask() -> None:
            while not over.is_set():
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
def data() -> Iterator[Path]:
    """A folder in memory for the embedded server."""
    with folder("versions", cluster.MEMORY if cluster.MEMORY.is_dir() else None) as made:
        yield made / "var"


def test_the_former_version_goes_on_over_the_next_ones_database(data: Path, tmp_path: Path) -> None:
    write_next_version(tmp_path)
    with running(data, rate_limit_secret="10000/10000") as here:
        with load(here) as counts:
            # Ended while it migrates, wherever that is, and run again.
            ended = next_version(tmp_path, data, "migrate")
            assert ended.stdout is not None
            ended.stdout.readline()
            ended.send_signal(signal.SIGKILL)
            ended.wait()
            ended.stdout.close()
            again = next_version(tmp_path, data, "migrate")
            printed, _ = again.communicate(timeout=120)
            assert again.returncode == 0, printed
        assert set(counts) == {200}, counts
        assert counts.total() > 20
    with running(data) as here, httpx.Client(base_url=here.base_url) as http:  # the former starts again
        assert http.get("/readyz").status_code == 200


@pytest.mark.long
@pytest.mark.parametrize("release", [one for one in releases()[:1] if one.commit], ids=lambda one: one.version)
def test_the_last_release_and_this_version_work_over_one_database(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Release
) -> None:
    """It makes the database, this version migrates it, and it goes back."""
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
