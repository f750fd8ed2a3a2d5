"""The environment of a benchmark: a database with real data, partners with keys, and the servers to measure."""

import asyncio
import atexit
import gzip
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from uuid import UUID

import asyncpg
import psutil

import almoner
from almoner import migrations, settings, wiring
from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.cli import local
from almoner.kit.ids import new_id
from almoner.kit.time import SystemClock
from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.transactions import Database, Partner
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from bench.scale import BRIEF, FULL, Scale
from tests.support.running import free_port
from tests.support.servers import copied

PARTNERS = 10
LIST_ROWS = 100_000
ORGANISATIONS = 2_000
SAMPLE = sorted((Path(almoner.__file__).parent / "samples" / "us_irs_bmf").rglob("*.csv.gz"))
BEGINNING, BEGINNING_ROWS = "almoner-bench-2026-04-13-", 1_000
METADATA = '{"campaign": "winter"}'
NO_LIMIT = "900000/900000"


@dataclass(slots=True)
class Stage:
    """What a run needs."""

    settings: Settings
    database_pid: int
    database_version: str
    keys: list[str] = field(default_factory=list)
    partner_ids: list[UUID] = field(default_factory=list)
    organisations: list[str] = field(default_factory=list)
    donations: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for the service and the baselines."""
        known = {key: str(partner) for key, partner in zip(self.keys, self.partner_ids, strict=True)}
        master_key = self.settings.master_key
        assert master_key is not None
        return {
            "ALMONER_DATABASE_URL": self.settings.dsn,
            "ALMONER_OWNER_DATABASE_URL": self.settings.owner_dsn,
            "ALMONER_MASTER_KEY": master_key.get_secret_value(),
            "ALMONER_DATA_DIR": str(self.settings.data_dir),
            "ALMONER_RATE_LIMIT_SECRET": NO_LIMIT,
            "ALMONER_RATE_LIMIT_PUBLISHABLE": NO_LIMIT,
            "ALMONER_RATE_LIMIT_ADDRESS": NO_LIMIT,
            "BENCH_DSN": self.settings.dsn,
            "BENCH_PARTNERS": json.dumps(known),
        }


@cache
def _template() -> Path:
    """The files of a migrated, empty database whose server has stopped; no service has claimed it."""
    folder = Path(tempfile.mkdtemp(prefix="almoner-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)  # PostgreSQL's account must reach it if root measures
    with local.settings_with_embedded_database(settings.read_settings(data_dir=folder)) as complete:
        migrations.migrate(complete.owner_dsn)
    return folder


@contextmanager
def database() -> Iterator[Settings]:
    """A migrated, empty database on a server of its own."""
    folder = Path(tempfile.mkdtemp(prefix="almoner-bench-"))
    folder.chmod(0o755)
    try:
        with local.settings_with_embedded_database(
            settings.read_settings(data_dir=copied(_template(), folder / "var"))
        ) as complete:
            yield complete
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sample(scale: Scale) -> Iterator[list[Path]]:
    """The files of the shipped register sample, or in brief the first rows of each."""
    if scale is not BRIEF:
        yield SAMPLE
        return
    with tempfile.TemporaryDirectory(prefix=BEGINNING) as folder:
        yield [_beginning(path, Path(folder)) for path in SAMPLE]


def _beginning(path: Path, folder: Path) -> Path:
    made = folder / path.name.removesuffix(".gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        made.write_text("".join(islice(file, BEGINNING_ROWS)), encoding="utf-8")
    return made


@contextmanager
def staged(scale: Scale = FULL) -> Iterator[Stage]:
    """An embedded server in its own folder, migrated and filled."""
    with database() as complete, sample(scale) as files:
        yield asyncio.run(_fill(complete, scale.rows(LIST_ROWS), files))


async def _fill(complete: Settings, rows: int, files: Sequence[Path]) -> Stage:
    services = await wiring.build_services(complete)
    try:
        async with services.db.read() as tx:
            version = str(await tx.fetchval("show server_version")).split()[0]
            backend = int(await tx.fetchval("select pg_backend_pid()"))
        stage = Stage(complete, psutil.Process(backend).ppid(), version)
        await _partners(services.db, stage)
        await _organisations(services.db, stage, files)
        await _donations(services.db, stage, rows)
        return stage
    finally:
        await services.close()


async def _partners(db: Database, stage: Stage) -> None:
    async with db.write() as tx:
        for number in range(PARTNERS):
            account = await partners.create(tx, f"Partner {number}")
            _, secret = await keys.create(tx, Partner(account.id), "secret", "bench")
            stage.partner_ids.append(account.id)
            stage.keys.append(secret)


async def _organisations(db: Database, stage: Stage, files: Sequence[Path]) -> None:
    """Import the shipped register sample; its nonprofits receive donations and are searched for."""
    await registers_flows.import_files(db, REGISTER_SOURCES["irs-bmf"], files)
    async with db.read() as tx:
        rows = await tx.fetch("select id, name from organisation where 'nonprofit' = any(types) order by id")
        for row in random.Random(20261121).sample(rows, min(ORGANISATIONS, len(rows))):
            stage.organisations.append(tx.ids.encode("organisation", row["id"]))
            stage.names.append(row["name"])


async def _donations(db: Database, stage: Stage, rows: int) -> None:
    """Create a partner's donations of the last hours, each with its own session."""
    pick = random.Random(7)
    owner = stage.partner_ids[0]
    ids = db.deployment.ids
    organisation = ids.decode("organisation", stage.organisations[0])
    start = SystemClock().now() - timedelta(hours=10)
    sessions, gifts = [], []
    for number in range(rows):
        at = start + timedelta(milliseconds=300 * number)
        session, gift = new_id(at), new_id(at)
        common = (owner, organisation)
        sessions.append((session, *common, "open", METADATA, at, at + timedelta(hours=24), at))
        donor = ("Ada", "Byron", f"donor{number}@example.org", True, False, METADATA)
        amount = pick.randrange(100, 100_000)
        gifts.append((gift, *common, "hosted", session, "REQUESTED_PAYMENT", amount, "USD", *donor, at, at))
        if number % 100 == 0:
            stage.donations.append(ids.encode("donation", gift))
    connection = await asyncpg.connect(stage.settings.dsn)  # COPY needs jsonb in its binary form
    columns = "id partner_id organisation_id status metadata created_at expires_at status_changed_at"
    await connection.copy_records_to_table("donation_session", records=sessions, columns=columns.split())
    columns = (
        "id partner_id organisation_id type session_id status amount_minor currency first_name last_name email "
        "consented anonymous metadata created_at status_changed_at"
    )
    await connection.copy_records_to_table("donation", records=gifts, columns=columns.split())
    await connection.execute(
        """
        insert into list_counter (partner_id, list, slot, records)
        select p.id, l.name, s, case when p.id = $1 and s = 0 then $2 else 0 end
        from partner p, (values ('donation'), ('donation_session')) l (name), generate_series(0, 15) s
        """,
        owner,
        rows,
    )
    await connection.close()


@dataclass(frozen=True, slots=True)
class Variant:
    """One running server to measure."""

    name: str
    port: int
    pid: int
    log: Path


@contextmanager
def server(stage: Stage, name: str, *command: str) -> Iterator[Variant]:
    """A server process; ``{port}`` in its command and in ALMONER_PORT is a free port."""
    port = free_port()
    log = stage.settings.data_dir / f"{name.replace(' ', '-')}.log"
    with process(stage, log, *(word.format(port=port) for word in command), ALMONER_PORT=str(port)) as running:
        _wait(lambda: _answers(port), running, log)
        yield Variant(name, port, running.pid, log)


@contextmanager
def process(stage: Stage, log: Path, *command: str, **variables: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A Python process with the stage's environment, stopped with the block."""
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    environment = {**stored, **stage.environment, **variables}
    with log.open("wb") as output:
        running = subprocess.Popen(
            [sys.executable, *command], env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield running
    finally:
        running.terminate()
        running.wait(30)


def _wait(ready: Callable[[], bool], running: "subprocess.Popen[bytes]", log: Path) -> None:
    ends = time.monotonic() + 60
    while not ready():
        if running.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"a server does not answer:\n{log.read_text()[-3000:]}")
        time.sleep(0.05)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: -\r\nConnection: close\r\n\r\n"
            )
            return connection.recv(12).startswith(b"HTTP/1.1")
    except OSError:
        return False
