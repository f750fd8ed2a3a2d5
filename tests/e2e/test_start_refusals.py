"""What an operator can get wrong before anything runs: one sentence that names the setting, and no traceback."""

import asyncio
import base64
import errno
import os
import re
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import asyncpg
import pytest

from almoner import settings
from almoner.cli import local
from almoner.cli.failures import explain_error
from almoner.platform.database.connections import ConnectionUnavailable
from almoner.platform.database.postgres import PostgresServer
from tests.support import forks
from tests.support.database import TestDatabase, unmigrated
from tests.support.production import PRODUCTION
from tests.support.running import folder, free_port
from tests.support.service import Service, serving
from tests.support.small_disk import fill, small_disk

OTHER_KEY = base64.b64encode(b"another key that is 32 bytes long"[:32]).decode()


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own: it has left its key's value in the database."""
    async with serving(empty_database) as made:
        yield made


def environment(**given: str) -> dict[str, str]:
    """Of a command: this process's, with the settings of ours that are given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    return {**kept, **{f"ALMONER_{name.upper()}": value for name, value in given.items()}}


async def failed(*words: str, **given: str) -> str:
    """A command that cannot do its work: the one line that it says about it."""
    status, printed = await asyncio.to_thread(forks.run, words, environment(**given))
    assert status > 0, "it succeeded, or was killed"
    (line,) = printed.splitlines()
    return line


async def failed_alone(*words: str | bytes, output: str = os.devnull) -> str:
    """The same of a process that begins with what it is given."""

    def run() -> "subprocess.CompletedProcess[bytes]":
        with Path(output).open("wb") as out:
            command = [sys.executable, "-m", "almoner", *words]
            return subprocess.run(
                command, env=environment(), stdout=out, stderr=subprocess.PIPE, timeout=60, check=False
            )

    ended = await asyncio.to_thread(run)
    assert ended.returncode > 0
    (line,) = ended.stderr.decode().splitlines()
    return line


def test_damaged_secrets_of_a_sandbox_are_one_sentence(tmp_path: Path) -> None:
    made = local.SandboxSecrets.load_or_create(tmp_path)
    assert local.SandboxSecrets.load_or_create(tmp_path) == made
    file = tmp_path / "secrets.json"
    written = file.read_text()
    for damaged in (
        "",
        written[:-5],
        f"[{written}]",
        "{}",
        written.replace("app_password", "password"),
        written.replace(f'"{made.master_key}"', "5"),
        written.replace(made.master_key, "short"),
        written.replace(f'"{made.app_password}"', "null"),
    ):
        file.write_text(damaged)
        with pytest.raises(settings.InvalidSettings) as refused:
            local.SandboxSecrets.load_or_create(tmp_path)
        line = explain_error(refused.value)
        assert line is not None
        assert line.startswith(f"{file} is not the JSON file with master_key"), damaged
        assert "run `almoner clean`" in line


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/root/.postgresql/postgresql.key", "cannot be read (Permission denied): set HOME to the home folder"),
        ("/root/register.csv", "cannot be read or written by this account (Permission denied): use a path"),
    ],
)
def test_a_file_of_another_account_is_one_sentence(file: str, said: str) -> None:
    line = explain_error(PermissionError(errno.EACCES, "Permission denied", file))
    assert line is not None
    assert line.startswith(f"{file} {said}")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENAMETOOLONG, "File name too long", "/srv/x"), "/srv/x cannot be used (File name too long)"),
        (FileExistsError(errno.EEXIST, "File exists", "/var/lib/a"), "/var/lib/a cannot be used (File exists)"),
        (OSError(errno.ELOOP, "Too many levels of symbolic links", "/a"), "/a cannot be used (Too many levels"),
        (OSError(errno.EIO, "Input/output error"), "A file cannot be read or written ([Errno 5] Input/output error)"),
    ],
)
def test_a_path_or_a_disk_that_cannot_be_used_is_one_sentence(error: OSError, said: str) -> None:
    line = explain_error(error)
    assert line is not None
    assert line.startswith(said)


@pytest.mark.parametrize(("environment", "named"), [("production", True), ("sandbox", False)])
def test_a_folder_outside_of_a_unit_s_sandbox(
    environment: Literal["production", "sandbox"], named: bool, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    given = settings.Settings.model_construct(
        environment=environment, data_dir=tmp_path, documents_url=str(tmp_path / "file" / "documents")
    )
    with pytest.raises(settings.InvalidSettings, match=r"ALMONER_DOCUMENTS_URL is .*, or give it to the") as refused:
        local.ensure_folders(given, "server")
    assert ("ReadWritePaths=" in str(refused.value)) == named


@pytest.mark.parametrize("command", [("serve",), ("worker",), ("partners", "list")])
async def test_a_wrong_master_key_does_not_start(service: Service, tmp_path: Path, command: tuple[str, ...]) -> None:
    port = str(free_port())
    line = await failed(
        *command, database_url=service.database.dsn, master_key=OTHER_KEY, data_dir=str(tmp_path), port=port
    )
    assert line.startswith("ALMONER_MASTER_KEY is not the key that this database was written with")


async def test_an_unreachable_database(tmp_path: Path) -> None:
    nobody_there = free_port()
    url = f"postgresql://role:hush@127.0.0.1:{nobody_there}/almoner"
    for command in (("run",), ("migrate",), ("partners", "list")):
        line = await failed(*command, database_url=url, data_dir=str(tmp_path), port=str(free_port()))
        assert f"127.0.0.1:{nobody_there} (ALMONER_DATABASE_URL) cannot be reached" in line
        assert "hush" not in line


async def test_hosts_with_a_part_that_is_empty_or_too_long(tmp_path: Path) -> None:
    url = "postgresql://role:hush@data..base/almoner"
    line = await failed("partners", "list", database_url=url, data_dir=str(tmp_path))
    assert line.startswith("The database at data..base:5432 (ALMONER_DATABASE_URL) has a host name that cannot be used")
    line = await failed("serve", host="h" * 64, data_dir=str(tmp_path), port=str(free_port()))
    assert line.startswith(f"ALMONER_HOST is {'h' * 64}, which is not an address of this machine")


async def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    url = f"postgresql://role:hush@127.0.0.1:{free_port()}/almoner"
    line = await failed("partners", "list", database_url=url, data_dir=str(tmp_path / "data"))
    assert line == f"{tmp_path / 'data'} cannot be used (File exists): check the path."


async def test_clean_deletes_nothing_of_production(tmp_path: Path) -> None:
    document = tmp_path / "documents" / "ab" / "document"
    document.parent.mkdir(parents=True)
    document.touch()
    given = {name: ",".join(value) if isinstance(value, list) else value for name, value in PRODUCTION.items()}
    given |= {"database_url": "postgresql://almoner_app@db.internal/almoner", "master_key": OTHER_KEY}
    line = await failed("clean", **given, data_dir=str(tmp_path))
    assert line.startswith("`almoner clean` is only for the sandbox, and ALMONER_ENVIRONMENT is production")
    assert document.exists()


async def test_clean_deletes_what_a_sandbox_has_stored_and_downloaded() -> None:
    with folder("clean") as data:
        for name in ("documents", "registers", "watchlists"):
            (data / name / "one").mkdir(parents=True)
        (data / "notes.txt").touch()
        status, printed = await asyncio.to_thread(forks.run, ("clean",), environment(data_dir=str(data)))
        assert status == 0, printed
        assert [path.name for path in data.iterdir()] == ["notes.txt"]


async def test_a_database_of_another_form_than_the_code(empty_database: TestDatabase, tmp_path: Path) -> None:
    given = {"database_url": empty_database.dsn, "owner_database_url": empty_database.owner_dsn}
    given |= {"data_dir": str(tmp_path), "port": str(free_port())}
    owner = await asyncpg.connect(empty_database.owner_dsn)
    await owner.execute("delete from compatible_revision")
    for revision, said in (
        ("r9999", "The database is at revision r9999, newer than this version of Almoner"),
        ("r0001", "The database is at revision r0001, from before Almoner 0.1.0, and cannot be carried over"),
    ):
        await owner.execute("update alembic_version set version_num = $1", revision)
        for command in ("run", "serve", "worker", "migrate"):
            assert said in await failed(command, **given)
    await owner.close()


async def test_a_disk_too_small_for_the_database() -> None:
    with folder("small") as made, small_disk(made / "disk", 100) as data:
        line = await failed("run", data_dir=str(data), port=str(free_port()))
    assert re.match(r"No room for the database in .*: free 300 MB, or set ALMONER_DATA_DIR", line)


async def test_a_disk_that_is_full_at_a_later_start() -> None:
    with folder("full") as made, small_disk(made / "disk", 350) as data:
        given = {"data_dir": str(data), "port": str(free_port())}
        status, printed = await asyncio.to_thread(forks.run, ("migrate",), environment(**given))
        assert status == 0, printed
        fill(data / "filler")
        assert "No room for the database" in await failed("run", **given)


async def test_settings_of_production_are_told_all_at_once() -> None:
    given = environment(environment="production", port="none")
    status, printed = await asyncio.to_thread(forks.run, ("serve",), given)
    assert status > 0
    assert set(re.findall(r"^  (ALMONER_[A-Z_]+)", printed, re.MULTILINE)) == {
        "ALMONER_PORT",
        "ALMONER_DATABASE_URL",
        "ALMONER_MASTER_KEY",
        "ALMONER_API_URL",
        "ALMONER_PAGES_URL",
        "ALMONER_WEBHOOK_SOURCE_ADDRESSES",
        "ALMONER_MAIL_URL",
        "ALMONER_MAIL_FROM",
        "ALMONER_PRIVACY_URL",
        "ALMONER_CONTACT_EMAIL",
    }


async def test_migrate_names_the_owners_setting(postgres_server: PostgresServer, tmp_path: Path) -> None:
    async with unmigrated(postgres_server) as database:
        line = await failed("migrate", database_url=database.dsn, data_dir=str(tmp_path))
        assert line == (
            "The role almoner_app cannot change the tables, as it may create none in the schema public: set "
            "ALMONER_OWNER_DATABASE_URL to the URL of this database for its owner."
        )
        nowhere = f"postgresql://owner:hush@127.0.0.1:{free_port()}/almoner"
        line = await failed("migrate", database_url=database.dsn, owner_database_url=nowhere, data_dir=str(tmp_path))
        assert "(ALMONER_OWNER_DATABASE_URL) cannot be reached" in line
        assert "hush" not in line
        wrong = database.owner_dsn.replace(database.name, "missing")
        line = await failed("migrate", database_url=database.dsn, owner_database_url=wrong, data_dir=str(tmp_path))
        assert "(ALMONER_OWNER_DATABASE_URL) rejected the connection" in line


async def test_arguments_that_are_no_text_and_a_full_output() -> None:
    line = await failed_alone("partners", "show", b"caf\xe9")
    assert (
        line == "Argument 3 (caf\N{REPLACEMENT CHARACTER}) is not UTF-8: type it again, in a terminal that uses UTF-8."
    )
    line = await failed_alone("--version", output="/dev/full")
    assert line.startswith("The output could not be written (No space left on device)")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            asyncpg.ProtocolViolationError("unsupported startup parameter: jit"),
            "is a connection pooler that rejects session settings",
        ),
        (
            asyncpg.DuplicatePreparedStatementError('prepared statement "__asyncpg_stmt_1__" already exists'),
            "is a connection pooler that loses prepared statements",
        ),
        (
            asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
            "does not accept writes",
        ),
        (asyncpg.InsufficientPrivilegeError("permission denied for table partner"), "run `almoner migrate`"),
        (asyncpg.UndefinedTableError('relation "donation" does not exist'), "not have the schema of this version"),
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), "ALMONER_DATABASE_POOL"),
        (asyncpg.FeatureNotSupportedError('extension "pg_trgm" is not available'), "postgresql-contrib"),
        (asyncpg.DiskFullError("could not extend file"), "has a full disk"),
        (asyncpg.QueryCanceledError("canceling statement due to statement timeout"), "cancelled a statement"),
        (asyncpg.AdminShutdownError("terminating connection due to administrator command"), "is not available"),
        (asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"), "is not available"),
        (asyncpg.InterfaceError("connection is closed"), "is not available"),
        (ConnectionUnavailable("the connection to the database was lost"), "is not available"),
        (
            OSError(
                "Multiple exceptions: [Errno 111] Connect call failed ('::1', 5432, 0, 0), "
                "[Errno 111] Connect call failed ('127.0.0.1', 5432)"
            ),
            "cannot be reached",
        ),
        (OSError(errno.EHOSTUNREACH, "Connect call failed ('10.0.0.1', 5432)"), "cannot be reached"),
        (PermissionError(errno.EPERM, "Connect call failed ('10.0.0.1', 5432)"), "cannot be reached"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be reached"),
        (ssl.SSLSyscallError(5, "unexpected end of the connection"), "has a certificate that cannot be trusted"),
    ],
)
def test_what_a_database_refuses_is_one_sentence(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMONER_DATABASE_URL", "postgresql://app:hush@one:5432,two:5433/almoner")
    line = explain_error(error)
    assert line is not None
    assert line.startswith("The database at one:5432,two:5433 (ALMONER_DATABASE_URL)")
    assert said in line
    assert "hush" not in line


def test_settings_that_are_none_are_named_with_the_nearest() -> None:
    given = {
        "ALMONER_TRUSTED_PROXY": "10.0.0.0/8",
        "ALMONER_NAME_AGREEMENT": "0.9",
        "ALMONER_PORT": "80",
        "ALMONER_COFFEE": "black",
        "PATH": "/bin",
    }
    assert settings.unknown_setting_warnings(given) == [
        "ALMONER_COFFEE is not a setting and has no effect: see docs/reference/settings.md.",
        "ALMONER_NAME_AGREEMENT is not a setting and has no effect: did you mean ALMONER_NAME_MATCH_THRESHOLD?",
        "ALMONER_TRUSTED_PROXY is not a setting and has no effect: did you mean ALMONER_TRUSTED_PROXIES?",
    ]
