"""Pages about watchlists: their versions, the age of their data, rejected imports, and an action to retire a list."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists import jobs as watchlists_jobs
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import WatchlistImportRefused, WatchlistVersion

PATH: Final = "/watch-lists"
_LOADS: Final = 20


class WatchlistPages:
    """Pages about watchlists."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        context, roles = self._context, sorted(ADMINISTRATORS)
        return [
            context.route(PATH, self.list_watchlists, *roles, methods=["GET"]),
            *action_pages.routes(self._refresh_action(), self._retire_action()),
            context.route(f"{PATH}/{{code}}", self.show_watchlist, *roles, methods=["GET"]),
        ]

    async def list_watchlists(self, visitor: SignedInRequest) -> Response:
        """List all watchlists with their age, maximum age and refresh schedule, and rejected imports."""
        async with self._context.db.snapshot() as tx:
            versions = await watchlists.list_current_versions(tx)
            refused = await watchlists.list_latest_refused_imports(tx)
            refreshes = {one.list: one for one in await watchlists.list_refresh_states(tx)}
            now = tx.now
        started = visitor.query.get("done") == "started"
        return await self._context.render_console_page(
            visitor,
            "data_watchlists.html",
            page_keys=[("i", "Import a watchlist")],
            versions=[(one, one.is_stale(now), refreshes.get(one.code)) for one in versions],
            unloaded=[one for code, one in refreshes.items() if code not in {version.code for version in versions}],
            refused=refused,
            own=PATH,
            started=started,
        )

    async def show_watchlist(self, visitor: SignedInRequest) -> Response:
        """Show a watchlist and its latest imports."""
        async with self._context.db.snapshot() as tx:
            version = await _version(tx, visitor.path.rpartition("/")[2])
            is_late = version.is_stale(tx.now)
            refresh = next((one for one in await watchlists.list_refresh_states(tx) if one.list == version.code), None)
            loads = await watchlists.list_imports(tx, version.code, _LOADS)
        return await self._context.render_console_page(
            visitor,
            "data_watchlist.html",
            page_keys=[("r", "Refresh now")],
            version=version,
            is_late=is_late,
            refresh=refresh,
            loads=loads,
            list_path=PATH,
            own=f"{PATH}/{version.code}",
        )

    def _refresh_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            version = await _version(tx, _code(visitor))
            planned = await watchlists_jobs.is_refresh_scheduled(tx, version.code)
            return ActionPage(
                f"Refresh {version.code} now",
                "Refresh now",
                f"{PATH}/{version.code}",
                version.code,
                [
                    "A background worker downloads the watchlist from its publisher and imports it if it has changed.",
                    (
                        "All monitored organisations and people are then screened against the list again. New matches "
                        "are added to the review queue."
                    ),
                    "If the list looks damaged, the import is rejected and administrators get an email.",
                ],
                closed=None
                if planned
                else "This watchlist has no refresh schedule. To add a schedule, set ALMONER_WATCHLIST_SCHEDULE.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            version = await _version(tx, _code(visitor))
            if not await watchlists_jobs.is_refresh_scheduled(tx, version.code):
                raise WatchlistImportRefused("This watchlist has no refresh schedule.")
            await watchlists_jobs.enqueue_refresh(tx, version.code)
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "watchlist.refresh_started", version.code)
            return f"{PATH}?done=started"

        path = f"{PATH}/{{code}}/refresh"
        return ConsoleAction(path, ADMINISTRATORS, describe, perform, refusal_errors=(WatchlistImportRefused,))

    def _retire_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            version = await _version(tx, _code(visitor))
            return ActionPage(
                f"Retire {version.code}",
                "Retire the list",
                f"{PATH}/{version.code}",
                version.code,
                [
                    "The watchlist no longer flags anyone.",
                    f"{version.load.entries:,} entries are removed from screening.",
                    "Past decisions about matches still apply. To use the watchlist again, import a new version.",
                    "For a category that no other list covers, screening can no longer return the result “clear”.",
                ],
                closed=None if version.load.entries else "This watchlist has been retired.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            version = await _version(tx, _code(visitor))
            retired = await watchlists_flows.retire_watchlist(tx, version.code)
            await self._context.record_audit_entry(
                tx, visitor, DEPLOYMENT, "watchlist.retired", version.code, entries=retired.removed
            )
            return PATH

        path = f"{PATH}/{{code}}/retire"
        return ConsoleAction(
            path,
            ADMINISTRATORS,
            describe,
            perform,
            refusal_errors=(WatchlistImportRefused,),
            requires_reauthentication=True,
        )


async def count_outdated_watchlists(tx: Tx) -> int:
    """The number of watchlists that are older than their maximum age."""
    return sum(one.is_stale(tx.now) for one in await watchlists.list_current_versions(tx))


async def count_watchlists_with_rejected_import(tx: Tx) -> int:
    """The number of watchlists whose newest import was rejected."""
    return len(await watchlists.list_latest_refused_imports(tx))


def _code(visitor: SignedInRequest) -> str:
    return visitor.path.removeprefix(f"{OPERATORS_HOME}{PATH}/").split("/")[0]


async def _version(tx: Tx, code: str) -> WatchlistVersion:
    found = next((one for one in await watchlists.list_current_versions(tx) if one.code == code), None)
    if found is None:
        raise NotFound
    return found
