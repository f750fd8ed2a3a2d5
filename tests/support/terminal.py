"""A person at a terminal, who runs `almoner` commands on a service's database."""

import asyncio
import os
import pty
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from almoner import settings as configuration
from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import service as operators
from almoner.access.people.domain import OperatorRole
from almoner.cli.failures import explain_error
from almoner.cli.terminal import commands
from almoner.platform.audit.log import Actor
from almoner.platform.database import transactions
from almoner.settings import build_deployment
from tests.support import forks
from tests.support.factories import unique
from tests.support.service import Service

Type = Callable[..., Awaitable[tuple[int, str]]]
"""Runs a command; returns (exit status, output)."""


_WIDE = "1000"  # pytest-xdist sets 80, which is too narrow for assertions

BY = AuditContext(Actor("machine", "tests"), None)


@dataclass(frozen=True, slots=True)
class Operator:
    """Who runs commands; ``id`` is stored with decisions."""

    id: str
    name: str
    token: str


async def operator(service: Service, *roles: OperatorRole, name: str | None = None, **settings: str) -> Operator:
    """Create an operator with a token; ``settings`` are those of the terminal."""
    deployment = build_deployment(configuration.read_settings(**_given(service, settings)), service.clock)
    database = await transactions.open_database(service.database.dsn, deployment, pool_size=1)
    try:
        async with database.write() as tx:
            name = name or unique("Olive")
            email = f"{unique('olive').replace(' ', '.')}@example.org"
            person = await operators.add_operator(tx, BY, email, name, roles)
            _, secret = await operators.create_token(tx, BY, person, "tests")
            return Operator(tx.ids.encode(operators.ID, person.id), name, secret)
    finally:
        await database.close()


def _given(service: Service, settings: dict[str, str]) -> dict[str, Any]:
    key = service.services.settings.master_key
    assert key is not None
    return {
        "database_url": service.database.dsn,
        "master_key": key.get_secret_value(),
        "environment": "sandbox",
        **{name.lower(): value for name, value in settings.items()},
    }


def at_a_tty(service: Service, home: Path, typed: str, *words: str) -> str:
    """Run a command at a real terminal, where ``typed`` answers its first question; returns the screen."""
    given = {**_given(service, {}), "data_dir": str(home)}
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    environment = {**stored, **{f"ALMONER_{name.upper()}": value for name, value in given.items()}}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    screen, other = pty.openpty()
    command = [sys.executable, "-m", "almoner", *words]
    process = subprocess.Popen(
        command, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
    )
    os.close(other)
    shown = b""
    with suppress(OSError):  # the other end is closed when the command has ended
        while part := os.read(screen, 1024):
            shown += part
            if shown.endswith(b": ") and typed:
                os.write(screen, f"{typed}\n".encode())
                typed = ""
    os.close(screen)
    process.wait()
    return shown.decode()


def in_process(service: Service, home: Path, by: Operator | None = None, **settings: str) -> Type:
    """Like ``terminal``, in this process: for tests of many commands, which would take seconds each to start."""
    given = {**_given(service, settings), "data_dir": str(home), "operator_token": by.token if by else None}
    environment = {f"ALMONER_{name.upper()}": value for name, value in given.items()}
    environment["COLUMNS"] = _WIDE

    async def typed(*words: str) -> tuple[int, str]:
        reported = await asyncio.to_thread(CliRunner().invoke, commands, words, env=environment)
        failed = reported.exception
        if failed is None or isinstance(failed, SystemExit):
            return reported.exit_code, reported.output
        if (line := explain_error(failed)) is None:
            raise failed
        return reported.exit_code, f"{line}\n"

    return typed


def terminal(service: Service, home: Path, *roles: OperatorRole, by: Operator | None = None, **settings: str) -> Type:
    """A terminal in a folder, of a new operator with the roles, of a known one, or without an operator.

    Each command is a process of its own (``forks``). ``settings`` without their prefix.
    """
    stored = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    given = {**_given(service, settings), "data_dir": str(home)}
    environment = {
        **stored,
        **{f"ALMONER_{name.upper()}": value for name, value in given.items()},
        "PYTHONPATH": os.pathsep.join(sys.path),
        "COLUMNS": _WIDE,
        "LOGNAME": "somebody else",  # the token decides who it is, not the environment
    }
    who: list[Operator] = [by] if by else []

    async def typed(*words: str, stdin: str = "") -> tuple[int, str]:
        if roles and not who:
            who.append(await operator(service, *roles, **settings))
        token = {"ALMONER_OPERATOR_TOKEN": who[0].token} if who else {}
        return await asyncio.to_thread(forks.run, words, {**environment, **token}, stdin)

    return typed


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The commands that perform actions, by name."""
    if not hasattr(command, "commands"):
        yield " ".join(path)
        return
    for name, inner in command.commands.items():
        yield from leaves(inner, (*path, name))
