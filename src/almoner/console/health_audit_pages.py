"""Pages about the audit logs of the deployment and of each partner, and the verification of their hash chains."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.members.audit_texts import AuditTexts, load_display_names_by_id
from almoner.access.operators import service as operators
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.audit_words import DEPLOYMENT_ACTIONS
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.audit import chain as audit_chain
from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit import proofs as audit_proofs
from almoner.platform.audit.log import DEPLOYMENT, AuditEntry
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, humanise_field_name

PATH: Final = "/audit-log"
CHAINS: Final = "/audit-chains"


class AuditPages:
    """Pages about the audit log."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        context, roles = self._context, sorted(ADMINISTRATORS)
        declared = ConsoleList(
            PATH,
            "Audit log",
            "The audit log records every change that is made by a person or with an API key, and every time that a "
            "secret is shown.",
            ADMINISTRATORS,
            [
                Column("Time", "moment"),
                Column("Actor"),
                Column("Action"),
                Column("Code"),
                Column("Subject"),
                Column("Network address"),
            ],
            self._load,
            filters=[
                Filter("of", label_member="Partner, or deployment"),
                Filter("who", label_member="Who (ID)"),
                Filter("action", label_member="Code of the action"),
            ],
            sort_order_description="newest first",
            actions=[(f"{CHAINS}/deployment", "Verify the chain")],
            lead="To see a partner's entries, filter by partner. Without a filter, you see only entries that do not "
            "belong to a partner.",
        )
        return [
            *list_route_builder.routes(declared),
            *action_pages.routes(self._prove_action()),
            context.route(f"{PATH}/{{scope}}/{{id}}", self.show_entry, *roles, methods=["GET"]),
            context.route(f"{CHAINS}/{{scope}}", self.show_audit_chain, *roles, methods=["GET"]),
            context.route(CHAINS, self.redirect_to_deployment_audit_chain, *roles, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        name = query.filters.get("of", "deployment")
        scope = audit_heads.audit_scope_from_name(self._context.db.deployment.ids, name)
        if scope is None:
            raise IncorrectParams("of: enter a partner's ID, or deployment")
        before = None if query.cursor is None else _uuid(query.cursor)
        async with self._context.db.read() as tx:
            found = await audit.list_entries(
                tx,
                scope,
                before,
                query.limit + 1,
                actor=query.filters.get("who"),
                action=query.filters.get("action"),
            )
            names = await self._names(tx, found)
        rows = [
            ListRow(
                f"{PATH}/{name}/{one.id}",
                (
                    one.at,
                    names.get(one.actor.id, one.actor.id),
                    self._action_words(_visitor, one.action),
                    one.action,
                    one.subject,
                    one.ip_address,
                ),
            )
            for one in found[: query.limit]
        ]
        return ListPage(rows, str(found[query.limit - 1].id) if len(found) > query.limit else None)

    async def show_entry(self, visitor: SignedInRequest) -> Response:
        """Show one audit log entry with its details."""
        name, entry_id = visitor.path.removeprefix(f"{OPERATORS_HOME}{PATH}/").split("/")
        async with self._context.db.read() as tx:
            found = await audit.find_entry(tx, _scope(tx, name), _uuid(entry_id))
            if found is None:
                raise NotFound
            names = await self._names(tx, [found])
        facts = [
            LabelledValue("Time", found.at.isoformat(), "moment"),
            self._linked(
                visitor,
                "Who",
                found.actor.id,
                _with_name(found.actor.id, names) or f"{found.actor.kind} {found.actor.id}",
            ),
            LabelledValue("Action", self._action_words(visitor, found.action)),
            LabelledValue("Code", found.action),
            self._linked(visitor, "Subject", found.subject, _with_name(found.subject, names)),
            LabelledValue("Network address", found.ip_address),
            LabelledValue("Request", found.request_id),
            *(
                self._linked(visitor, humanise_field_name(name), str(value))
                for name, value in (found.details or {}).items()
            ),
        ]
        return await self._context.render_console_page(
            visitor,
            "health_record.html",
            title=self._action_words(visitor, found.action),
            list_path=PATH,
            list_words="Audit log",
            actions=[],
            details=facts,
            advice="",
            payload="",
        )

    def _action_words(self, visitor: SignedInRequest, action: str) -> str:
        words = AuditTexts(self._context.texts(visitor), {}, visitor.portal.home, {})
        return DEPLOYMENT_ACTIONS.get(action) or str(words.action_text(action))

    def _linked(self, visitor: SignedInRequest, label: str, identifier: str, text: str | None = None) -> LabelledValue:
        return LabelledValue(label, text or identifier, href=self._context.record_path(visitor, identifier))

    async def redirect_to_deployment_audit_chain(self, visitor: SignedInRequest) -> Response:
        """Show the hash chain of the deployment's audit log."""
        return redirect_to(f"{visitor.portal.home}{CHAINS}/deployment")

    async def show_audit_chain(self, visitor: SignedInRequest) -> Response:
        """Show the length of a hash chain, its newest signed head and the result of the last verification."""
        name = visitor.path.rpartition("/")[2]
        async with self._context.db.read() as tx:
            scope = _scope(tx, name)
            status = await audit_chain.get_chain_status(tx, scope)
            proof = await audit_proofs.find_last_chain_verification(tx, scope)
        return await self._context.render_console_page(
            visitor,
            "health_audit_chain.html",
            page_keys=[("p", "Verify the chain")],
            name=name,
            chain=status,
            proof=proof,
            own=f"{CHAINS}/{name}",
            list_path=PATH,
            started=visitor.query.get("done") == "started",
        )

    def _prove_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            name = visitor.path.split("/")[-2]
            _scope(tx, name)
            return ActionPage(
                "Verify the chain",
                "Verify the chain",
                f"{CHAINS}/{name}",
                name,
                [
                    (
                        "A background worker reads all entries and compares the hash chain with its signed heads and "
                        "its exported heads."
                    ),
                    "Verifying a long audit log takes a few minutes. The verification does not change anything.",
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            name = visitor.path.split("/")[-2]
            await audit_proofs.enqueue_chain_verification(tx, _scope(tx, name))
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "audit.proof_started", name)
            return f"{CHAINS}/{name}?done=started"

        return ConsoleAction(f"{CHAINS}/{{scope}}/prove", ADMINISTRATORS, describe, perform)

    async def _names(self, tx: Tx, entries: list[AuditEntry]) -> Mapping[str, str]:
        """The display names of all operators and members in these entries, by ID."""
        found = dict(
            await operators.load_display_names_by_operator_id(
                tx, {text for one in entries for text in (one.actor.id, one.subject)}
            )
        )
        for scope in {one.scope for one in entries} - {DEPLOYMENT}:
            own = [one for one in entries if one.scope == scope]
            actors, subjects = [one.actor for one in own], [one.subject for one in own]
            found |= await load_display_names_by_id(tx, Partner(scope), actors, subjects)
        return found


def _scope(tx: Tx, name: str) -> UUID:
    if (scope := audit_heads.audit_scope_from_name(tx.ids, name)) is None:
        raise NotFound
    return scope


def _with_name(identifier: str, names: Mapping[str, str]) -> str | None:
    name = names.get(identifier)
    return f"{name} ({identifier})" if name else None


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None
