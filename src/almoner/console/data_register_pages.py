"""Pages about registers and their imports, including quarantined imports."""

from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.kit.errors import NotFound
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import RegisterImport
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue

REGISTERS: Final = "/registers"
LOADS: Final = "/register-imports"
_ID: Final = "registerload"
_STATUSES: Final = ("loaded", "quarantined", "rolled_back")
_REJECTED_SHOWN: Final = 50
_DIFFERENCES_SHOWN: Final = 50


class RegisterPages:
    """Pages about registers."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder) -> list[Route]:
        """Starlette routes."""
        context, roles = self._context, sorted(ADMINISTRATORS)
        declared = ConsoleList(
            LOADS,
            "Register imports",
            "Imports of registers appear here. Upload a register, or add a register to the schedule.",
            ADMINISTRATORS,
            [
                Column("Import", "id"),
                Column("Source"),
                Column("Status", "status"),
                Column("Data as of"),
                Column("Loaded", "moment", place="below"),
                Column("Rows"),
                Column("Added"),
                Column("Changed"),
                Column("Removed"),
                Column("Rejected"),
            ],
            self._load,
            filters=[
                Filter("source", label_member="Source"),
                Filter("status", "choice", _STATUSES, label_member="Status"),
            ],
            views=[("All", {}), ("In quarantine", {"status": "quarantined"})],
            sort_order_description="newest first",
            actions=((f"{LOADS}/upload", "Import a register"),),
        )
        return [
            context.route(REGISTERS, self.list_registers, *roles, methods=["GET"]),
            *list_route_builder.routes(declared),
            context.route(f"{LOADS}/{{id}}", self.show_import, *roles, methods=["GET"]),
        ]

    async def list_registers(self, visitor: SignedInRequest) -> Response:
        """List sources with the age of their data, the maximum age, the refresh schedule and the last refresh."""
        async with self._context.db.read() as tx:
            found = await registers.list_source_freshness(tx)
            late = [one.is_stale(tx.now) for one in found]
        return await self._context.render_console_page(
            visitor,
            "data_registers.html",
            page_keys=[("i", "Import a register")],
            sources=found,
            late=late,
            started=visitor.query.get("done") == "started",
        )

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        before = None if query.cursor is None else self._context.parse_id(_ID, query.cursor)
        source, status = query.filters.get("source"), query.filters.get("status")
        async with self._context.db.read() as tx:
            found = await registers.list_imports_page(tx, source, status, before, query.limit + 1)
            total = await registers.count_imports(tx, source, status)
        rows = [self._row(one) for one in found[: query.limit]]
        more = len(found) > query.limit
        return ListPage(rows, self._context.format_id(_ID, found[query.limit - 1].id) if more else None, total)

    def _row(self, one: RegisterImport) -> ListRow:
        text = self._context.format_id(_ID, one.id)
        moments = (one.data_as_of.date(), one.loaded_at)
        counts = (one.rows, one.added, one.changed, one.removed, one.quarantined)
        return ListRow(f"{LOADS}/{text}", (text, one.source, one.status, *moments, *counts))

    async def show_import(self, visitor: SignedInRequest) -> Response:
        """Show an import: its counts, the reasons for a quarantine, and the rows and values that could not be read."""
        load_id = self._context.parse_id_from_path(visitor, _ID)
        async with self._context.db.snapshot() as tx:
            load = await registers.find_import(tx, load_id)
            if load is None:
                raise NotFound
            stored = load.status != "quarantined"  # a quarantined one states its differences itself
            facts = await self._facts_of(tx, load, compare=stored and visitor.query.get("compare") == "previous")
        own = f"{LOADS}/{self._context.format_id(_ID, load.id)}"
        keys = [("r", "Release"), ("x", "Refuse")] if facts["decidable"] else []
        return await self._context.render_console_page(
            visitor, "data_load.html", page_keys=keys, load=load, own=own, list_path=LOADS, **facts
        )

    async def _facts_of(self, tx: Tx, load: RegisterImport, *, compare: bool) -> dict[str, Any]:
        decision = await registers.find_decision(tx, load.id)
        names = await operators.load_display_names_by_operator_id(tx, [decision.decided_by] if decision else [])
        difference = None
        if compare and (before := await registers.find_previous_import(tx, load)) is not None:
            ignored = await registers.list_ignored_columns(tx, load.source)
            difference = await registers.compare_imports(tx, before, load, ignored, _DIFFERENCES_SHOWN)
        return {
            "details": _facts(load),
            "rejected": await registers.list_rejected_rows(tx, load.id, _REJECTED_SHOWN),
            "fetched": [url for url, _ in await registers.list_fetched_urls_and_hashes(tx, load.id)],
            "decision": decision,
            "decided_by": names.get(decision.decided_by, decision.decided_by) if decision else "",
            "decidable": not await registers.decision_refusal_reason(tx, load),
            "difference": difference,
            "quarantined": await registers.find_quarantined_differences(tx, load.id),
            "compared": compare,
        }


def _facts(load: RegisterImport) -> list[LabelledValue]:
    return [
        LabelledValue("Source", load.source),
        LabelledValue("Registry", load.registry_code),
        LabelledValue("Status", load.status, "status"),
        LabelledValue("Data as of", str(load.data_as_of.date())),
        LabelledValue("Loaded", load.loaded_at.isoformat(), "moment"),
        LabelledValue("Imported although the file looked damaged", load.forced, "yes_no"),
        LabelledValue("Rows", f"{load.rows:,}"),
        LabelledValue("Numbers added", f"{load.added:,}"),
        LabelledValue("Numbers changed", f"{load.changed:,}, and {load.ignored_changes:,} in ignored columns only"),
        LabelledValue("Numbers removed", f"{load.removed:,}"),
        LabelledValue("Rows rejected", f"{load.quarantined:,}"),
        LabelledValue("Registration numbers left unchanged because of rejected rows", f"{load.carried_over:,}"),
        LabelledValue("Ambiguous links", f"{load.ambiguous:,}"),
    ]
