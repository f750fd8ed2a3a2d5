"""Run the sandbox on one machine, with generated secrets and an embedded database."""

import asyncio
import errno
import json
import os
import secrets
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import asyncpg
import msgspec
from pydantic import SecretStr

from almoner.migrations import APP_ROLE
from almoner.platform.crypto import MASTER_KEY_BYTES
from almoner.platform.database import postgres
from almoner.platform.jobs.processes import Role
from almoner.settings import PREFIX, InvalidSettings, Settings
from almoner.settings_values import check_master_key, documents_folder_from_url

_OWNER_ROLE = "almoner_owner"
DATABASE = "almoner"


@dataclass(frozen=True, slots=True)
class SandboxSecrets:
    """The secrets of a sandbox, stored in ``secrets.json`` next to its database."""

    master_key: str
    owner_password: str
    app_password: str

    @classmethod
    def load_or_create(cls, folder: Path) -> Self:
        """Load the secrets from a folder. If the folder has no secrets yet, generate them. Raises InvalidSettings."""
        file = folder / "secrets.json"
        if file.exists():
            return cls._load(file)
        made = cls(
            b64encode(secrets.token_bytes(MASTER_KEY_BYTES)).decode(),
            secrets.token_urlsafe(24),
            secrets.token_urlsafe(24),
        )
        write_private_json(file, asdict(made))
        return made

    @classmethod
    def _load(cls, file: Path) -> Self:
        """Load the file that an earlier start wrote. Raises InvalidSettings if somebody has damaged it."""
        with suppress(msgspec.DecodeError, ValueError):
            loaded = msgspec.json.decode(file.read_bytes(), type=cls)
            check_master_key(SecretStr(loaded.master_key))
            if loaded.owner_password and loaded.app_password:
                return loaded
        problem = f"{file} is not the JSON file with master_key, owner_password and app_password that Almoner wrote"
        remedy = "restore it, or run `almoner clean` to delete the data of this sandbox and start again"
        raise InvalidSettings([f"{problem}: {remedy}"])


def write_private_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that only its owner can read. The file is replaced in one step, so it is never incomplete."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600, exist_ok=False)
    with unfinished.open("w") as written:
        json.dump(content, written, indent=2)
        written.write("\n")
        written.flush()
        os.fsync(written.fileno())
    unfinished.replace(file)


def ensure_folders(settings: Settings, process_role: Role) -> None:
    """Create the folders that this process writes to. Raises InvalidSettings if a folder cannot be used."""
    folders = {"DATA_DIR": settings.data_dir}
    if settings.audit_heads is not None:
        folders["AUDIT_HEADS"] = settings.audit_heads
    if settings.status_dir is not None and process_role != "server":
        folders["STATUS_DIR"] = settings.status_dir
    if (documents := documents_folder_from_url(settings.documents_url)) is not None:
        folders["DOCUMENTS_URL"] = documents
    problems = []
    for name, folder in folders.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            wrong = None if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)
        except OSError as error:
            wrong = error.strerror
        if wrong is not None:
            problems.append(f"{PREFIX}{name} is {folder}, which is not a writable folder ({wrong})")
    if problems:
        sandboxed = "" if settings.sandbox else "; in a systemd unit, also list it in ReadWritePaths="
        raise InvalidSettings(
            [f"{problem}: create it, or give it to the account of the service{sandboxed}" for problem in problems]
        )


@contextmanager
def settings_with_embedded_database(settings: Settings) -> Iterator[Settings]:
    """Add the secrets that the sandbox generates to the settings.

    In production, the settings are returned unchanged. If no database URL is set, the embedded PostgreSQL server runs
    until the block ends. Raises DatabaseUnavailable.
    """
    if not settings.sandbox:
        yield settings
    elif settings.database_url is not None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        with postgres.folder_lock(settings.data_dir):
            master_key = settings.master_key or SecretStr(SandboxSecrets.load_or_create(settings.data_dir).master_key)
        yield settings.model_copy(update={"master_key": master_key})
    else:
        with postgres.run_embedded_server(settings.data_dir, settings.pg_bin) as server:
            with postgres.folder_lock(server.cluster_folder):
                own = SandboxSecrets.load_or_create(server.cluster_folder)
                asyncio.run(_create_database_and_roles(server, own))
            yield settings.model_copy(
                update={
                    "master_key": settings.master_key or SecretStr(own.master_key),
                    "database_url": SecretStr(server.url(APP_ROLE, own.app_password, DATABASE)),
                    "owner_database_url": SecretStr(server.url(_OWNER_ROLE, own.owner_password, DATABASE)),
                }
            )


async def keep_embedded_database_running(settings: Settings, stop: asyncio.Event) -> None:
    """Restart the embedded PostgreSQL server if it has stopped. Raises DatabaseUnavailable."""
    if settings.sandbox and settings.database_url is None:
        await postgres.keep_embedded_server_running(
            settings.data_dir, settings.pg_bin, stop, settings.disk_reserve_bytes
        )


async def _create_database_and_roles(server: postgres.PostgresServer, own: SandboxSecrets) -> None:
    """Create the database, the role that owns the tables, and the role of the service. See architecture 5."""
    connection = await asyncpg.connect(server.superuser_url())
    try:
        for role, password in ((_OWNER_ROLE, own.owner_password), (APP_ROLE, own.app_password)):
            known = await connection.fetchval("select exists (select from pg_roles where rolname = $1)", role)
            form = "select format('{} role %I login password %L', $1::text, $2::text)".format(
                "alter" if known else "create"
            )
            await connection.execute(await connection.fetchval(form, role, password))
        if not await connection.fetchval("select exists (select from pg_database where datname = $1)", DATABASE):
            await connection.execute(f"create database {DATABASE} owner {_OWNER_ROLE}")
    finally:
        await connection.close()
    await _install_prewarm(server)


async def _install_prewarm(server: postgres.PostgresServer) -> None:
    """Install the pg_prewarm extension, if the server provides it, so that search is fast after a restart.

    Only a superuser can do this.
    """
    connection = await asyncpg.connect(server.superuser_url(DATABASE))
    try:
        if await connection.fetchval("select exists (select from pg_available_extensions where name = 'pg_prewarm')"):
            await connection.execute("create extension if not exists pg_prewarm")
    finally:
        await connection.close()
