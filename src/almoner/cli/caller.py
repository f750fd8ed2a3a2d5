"""Identify who runs a command: an operator with a personal token, or an operating system account.

The token is read from an environment variable or a prompt, but never from an argument, because other users of the
machine can see arguments.
"""

import os
import pwd
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import service as operators
from almoner.access.operators.domain import Approval, ApprovedDecision, InvalidOperatorToken
from almoner.access.people.domain import OperatorRole, Person
from almoner.cli.database import Body, build_typer_command, run_with_database
from almoner.cli.tables import Output
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, Details
from almoner.platform.database.transactions import Database, Tx

Note = Annotated[
    str,
    typer.Option("--note", help="Evidence for the decision, or where the evidence is stored (up to 2,000 characters)."),
]

_SETTING: Final = f"{settings.PREFIX}OPERATOR_TOKEN"


@dataclass(frozen=True, slots=True)
class CommandCaller:
    """The caller of a command: an operator, or the operating system account if ``person`` is None."""

    actor: Actor
    person: Person | None = None

    @property
    def id(self) -> str:
        """The operator ID, which is stored with the operator's decisions."""
        return self.actor.id

    @property
    def audit_context(self) -> AuditContext:
        """The caller's audit context."""
        return AuditContext(self.actor, socket.gethostname())

    async def record_audit_entry(
        self, tx: Tx, audit_scope_id: UUID, action: str, subject: str, **details: str | int | bool | None
    ) -> None:
        """Record the action of the command in the audit log, in the same transaction."""
        given: Details | None = details or None
        await audit.record_entry(
            tx, audit_scope_id, self.actor, action, subject, ip_address=self.audit_context.ip_address, details=given
        )


def os_account_name() -> str:
    """The operating system account that runs the command."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container, the user ID may have no name
        return f"uid {os.getuid()}"


MACHINE: Final = CommandCaller(Actor("machine", os_account_name()))


def operator_command(role: OperatorRole, *, audit_action: str | None = None) -> Callable[[Body], Callable[..., None]]:
    """Declare a command ``body(tx, officer, ...)`` for operators with a role.

    Raises OperatorActionDenied. ``audit_action``: the action to record in the audit log. The command's first argument
    is the subject of the audit log entry.
    """

    def declare(body: Body) -> Callable[..., None]:
        async def audited(tx: Tx, officer: CommandCaller, **typed: Any) -> Output:
            if audit_action is not None:
                await officer.record_audit_entry(tx, audit.DEPLOYMENT, audit_action, next(iter(typed.values())))
            return await body(tx, officer, **typed)

        def run(command: Body) -> Output:
            async def inside(database: Database) -> Output:
                async with operator_transaction(database, role) as (tx, officer):
                    return await command(tx, officer)

            return run_with_database(inside)

        return build_typer_command(wraps(body)(audited), 2, run)

    return declare


def administrator_command(function: Body) -> Callable[..., None]:
    """Declare a command ``body(tx, officer, ...)`` for administrators.

    Raises OperatorActionDenied. Until the first operator is added, any operating system account can run the command.
    """

    def run(command: Body) -> Output:
        async def inside(database: Database) -> Output:
            async with administrator_transaction(database) as (tx, officer):
                return await command(tx, officer)

        return run_with_database(inside)

    return build_typer_command(function, 2, run)


@asynccontextmanager
async def administrator_transaction(database: Database) -> AsyncIterator[tuple[Tx, CommandCaller]]:
    """Open a transaction, with the administrator who runs the command. Raises OperatorActionDenied."""
    who = await build_administrator_check(database)
    async with database.write() as tx:
        yield tx, await who(tx)


@asynccontextmanager
async def transaction_requiring_administrator_for_changes(
    has_changes: bool, database: Database
) -> AsyncIterator[tuple[Tx, CommandCaller | None]]:
    """Open a transaction. If the command changes something, the caller must be an administrator."""
    if has_changes:
        async with administrator_transaction(database) as (tx, officer):
            yield tx, officer
        return
    async with database.write() as tx:
        yield tx, None


async def build_administrator_check(database: Database) -> Callable[[Tx], Awaitable[CommandCaller]]:
    """Ask for an administrator's token once, and return a function that checks it in each transaction.

    Until the first operator is added, the caller is the operating system account. Raises OperatorActionDenied if the
    token is not valid.
    """
    async with database.read() as tx:
        known = await operators.has_any_operator(tx)
    return await _operator_lookup(database, "administrator") if known else _machine


async def _machine(tx: Tx) -> CommandCaller:
    if not await operators.lock_and_check_no_operator_exists(tx):
        raise InvalidOperatorToken(
            "The first operator was added while this command was running. Run the command again with an operator token."
        )
    return MACHINE


@asynccontextmanager
async def operator_transaction(database: Database, *roles: OperatorRole) -> AsyncIterator[tuple[Tx, CommandCaller]]:
    """Open a transaction, with the operator who runs the command. Raises OperatorActionDenied."""
    who = await _operator_lookup(database, *roles)
    async with database.write() as tx:
        yield tx, await who(tx)


async def _operator_lookup(database: Database, *roles: OperatorRole) -> Callable[[Tx], Awaitable[CommandCaller]]:
    token = _token()

    async def who(tx: Tx) -> CommandCaller:
        person, _ = await operators.authenticate(tx, token)
        if roles:
            await operators.ensure_has_role(tx, person, *roles)
        return CommandCaller(Actor("operator", tx.ids.encode(operators.ID, person.id)), person)

    async with database.write() as tx:
        await operators.authenticate(tx, token)  # recorded even if the command is refused afterwards
    return who


def _token() -> str:
    given = settings.read_settings()
    if given.operator_token_value:
        return given.operator_token_value
    if sys.stdin.isatty():
        return str(typer.prompt("Operator token", hide_input=True, err=True)).strip()
    demo = given.data_dir / "sandbox.json"
    where = f". {demo} contains the demo operators' tokens" if given.sandbox and demo.exists() else ""
    raise InvalidOperatorToken(
        f"This command needs an operator token. Set {_SETTING}, or enter the token at a terminal. Create a token at "
        f"/operator/tokens{where}."
    )


async def require_two_person_approval_if_enabled(
    tx: Tx,
    caller: CommandCaller,
    role: OperatorRole,
    action: str,
    subject: str,
    fingerprint: bytes,
    note: str,
    audit_scope_id: UUID,
) -> ApprovedDecision | str:
    """The approved decision, or a message if a second operator must still approve the decision.

    Only requires two people if two-person approval is on.

    ``fingerprint``: a fingerprint of the evidence that was shown. Raises OperatorActionDenied if the same operator gave
    the first approval.
    """
    if caller.person is None:
        return ApprovedDecision(caller.id, note)
    agreed = await operators.require_two_person_approval_if_enabled(
        tx, caller.person, role, action, subject, fingerprint, note
    )
    return await _decision_or_notice(tx, caller, role, action, subject, agreed, audit_scope_id)


async def require_two_person_approval(
    tx: Tx,
    caller: CommandCaller,
    role: OperatorRole,
    action: str,
    subject: str,
    fingerprint: bytes,
    note: str,
    audit_scope_id: UUID,
) -> ApprovedDecision | str:
    """The approved decision, or a message if a second operator must still approve the decision.

    Always requires two people. ``fingerprint``: a fingerprint of the evidence that was shown. Raises
    OperatorActionDenied if the same operator gave the first approval.
    """
    if caller.person is None:
        return ApprovedDecision(caller.id, note)
    agreed = await operators.require_two_person_approval(tx, caller.person, role, action, subject, fingerprint, note)
    return await _decision_or_notice(tx, caller, role, action, subject, agreed, audit_scope_id)


async def _decision_or_notice(
    tx: Tx,
    officer: CommandCaller,
    role: OperatorRole,
    action: str,
    subject: str,
    agreed: ApprovedDecision | Approval,
    scope: UUID,
) -> ApprovedDecision | str:
    if isinstance(agreed, ApprovedDecision):
        return agreed
    await officer.record_audit_entry(tx, scope, action, subject, look=1)
    return (
        f"Confirmed by {officer.person.display_name if officer.person else officer.id} (1 of 2). A second operator "
        f"with the role {role} must run the same command before {agreed.expires_at:%Y-%m-%d %H:%M} UTC."
    )


async def ensure_independent_operator(tx: Tx, caller: CommandCaller, *others: str | None) -> None:
    """Raise OperatorActionDenied unless the operator is independent of everybody who made an earlier decision."""
    if caller.person is not None:
        await operators.ensure_independent_operator(tx, caller.person, [other for other in others if other])


async def build_display_name_lookup(tx: Tx, actor_ids: Iterable[str | None]) -> Callable[[str | None], str | None]:
    """Return a function that looks up the display name of the person who made a decision."""
    names = await operators.load_display_names_by_operator_id(tx, actor_ids)
    return lambda by: f"{names[by]} ({by})" if by and by in names else by
