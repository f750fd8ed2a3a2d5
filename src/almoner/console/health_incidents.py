"""Pages about incidents that administrators publish on the public status page."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS, EVERYBODY
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.service_status_page import PATH as STATUS_PATH
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.observability import incidents
from almoner.platform.observability.incidents import (
    AFFECTED,
    ID,
    OPEN_STATUSES,
    Incident,
    IncidentAlreadyResolved,
    IncidentStatus,
    NoSuchIncident,
)
from almoner.platform.pages.record_tables import Column, LabelledValue, TimelineStep, humanise_field_name

PATH: Final = "/health/incidents"
_PUBLIC: Final = (
    "Your text appears on the public status page within a minute. Do not name partners, donors or nonprofits."
)
_STATUSES: Final = [(status, humanise_field_name(status)) for status in OPEN_STATUSES]
_TEXT: Final = ActionField("text", "Message for partners", "area")


class IncidentPages:
    """Pages about incidents."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        declared = ConsoleList(
            PATH,
            "Incidents",
            "Incidents that you report on the public status page are listed here.",
            EVERYBODY,
            [
                Column("Incident"),
                Column("Affected"),
                Column("Status", "status"),
                Column("Started", "moment"),
                Column("Last update", "moment"),
                Column("Resolved", "moment"),
            ],
            self._load,
            sort_order_description="newest first",
            actions=[(f"{PATH}/new", "Report an incident")],
            action_roles=ADMINISTRATORS,
        )
        return [
            *list_route_builder.routes(declared),
            *action_pages.routes(self._create_action(), self._update_action(), self._resolve_action()),
            self._context.route(f"{PATH}/{{id}}", self.show_incident, *sorted(EVERYBODY), methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        before = None if query.cursor is None else self._context.parse_id(ID, query.cursor)
        async with self._context.db.read() as tx:
            found = await incidents.list_incidents(tx, before, query.limit + 1)
        rows = [
            ListRow(
                f"{PATH}/{self._context.format_id(ID, one.id)}",
                (
                    one.title,
                    one.affected_name,
                    one.status,
                    one.started_at,
                    one.updates[0].created_at,
                    one.resolved_at,
                ),
            )
            for one in found[: query.limit]
        ]
        more = len(found) > query.limit
        return ListPage(rows, self._context.format_id(ID, found[query.limit - 1].id) if more else None)

    async def show_incident(self, visitor: SignedInRequest) -> Response:
        """Show an incident and its updates."""
        incident_id = self._context.parse_id_from_path(visitor, ID)
        async with self._context.db.read() as tx:
            found = await _find(tx, incident_id)
            names = await operators.load_display_names_by_operator_id(
                tx, [update.written_by for update in found.updates]
            )
        own = f"{PATH}/{self._context.format_id(ID, found.id)}"
        actions = []
        if found.resolved_at is None and visitor.person.has_role(*ADMINISTRATORS):
            actions = [(f"{own}/update", "Post an update", "u"), (f"{own}/resolve", "Resolve the incident", "r")]
        return await self._context.render_console_page(
            visitor,
            "health_incident.html",
            title=found.title,
            list_path=PATH,
            list_words="Incidents",
            actions=actions,
            page_keys=[(key, words) for _, words, key in actions],
            details=_facts(found),
            steps=[
                TimelineStep(
                    f"{humanise_field_name(update.status)}: {update.text}",
                    "done",
                    update.created_at.isoformat(),
                    names.get(update.written_by, update.written_by),
                )
                for update in found.updates
            ],
            status_path=STATUS_PATH,
        )

    def _create_action(self) -> ConsoleAction:
        async def describe(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
            return ActionPage(
                "Report an incident",
                "Publish the incident",
                PATH,
                "Incidents",
                [_PUBLIC],
                fields=[
                    ActionField("title", "Title", hint="For example: Webhooks are delayed", maxlength=120),
                    ActionField("affected", "Affected part", "choice", choices=list(AFFECTED.items())),
                    ActionField("status", "Status", "choice", choices=_STATUSES),
                    _TEXT,
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            by = self._context.operator_id(visitor)
            status = _status(entered_values)
            new = await incidents.create_incident(
                tx, entered_values["title"], entered_values["affected"], status, entered_values["text"], by
            )
            text = self._context.format_id(ID, new)
            await self._context.record_audit_entry(
                tx,
                visitor,
                DEPLOYMENT,
                "incident.reported",
                text,
                title=entered_values["title"],
                affected=entered_values["affected"],
                status=status,
            )
            return f"{PATH}/{text}"

        return ConsoleAction(f"{PATH}/new", ADMINISTRATORS, describe, perform)

    def _update_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            found, own = await self._found(tx, visitor)
            return ActionPage(
                "Post an update",
                "Publish the update",
                own,
                found.title,
                [_PUBLIC],
                fields=[ActionField("status", "Status", "choice", choices=_STATUSES, value=found.status), _TEXT],
                facts=_facts(found),
                closed=_closed(found),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            return await self._publish(tx, visitor, _status(entered_values), entered_values["text"], "incident.updated")

        return ConsoleAction(
            f"{PATH}/{{id}}/update", ADMINISTRATORS, describe, perform, refusal_errors=(IncidentAlreadyResolved,)
        )

    def _resolve_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            found, own = await self._found(tx, visitor)
            sentences = [
                _PUBLIC,
                ("The incident stays on the status page for 14 days. A resolved incident cannot be reopened."),
            ]
            return ActionPage(
                "Resolve the incident",
                "Resolve the incident",
                own,
                found.title,
                sentences,
                fields=[_TEXT],
                facts=_facts(found),
                closed=_closed(found),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            return await self._publish(tx, visitor, "resolved", entered_values["text"], "incident.resolved")

        return ConsoleAction(
            f"{PATH}/{{id}}/resolve", ADMINISTRATORS, describe, perform, refusal_errors=(IncidentAlreadyResolved,)
        )

    async def _found(self, tx: Tx, visitor: SignedInRequest) -> tuple[Incident, str]:
        """The incident in the URL, and the path of the incident's page."""
        own = visitor.path.removeprefix(visitor.portal.home).rpartition("/")[0]
        return await _find(tx, self._context.parse_id(ID, own.rpartition("/")[2])), own

    async def _publish(self, tx: Tx, visitor: SignedInRequest, status: IncidentStatus, text: str, action: str) -> str:
        found, own = await self._found(tx, visitor)
        await incidents.update_incident(tx, found.id, status, text, self._context.operator_id(visitor))
        await self._context.record_audit_entry(
            tx, visitor, DEPLOYMENT, action, self._context.format_id(ID, found.id), status=status
        )
        return own


def _status(entered_values: Mapping[str, str]) -> IncidentStatus:
    """The status that the operator selected, one of ``OPEN_STATUSES``."""
    return next(status for status in OPEN_STATUSES if status == entered_values["status"])


def _closed(found: Incident) -> str | None:
    return "The incident has been resolved." if found.resolved_at else None


async def _find(tx: Tx, incident_id: UUID) -> Incident:
    try:
        return await incidents.get_incident(tx, incident_id)
    except NoSuchIncident:
        raise NotFound from None


def _facts(found: Incident) -> list[LabelledValue]:
    return [
        LabelledValue("Affected", found.affected_name),
        LabelledValue("Status", found.status, "status"),
        LabelledValue("Started", found.started_at.isoformat(), "moment"),
        *([LabelledValue("Resolved", found.resolved_at.isoformat(), "moment")] if found.resolved_at else []),
    ]
