"""The entry point of the command-line interface. Each command is imported when it is first used."""

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from almoner import __version__, build
from almoner.cli import outputs
from almoner.kit.text import clean_json_texts

_MODULES: Final = {
    "run": "run.run",
    "serve": "serve.serve",
    "worker": "serve.run_worker",
    "migrate": "migrate.migrate",
    "check": "check.check",
    "selfcheck": "selfcheck.selfcheck",
    "partners": "access.partners",
    "keys": "access.keys",
    "registers": "registers.commands",
    "watchlists": "watchlists.commands",
    "activities": "activities.commands",
    "organisations": "organisations.commands",
    "unallocated-payments": "unallocated_payments.commands",
    "refunds": "refunds.commands",
    "disputes": "disputes.commands",
    "verifications": "verifications.commands",
    "reviews": "reviews.commands",
    "agents": "agents.commands",
    "settlements": "settlements.commands",
    "disbursements": "disbursements.commands",
    "payee-accounts": "payee_accounts.commands",
    "receipt-donees": "receipt_donees.commands",
    "payment-files": "payment_files.commands",
    "bank-statements": "bank_statements.commands",
    "donations": "donations.commands",
    "giving-links": "giving_links.commands",
    "donation-requests": "donation_requests.commands",
    "gift-aid": "gift_aid.commands",
    "members": "members.commands",
    "operators": "operators.commands",
    "approvals": "operators.approvals",
    "audit": "audit.commands",
    "emails": "emails.commands",
    "backups": "backups.commands",
    "documents": "documents.commands",
    "release-copy": "release_copy.release_copy",
    "clean": "clean.delete_sandbox_data",
}
"""The module of each command or command group, below ``almoner.cli``."""


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Garbage collection is off while modules are loaded, because it would make commands start 50 % slower."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _clean_typed_texts(command: Any) -> None:
    """Clean the text arguments of a command and its subcommands in the same way as the API (U6).

    File names are not changed.
    """
    if (run := command.callback) is not None:

        @wraps(run)
        def run_cleaned(**given: Any) -> Any:
            return run(**{name: clean_json_texts(value) for name, value in given.items()})

        command.callback = run_cleaned
    for below in getattr(command, "commands", {}).values():
        _clean_typed_texts(below)


class _LazyCommands(Mapping[str, Any]):
    """The top-level commands. Each is imported on first use, because importing all of them takes seconds."""

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = _MODULES[name].rpartition(".")
        with _garbage_collection_paused():
            found = getattr(import_module(f"almoner.cli.{module}"), attribute)
        holder = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name)(found)
        made = typer.main.get_group(holder).commands[name]
        _clean_typed_texts(made)
        return made


class _Commands(TyperGroup):
    """``almoner`` itself."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "commands": _LazyCommands()})


commands = typer.Typer(
    name="almoner",
    cls=_Commands,
    help="Validate nonprofits and take donations for them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        commit = build.source_commit()
        typer.echo(f"almoner {__version__} ({commit[:12]})" if commit else f"almoner {__version__}")
        raise typer.Exit


@commands.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""


def _unwind(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + _number)


def _open_standard_streams() -> None:
    """Reopen standard streams that are closed.

    Otherwise, the next opened file would get the descriptor of a standard stream.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:  # invalid UTF-8 arrives as lone surrogates
        return False
    return True


def _refuse_unreadable_arguments() -> None:
    """Reject arguments that are not valid UTF-8."""
    for number, argument in enumerate(sys.argv[1:], 1):
        if not _is_text(argument):
            shown = argument.encode(errors="surrogateescape").decode(errors="replace")
            outputs.echo(
                f"Argument {number} ({shown}) is not UTF-8: type it again, in a terminal that uses UTF-8.", error=True
            )
            sys.exit(2)


def main() -> None:
    """Run a command. SIGTERM and SIGHUP stop the command like Ctrl-C, so that resources are cleaned up."""
    _open_standard_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _unwind)
    _refuse_unreadable_arguments()
    outputs.escape_unencodable_characters()
    outputs.detect_full_disk_on_stdout()
    with exit_with_error_message():
        commands()


@contextmanager
def exit_with_error_message() -> Iterator[None]:
    """Exit the process with its exit status. If a command has failed, print the reason on one line."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except Exception as error:
        reported = import_module("almoner.cli.failures").explain_error(error)  # imported here: few commands fail
        if reported is None:
            raise
        outputs.echo(reported, error=True)
        if isinstance(error, outputs.OutputDiskFull):
            _discard_output()
        sys.exit(1)


def _discard_output() -> None:
    """Discard output that is still buffered, because Python would fail again to print it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
