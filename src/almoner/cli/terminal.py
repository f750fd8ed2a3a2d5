"""The commands put together, each imported when it is typed."""

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from almoner import __version__

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
    "documents": "documents.commands",
    "release-copy": "release_copy.release_copy",
    "clean": "clean.clean",
}
"""Where each command or group of commands is, below ``almoner.cli``."""


@contextmanager
def _nothing_looked_through() -> Iterator[None]:
    """What is imported stays: to look for garbage in it takes a third of the time until a command begins."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Imported(Mapping[str, Any]):
    """The commands, each imported when it is asked for: all of them together take seconds."""

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = _PLACES[name].rpartition(".")
        with _nothing_looked_through():
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


def _unwind(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + _number)


def _open_standard_streams() -> None:
    """A stream that is closed gets a place to go: its number would else be given to a file or a connection."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def main() -> None:
    """Run a command. SIGTERM and SIGHUP unwind like Ctrl-C, so that nothing stays behind."""
    _open_standard_streams()
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
        told = import_module("almoner.cli.failures").explain(error)  # few commands fail
        if told is None:
            raise
        typer.echo(told, err=True)
        sys.exit(1)
