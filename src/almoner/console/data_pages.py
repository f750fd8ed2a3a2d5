"""All pages about registers, watchlists, organisations and activity tags."""

from collections.abc import Sequence
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console import data_watchlist_pages as watchlist_pages
from almoner.console.actions import ActionPages
from almoner.console.context import ConsoleContext, Counter
from almoner.console.data_activity_pages import OrganisationActivityPages
from almoner.console.data_merge_pages import MERGES, MergePages, count_pending_merges
from almoner.console.data_organisation_actions import OrganisationActions
from almoner.console.data_organisation_pages import OrganisationPages
from almoner.console.data_register_actions import RegisterActions
from almoner.console.data_register_pages import LOADS, REGISTERS, RegisterPages
from almoner.console.data_upload_pages import ImportUploadPages
from almoner.console.data_watchlist_pages import WatchlistPages
from almoner.console.data_watchlist_search import WatchlistSearchPage
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ListRouteBuilder
from almoner.console.operator_start_page import StartPageLine, StartPageSection
from almoner.nonprofits.registers import service as registers
from almoner.platform.database.transactions import Tx


async def _count_late(tx: Tx) -> int:
    return sum(one.is_stale(tx.now) for one in await registers.list_source_freshness(tx))


COUNTERS: Final[dict[str, Counter]] = {
    LOADS: registers.count_undecided_imports,
    REGISTERS: _count_late,
    watchlist_pages.PATH: watchlist_pages.count_outdated_watchlists,
}


def start_page_sections(_context: ConsoleContext) -> Sequence[StartPageSection]:
    """The section about registers on the console's start page."""

    async def waiting(tx: Tx, _visitor: SignedInRequest) -> list[StartPageLine]:
        return [
            StartPageLine(
                "Imports in quarantine", f"{LOADS}?status=quarantined", await registers.count_undecided_imports(tx)
            ),
            StartPageLine("Registers with outdated data", REGISTERS, await _count_late(tx)),
            StartPageLine(
                "Outdated watchlists", watchlist_pages.PATH, await watchlist_pages.count_outdated_watchlists(tx)
            ),
            StartPageLine(
                "Rejected watchlist imports",
                watchlist_pages.PATH,
                await watchlist_pages.count_watchlists_with_rejected_import(tx),
            ),
            StartPageLine("Merges waiting for a second approval", MERGES, await count_pending_merges(tx)),
        ]

    return [StartPageSection("Data", ADMINISTRATORS, waiting)]


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    lists, actions = ListRouteBuilder(context), ActionPages(context)
    return [
        *actions.routes(*RegisterActions(context).actions()),
        *ImportUploadPages(context).routes(),
        *RegisterPages(context).routes(lists),
        *WatchlistSearchPage(context).routes(),
        *WatchlistPages(context).routes(actions),
        *OrganisationActivityPages(context).routes(actions),
        *MergePages(context).routes(),
        *OrganisationActions(context).routes(),
        *OrganisationPages(context).routes(),
    ]
