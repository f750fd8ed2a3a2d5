"""Backups by the book: made and restored by the scripts of ``deploy/backup``, to a point in time, released as said."""

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from pwd import getpwuid
from subprocess import Popen
from subprocess import run as run_program

import httpx
import pytest
from PIL import Image

from almoner.platform.database.programs import OsAccount
from tests.support import running
from tests.support.debian_postgres import PASSWORD, PROGRAMS, DebianServer, as_account, debian_server, missing, until
from tests.support.deployed import KEY, Deployed
from tests.support.running import free_port

DEPLOY = Path(__file__).parents[2] / "deploy" / "backup"
BOOK = Path(__file__).parents[2] / "docs" / "runbooks" / "backup.md"
ABSENT = missing("pgbackrest", "rclone", "openssl", "npm")
OBJECT_STORE = Path(__file__).parent / "object_store"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER", "AWS_REGION": "us-east-1"}
pytestmark = [pytest.mark.long, pytest.mark.skipif(ABSENT is not None, reason=ABSENT or "")]


def picture(name: str) -> bytes:
    """Another one for each name."""
    file = BytesIO()
    Image.frombytes("L", (8, len(name)), name.encode() * 8).save(file, "PNG")
    return file.getvalue()


@dataclass
class Book:
    """A machine with the settings of the scripts."""

    folder: Path
    server: DebianServer
    deployed: Deployed
    store: str
    """Its documents, as rclone names them."""
    key: str = ""
    barman: str = ""
    """Words before a command of Barman."""

    def use_barman(self) -> Callable[..., str]:
        """Barman's sample on places of this test; its commands, and what they print."""
        home, sample = self.folder / "barman", (DEPLOY / "barman.conf").read_text()
        home.mkdir()
        OsAccount.current().chown(home)
        self.server.sql("create role barman login superuser")
        socket = f"host={self.server.data.parent} port={self.server.port}"
        general = {"barman_user": getpwuid(OsAccount.current().uid).pw_name, "barman_home": home}
        general |= {"log_file": home / "log", "barman_lock_directory": home}
        configured = home / "barman.conf"
        lines = "".join(f"{name} = {value}\n" for name, value in general.items())
        configured.write_text(f"[barman]\n{lines}{sample.replace('host=/var/run/postgresql', socket)}")
        with (self.folder / "backup.env").open("a") as settings:
            settings.write(f"PGDATA={self.server.data}\nPREPARED={home}/restored\n")
        command = [*as_account(), "barman", "-c", str(configured)]
        self.barman = " ".join(command)

        def run(*words: str, fails: bool = True) -> str:
            done = run_program([*command, *words], capture_output=True, text=True, check=False, cwd="/", timeout=120)
            assert done.returncode == 0 or not fails, done.stdout + done.stderr
            return done.stdout

        return run

    def script(self, name: str, *words: str) -> str:
        """Run one; the last line of what it said."""
        environment = {**self.deployed.environment, "ALMONER_BACKUP_ENV": str(self.folder / "backup.env")}
        environment["PATH"] = f"{PROGRAMS}:{environment['PATH']}"
        environment["PGBACKREST"] = " ".join([*as_account(), "pgbackrest", f"--config={self.folder}/pgbackrest.conf"])
        environment["BARMAN"] = self.barman
        done = run_program(
            [DEPLOY / name, *words], env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return (done.stdout.strip().splitlines() or [""])[-1]

    def write(self, name: str) -> str:
        """A record and a document; the document's id."""
        address = self.deployed.start("serve")
        headers = {"Authorization": self.key}
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            made = client.post("/v1/categories", json={"name": name})
            assert made.status_code == 200, made.text
            files = {"file": ("letter.png", picture(name), "image/png")}
            invite = client.post("/v1/validation-invites", json={}).json()["data"]["id"]
            given = {"type": "validation_request", "validationInviteId": invite}
            stored = client.post("/v1/validation-submission-documents", files=files, data=given)
            assert stored.status_code == 200, stored.text
        self.deployed.stop()
        return str(stored.json()["data"]["id"])

    def names(self) -> list[str]:
        """The records that there are."""
        address = self.deployed.start("serve")
        with httpx.Client(base_url=address, headers={"Authorization": self.key}, timeout=30) as client:
            page = (client.get("/v1/categories")).json()
            notice = (client.get("/readyz")).json()
        self.deployed.stop()
        assert "unreleasedCopy" not in notice
        return sorted(re.findall(r'"name": ?"(Record \d)"', str(page).replace("'", '"')))

    def documents(self) -> dict[str, str]:
        """Files of documents and their sums, besides what deployments say of themselves."""
        listed = ["rclone", "md5sum", self.store, "--download"]
        done = run_program(listed, env=self.deployed.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = (line.split(maxsplit=1) for line in done.stdout.splitlines())
        return {path: digest for digest, path in found if not path.startswith("marks/")}


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """An object store with a bucket for documents: its address."""
    shutil.copytree(OBJECT_STORE, folder / "store")
    run_program(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder / "store", check=True)
    port = free_port()
    words = f"s3rver -s -d buckets -a 127.0.0.1 -p {port} --configure-bucket documents".split()
    (folder / "store" / "buckets").mkdir()
    with Popen([f"node_modules/.bin/{words[0]}", *words[1:]], cwd=folder / "store") as server:
        for _ in range(100):
            if (
                run_program(["curl", "-s", f"http://127.0.0.1:{port}/"], capture_output=True, check=False).returncode
                == 0
            ):
                break
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


@contextmanager
def book(folder: Path, *, archive: bool, endpoint: str | None = None) -> Iterator[Book]:
    """A deployment in its first state, with the samples of ``deploy/backup`` on places of this test.

    ``endpoint``: of the object store that has its documents, a folder where it is None.
    """
    store = str(folder / "documents")
    if endpoint is not None:
        store = f":s3,provider=Other,env_auth=true,endpoint='{endpoint}':documents/almoner"
    (folder / "database").mkdir()
    configured = folder / "pgbackrest.conf"
    push = (
        f"archive_command=pgbackrest --config={configured} --stanza=almoner archive-push %p",
        "archive_mode=on",
        "archive_timeout=60",
    )
    with debian_server(folder / "database", *(push if archive else ())) as server:
        account = OsAccount.current()
        repository = folder / "repository"
        repository.mkdir()
        sample = (DEPLOY / "pgbackrest.conf").read_text()
        places = {"/var/lib/pgbackrest": str(repository), "/var/lib/postgresql/15/main": str(server.data)}
        for before, after in places.items():
            sample = sample.replace(before, after)
        own = f"pg1-port={server.port}\npg1-socket-path={server.data.parent}\npg1-user=postgres\n"
        paths = f"log-path={repository}\nlock-path={repository}/lock\nspool-path={repository}/spool\n"
        configured.write_text(sample.replace("[almoner]", f"{paths}\n[almoner]") + own)
        for one in (repository, configured):
            account.chown(one)
        environment = (DEPLOY / "backup.env").read_text()
        for before, after in {
            "/var/backups/almoner": str(folder / "backups"),
            "/var/lib/almoner/documents": f'"{store}"',
            "/etc/almoner/backup-cert.pem": str(folder / "backup-cert.pem"),
            "SETTINGS=/etc/almoner": f"SETTINGS={folder}/settings",
            "almoner_owner:CHANGE-ME@127.0.0.1:5432": f"almoner_owner:{PASSWORD}@127.0.0.1:{server.port}",
        }.items():
            assert before in environment
            environment = environment.replace(before, after)
        (folder / "backup.env").write_text(environment)
        settings = {
            "database_url": server.url("almoner_app"),
            "owner_database_url": server.url("almoner_owner"),
            "documents_url": str(folder / "documents"),
        }
        if endpoint is not None:
            settings |= {"documents_url": "s3://documents/almoner", "documents_endpoint": endpoint}
        made = Book(folder, server, Deployed(folder, settings, CREDENTIALS), store)
        made.deployed.command("migrate")
        made.key = made.deployed.partner_key()
        try:
            yield made
        finally:
            made.deployed.stop()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where PostgreSQL's account gets to."""
    with running.folder("backups") as made:
        yield made


def test_a_base_backup_is_restored_to_a_point_in_time(folder: Path) -> None:
    with book(folder, archive=True) as made:
        made.write("Record 1")
        command = [*as_account(), "pgbackrest", f"--config={folder}/pgbackrest.conf", "--stanza=almoner"]
        for word in ("stanza-create", "check"):
            done = run_program([*command, word], capture_output=True, text=True, check=False, cwd="/")
            assert done.returncode == 0, done.stdout + done.stderr
        made.script("almoner-backup", "base", "full")
        made.script("almoner-backup", "documents")
        made.write("Record 2")
        moment = made.server.sql("select pg_sleep(1.1); select clock_timestamp()").strip()
        made.write("Record 3")
        made.server.sql("drop table partner cascade", "almoner")  # what one wishes undone
        made.server.archive()
        made.script("almoner-backup", "documents")
        made.server.stop()

        made.script("almoner-restore", "point-in-time", moment)
        made.script("almoner-restore", "documents")
        made.server.start()
        assert made.server.sql("select not pg_is_in_recovery()") in ("t", "f")
        made.deployed.command("migrate")
        said = made.deployed.command("check", "--json", fails=False)
        assert '"failed"' not in said
        assert "Released as deployment" in made.deployed.command("release-copy", "--takes-over", "--yes")
        assert made.names() == ["Record 1", "Record 2"]
        assert len(made.documents()) == 3  # the newest goes to the trash by itself, a day later
        made.write("Record 4")
        made.deployed.command("audit", "sign")  # no worker has chained the entries of this test
        assert made.deployed.command("selfcheck")


@pytest.mark.skipif(missing("barman") is not None, reason="not installed: barman")
def test_barman_restores_to_a_point_in_time(folder: Path) -> None:
    with book(folder, archive=False) as made:
        barman = made.use_barman()
        made.write("Record 1")
        barman("cron")
        until(lambda: "receive-wal running: OK" in barman("check", "almoner", fails=False))
        barman("switch-wal", "--force", "--archive", "almoner")
        assert "FAILED" not in barman("check", "almoner")
        made.script("almoner-backup", "barman")
        made.script("almoner-backup", "documents")
        made.write("Record 2")
        moment = made.server.sql("select pg_sleep(1.1); select clock_timestamp()").strip()
        made.write("Record 3")
        made.server.sql("drop table partner cascade", "almoner")  # what one wishes undone
        barman("switch-wal", "--archive", "almoner")
        made.script("almoner-backup", "documents")
        made.server.stop()

        made.script("almoner-restore", "barman", moment)
        made.script("almoner-restore", "documents")
        made.server.start()
        made.deployed.command("migrate")
        assert "Released as deployment" in made.deployed.command("release-copy", "--takes-over", "--yes")
        assert made.names() == ["Record 1", "Record 2"]
        made.deployed.command("audit", "sign")  # no worker has chained the entries of this test
        assert made.deployed.command("selfcheck")
        barman("receive-wal", "--reset", "almoner")
        barman("cron")
        barman("switch-wal", "--force", "--archive", "almoner")
        made.script("almoner-backup", "barman")


def test_the_latest_is_restored_after_the_loss_of_the_machine(folder: Path) -> None:
    with book(folder, archive=True) as made:
        command = [
            *as_account(),
            "pgbackrest",
            f"--config={folder}/pgbackrest.conf",
            "--stanza=almoner",
            "stanza-create",
        ]
        assert run_program(command, capture_output=True, check=False, cwd="/").returncode == 0
        made.script("almoner-backup", "base", "full")
        made.write("Record 1")
        made.server.archive()
        made.script("almoner-backup", "documents")
        made.server.stop(signal.SIGKILL)
        run_program(["rm", "-rf", made.server.data, folder / "documents"], check=True)

        made.server.data.mkdir(mode=0o700)
        OsAccount.current().chown(made.server.data)
        made.script("almoner-restore", "latest")
        made.script("almoner-restore", "documents")
        made.server.start()
        made.deployed.command("migrate")
        made.deployed.command("release-copy", "--takes-over", "--yes")
        assert made.names() == ["Record 1"]
        assert len(made.documents()) == 1


def test_a_dump_and_the_keys_are_restored(folder: Path) -> None:
    with book(folder, archive=False) as made:
        (folder / "settings").mkdir()
        (folder / "settings" / "almoner.env").write_text(f"ALMONER_MASTER_KEY={KEY}\n")
        run_program(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=almoner-backup",
             "-keyout", folder / "private.pem", "-out", folder / "backup-cert.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        made.write("Record 1")
        dump = made.script("almoner-backup", "dump")
        made.script("almoner-backup", "documents")
        keys = made.script("almoner-backup", "keys")
        assert KEY not in Path(keys).read_bytes().decode(errors="replace")

        made.script("almoner-restore", "keys", keys, str(folder / "private.pem"), str(folder / "restored"))
        assert KEY in (folder / "restored" / "settings" / "almoner.env").read_text()
        made.server.sql("drop database almoner with (force)")
        made.server.sql("create database almoner owner almoner_owner")
        made.script("almoner-restore", "dump", dump)
        made.deployed.command("migrate")
        made.deployed.command("release-copy", "--takes-over", "--yes")
        assert made.names() == ["Record 1"]


def test_documents_come_back_into_an_object_store_that_was_lost(folder: Path) -> None:
    with object_store(folder) as endpoint, book(folder, archive=False, endpoint=endpoint) as made:
        made.write("Record 1")
        made.script("almoner-backup", "documents")
        made.write("Record 2")
        dump = made.script("almoner-backup", "dump")
        made.script("almoner-backup", "documents")
        before = made.documents()
        assert len(before) == 2
        environment = made.deployed.environment
        run_program(["rclone", "delete", made.store], env=environment, check=True)
        assert made.documents() == {}

        made.server.sql("drop database almoner with (force)")
        made.server.sql("create database almoner owner almoner_owner")
        made.script("almoner-restore", "dump", dump)
        made.script("almoner-restore", "documents")
        assert made.documents() == before
        made.deployed.command("migrate")
        assert '"failed"' not in made.deployed.command("check", "--json")
        made.deployed.command("release-copy", "--takes-over", "--yes")
        assert made.names() == ["Record 1", "Record 2"]
        made.write("Record 3")
        assert before.items() <= made.documents().items()
        made.deployed.command("audit", "sign")  # no worker has chained the entries of this test
        assert made.deployed.command("selfcheck")


def test_the_book_names_what_the_scripts_do() -> None:
    book_text = BOOK.read_text()
    for script in ("almoner-backup", "almoner-restore"):
        usage = re.findall(rf"^#   {script} ([a-z-]+)", (DEPLOY / script).read_text(), re.MULTILINE)
        for word in usage:
            assert f"{script} {word}" in book_text
