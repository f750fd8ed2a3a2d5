"""The commands put together, and how their failures are told: one line that says what to do."""

import errno
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import asyncpg
import typer
from typer.core import TyperGroup

from almoner import __version__, settings
from almoner.access.keys.service import NoSuchKey
from almoner.access.members.domain import NoSuchGroup
from almoner.access.operators.domain import Refused
from almoner.access.operators.service import NoSuchToken
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people.domain import NoSuchPerson
from almoner.cli.ports import PortBusy
from almoner.giving.bank_files.domain import BankFileRefused
from almoner.giving.bank_lines.domain import StatementRefused
from almoner.giving.claims.domain import ClaimRefused
from almoner.giving.disputes.domain import DisputeRefused
from almoner.giving.giftaid.domain import GiftAidRefused
from almoner.giving.payees.domain import PayeeRefused
from almoner.giving.payouts.domain import PayoutRefused
from almoner.giving.refunds.domain import RefundNotPossible
from almoner.giving.requests.domain import RequestRefused
from almoner.giving.settlements.domain import ImportInterrupted, NotCleared, ReportRefused
from almoner.giving.suspense.domain import NoSuchHeldPayment, NotDecidable
from almoner.kit.errors import Problem
from almoner.migrations import MigrationRefused
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.platform.audit_heads import NotExported
from almoner.platform.programs import DatabaseUnavailable
from almoner.platform.published import FetchRefused
from almoner.screening.watchlists.domain import WatchlistRefused
from almoner.validation.reviews.domain import ReviewRefused

_PLACES: Final = {
    "run": "run.run",
    "serve": "serve.serve",
    "worker": "serve.work",
    "migrate": "migrate.migrate",
    "selfcheck": "selfcheck.selfcheck",
    "partners": "access.partners",
    "keys": "access.keys",
    "registers": "registers.commands",
    "watchlists": "watchlists.commands",
    "activities": "activities.commands",
    "organisations": "organisations.commands",
    "suspense": "suspense.commands",
    "refunds": "refunds.commands",
    "disputes": "disputes.commands",
    "verifications": "verifications.commands",
    "reviews": "reviews.commands",
    "agents": "agents.commands",
    "settlements": "settlements.commands",
    "payouts": "payouts.commands",
    "payees": "payees.commands",
    "bank-files": "bank_files.commands",
    "bank-lines": "bank_lines.commands",
    "donations": "donations.commands",
    "requests": "requests.commands",
    "gift-aid": "gift_aid.commands",
    "members": "members.commands",
    "operators": "operators.commands",
    "approvals": "operators.approvals",
    "audit": "audit.commands",
    "clean": "clean.clean",
}
"""Where each command or group of commands is, below ``almoner.cli``."""


class _Imported(Mapping[str, Any]):
    """The commands, each imported when it is asked for: all of them together take seconds."""

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = _PLACES[name].rpartition(".")
        found = getattr(import_module(f"almoner.cli.{module}"), attribute)
        holder = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name)(found)
        return typer.main.get_group(holder).commands[name]


class _Commands(TyperGroup):
    """``almoner`` itself."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "commands": _Imported()})


commands = typer.Typer(
    name="almoner",
    cls=_Commands,
    help="Almoner validates nonprofits and takes donations for them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_TOLD_AS_THEY_ARE = (
    ClaimRefused,
    BankFileRefused,
    DisputeRefused,
    NotExported,
    RefundNotPossible,
    DatabaseUnavailable,
    FetchRefused,
    GiftAidRefused,
    MigrationRefused,
    ImportInterrupted,
    ImportRefused,
    NoSuchHeldPayment,
    NotCleared,
    NotDecidable,
    PayeeRefused,
    PayoutRefused,
    PortBusy,
    Refused,
    ReportRefused,
    RequestRefused,
    ReviewRefused,
    StatementRefused,
    WatchlistRefused,
)

_LISTED: dict[type[BaseException], str] = {
    NoSuchKey: "`almoner partners list` and `almoner keys list`",
    NoSuchPartner: "`almoner partners list`",
    NoSuchGroup: "`almoner members groups`",
    NoSuchPerson: "`almoner operators list` and `almoner members list`",
    NoSuchToken: "`almoner operators tokens list`",
}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"almoner {__version__}")
        raise typer.Exit


@commands.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take what holds for every command."""


def explain(error: BaseException) -> str | None:
    """What the error means and what to do about it; None when it is a defect, which deserves its traceback."""
    if isinstance(error, BaseExceptionGroup):
        told = [explain(one) for one in error.exceptions]
        return told[0] if all(told) else None
    if isinstance(error, settings.UnsafeSettings):
        return "\n  ".join(["The settings need attention:", *error.problems]) if error.problems[1:] else str(error)
    if isinstance(error, _TOLD_AS_THEY_ARE):
        return str(error)
    if isinstance(error, Problem):
        return "\n".join(error.reasons or (error.message,))
    if (listed := _LISTED.get(type(error))) is not None:
        return f"There is no {error}: see {listed}."
    if isinstance(error, asyncpg.DiskFullError) or (isinstance(error, OSError) and error.errno in _FULL):
        return f"The disk is full ({error}): free some space, or set ALMONER_DATA_DIR to a folder on another disk."
    if isinstance(error, PermissionError) or (isinstance(error, OSError) and error.errno == errno.EROFS):
        return f"{error.filename} may not be written ({error.strerror}): run as its owner, or set ALMONER_DATA_DIR."
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError):
        return f"{_database()} refuses us ({error}): check the role, the password and the name in the address."
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror | asyncpg.CannotConnectNowError):
        return (
            f"{_database()} cannot be reached ({str(error) or type(error).__name__}): start it, or correct the address."
        )
    return None


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _database() -> str:
    for name in ("database_url", "owner_database_url"):
        value = getattr(settings.read(), name)
        if value is not None:
            parts = urlsplit(value.get_secret_value())
            place = f"{parts.hostname or 'this machine'}:{parts.port or 5432}"
            return f"The database at {place} ({settings.PREFIX}{name.upper()})"
    return "The embedded database"


def _unwind(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + _number)


def main() -> None:
    """Run a command. SIGTERM and SIGHUP unwind like Ctrl-C, so that nothing stays behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _unwind)
    try:
        commands()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        told = explain(error)
        if told is None:
            raise
        typer.echo(told, err=True)
        sys.exit(1)
