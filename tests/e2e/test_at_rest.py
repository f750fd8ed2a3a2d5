"""What one server and one worker hold in memory before anybody has asked for anything."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import free_port

MOST_MEMORY = 92 * 2**20
"""Of its own: what it maps of libraries is shared, and more or less of it is in memory."""
ON_USE = frozenset(
    {
        "PIL", "authlib", "dns", "joserfc", "lxml", "numpy", "openpyxl", "pikepdf", "publicsuffixlist.psl",
        "requests", "scim2_models", "scim2_server", "segno", "sqlalchemy", "stripe", "typst", "webauthn",
    }
)  # fmt: skip
"""Libraries that are loaded by the first who needs them, or in a child (decision 0044)."""
OWN_ON_USE = ("almoner.adapters.registers_", "almoner.adapters.watchlist_", "almoner.scim.application")

TELLING = """
import ctypes, sys, threading, time
from pathlib import Path

def tell(asked, told):
    while not asked.exists():
        time.sleep(0.05)
    ctypes.CDLL(None).malloc_trim(0)  # as the process itself does every minute
    memory = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "RssAnon" in line)
    part = told.with_suffix(".part")
    part.write_text("\\n".join([memory, *sorted(sys.modules)]))
    part.rename(told)

threading.Thread(target=tell, args=(Path(sys.argv.pop(1)), Path(sys.argv.pop(1)) ), daemon=True).start()
from almoner.cli.terminal import main
main()
"""
"""The command itself, beside a thread that says what it has loaded when it is asked."""

ALIVE = "select count(*) from process where role = $1 and last_seen_at > started_at"


@pytest.mark.parametrize(("command", "role"), [("serve", "server"), ("worker", "worker")])
async def test_a_process_at_rest_is_small_and_has_loaded_nothing_that_it_may_never_need(
    empty_database: TestDatabase, tmp_path: Path, command: str, role: str
) -> None:
    process, asked, reported, log = started(empty_database, tmp_path, command)
    connection = await asyncpg.connect(empty_database.owner_dsn)

    async def alive() -> bool:
        if process.poll() is not None:
            pytest.fail(log.read_text())
        return bool(await connection.fetchval(ALIVE, role))

    try:
        await eventually(alive, within=60)
        asked.touch()
        await eventually(reported.exists)
    finally:
        await connection.close()
        process.terminate()
        process.wait(30)
    memory, *modules = reported.read_text().split()
    loaded = {module for module in modules if module in ON_USE or module.startswith(OWN_ON_USE)}
    assert not loaded
    assert role == "worker" or "obstore" not in modules, "a worker sees now and then whether documents are still there"
    assert int(memory) * 1024 < MOST_MEMORY


def started(database: TestDatabase, folder: Path, command: str) -> tuple["subprocess.Popen[bytes]", Path, Path, Path]:
    """The process; a file whose coming asks it, one in which it answers, and what it prints."""
    settings = {
        "database_url": database.dsn,
        "master_key": base64.b64encode(os.urandom(32)).decode(),
        "data_dir": str(folder),
        "port": str(free_port()),
    }
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    environment = {**stored, **{f"ALMONER_{name.upper()}": value for name, value in settings.items()}}
    asked, reported, log = folder / "asked", folder / "told", folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", TELLING, asked, reported, command],
            env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=output,
            stderr=output,
        )
    return process, asked, reported, log
