"""PgBouncer as Debian has it: session mode works, and a mode that cannot is refused in a sentence."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from almoner.platform.database.programs import OsAccount
from tests.support import running
from tests.support.debian_postgres import PASSWORD, DebianServer, debian_server, missing
from tests.support.deployed import Deployed
from tests.support.running import free_port

SAMPLE = Path(__file__).parents[2] / "deploy" / "pgbouncer" / "pgbouncer.ini"
ABSENT = missing("pgbouncer")
pytestmark = [pytest.mark.long, pytest.mark.skipif(ABSENT is not None, reason=ABSENT or "")]


@contextmanager
def pooled(folder: Path, server: DebianServer, **changes: str) -> Iterator[str]:
    """PgBouncer by the sample; the address of the database behind it."""
    port = free_port()
    sample = SAMPLE.read_text()
    changes |= {"port=5432": f"port={server.port}", "listen_port = 6432": f"listen_port = {port}"}
    changes |= {"/etc/pgbouncer/userlist.txt": str(folder / "userlist.txt"), "scram-sha-256": "plain"}
    for before, after in changes.items():
        assert before in sample
        sample = sample.replace(before, after)
    (folder / "pgbouncer.ini").write_text(sample + "unix_socket_dir =\n")
    (folder / "userlist.txt").write_text(
        "".join(f'"{role}" "{PASSWORD}"\n' for role in ("almoner_app", "almoner_owner"))
    )
    for file in folder.iterdir():
        file.chmod(0o755 if file.is_dir() else 0o644)
    with (folder / "pgbouncer.log").open("ab") as log:
        process = subprocess.Popen(
            ["pgbouncer", folder / "pgbouncer.ini"],
            stdout=log, stderr=log, **{**OsAccount.current().popen_arguments(), "env": {"PATH": "/usr/sbin:/usr/bin"}},
        )  # fmt: skip
    try:
        yield f"127.0.0.1:{port}"
        assert process.poll() is None, (folder / "pgbouncer.log").read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def deployed(folder: Path, server: DebianServer, place: str) -> Deployed:
    """Almoner with the pooler's address for its processes; migrations go to the database itself."""
    own = f"127.0.0.1:{server.port}"
    settings = {
        "rate_limit_secret": "1000/1000",
        "database_url": server.url("almoner_app").replace(own, place),
        "owner_database_url": server.url("almoner_owner"),
    }
    made = Deployed(folder, settings)
    made.command("migrate")
    return made


def test_session_mode_works() -> None:
    with (
        running.folder("pgbouncer") as folder,
        debian_server(folder / "database") as server,
        pooled(folder, server) as place,
    ):
        made = deployed(folder, server, place)
        key = made.partner_key()
        try:
            address = made.start("serve")
            worker = made.start("worker")
            with httpx.Client(base_url=address, headers={"Authorization": key}) as client:
                for number in range(200):
                    assert client.post("/v1/categories", json={"name": f"Category {number}"}).status_code == 200
                assert client.get("/v1/organisations?query=relief").status_code == 200
                assert "almoner_jobs_total" in httpx.get(f"{worker}/metrics").text
            assert '"failed"' not in made.command("check", "--json")
        finally:
            made.stop()


def test_transaction_mode_without_prepared_statements_is_refused_in_a_sentence() -> None:
    with (
        running.folder("pgbouncer") as folder,
        debian_server(folder / "database") as server,
        pooled(folder, server, **{"pool_mode = session": "pool_mode = transaction"}) as place,
    ):
        made = deployed(folder, server, place)
        for command in ("serve", "worker"):
            (said,) = made.command(command, fails=True).splitlines()
            assert "forgets prepared statements between transactions" in said
