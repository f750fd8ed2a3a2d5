"""``almoner clean``."""

import shutil
from contextlib import suppress
from pathlib import Path

import typer

from almoner import settings
from almoner.platform.database import postgres
from almoner.settings import InvalidSettings

# Only what Almoner creates: the data folder may contain other things, too.
_OURS = (
    "pg[0-9][0-9]",
    "pg[0-9][0-9].*",
    "postgres.*",
    "postgresql-*",
    "secrets.*",
    "sandbox.*",
    "almoner.log",
    "almoner.log.[0-9]",
    "documents",
    "files",
    "registers",
    "watchlists",
    "audit-heads",
    "status",
)


def delete_sandbox_data() -> None:
    """Delete the data of the sandbox. This deletes its embedded database, sandbox.json, secrets, logs and stored files.

    No other database is changed.
    """
    given = settings.read_settings()
    if not given.sandbox:
        raise InvalidSettings(
            [
                (
                    "`almoner clean` is only for the sandbox, and ALMONER_ENVIRONMENT is production: the data "
                    "directory can contain documents and the signed heads of the audit log. Nothing was deleted."
                )
            ]
        )
    if not given.data_dir.exists():
        typer.echo(f"Nothing to delete: {given.data_dir.resolve()} does not exist.")
        return
    home = postgres.stop_leftover_server(given.data_dir, given.pg_bin)
    for folder in {given.data_dir.resolve(), home}:
        _empty(folder)
        with suppress(OSError):
            folder.rmdir()
        typer.echo(f"Deleted the data of the sandbox in {folder}")


def _empty(folder: Path) -> None:
    for form in _OURS:
        for path in folder.glob(form):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
