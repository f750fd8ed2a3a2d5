"""The console's start page: the operator's own cases, pending second approvals, and the number of open items."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import OPERATOR_START_PAGE
from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.people.domain import OPERATOR_ROLES, Role
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.platform.database.transactions import Tx


@dataclass(frozen=True, slots=True)
class StartPageLine:
    """The number of open items of one kind.

    ``path``: the page that lists the items. ``oldest_at``: when the oldest item arrived.
    """

    label: str
    path: str
    count: int
    oldest_at: datetime | None = None


StartPageLoader = Callable[[Tx, SignedInRequest], Awaitable[Sequence[StartPageLine]]]
"""Lists the open items of one section of the console. Lines with a count of 0 are not shown."""


@dataclass(frozen=True, slots=True)
class StartPageSection:
    """A group of lines with a heading, shown to operators with one of the roles."""

    heading: str
    roles: frozenset[Role]
    load: StartPageLoader


class OperatorStartPage:
    """The page that operators see first after they sign in."""

    def __init__(self, context: ConsoleContext, sections: Sequence[StartPageSection]) -> None:
        self._context = context
        self._sections = sections

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(OPERATOR_START_PAGE, self.show, *OPERATOR_ROLES, methods=["GET"])]

    async def show(self, visitor: SignedInRequest) -> Response:
        """Show the start page with all sections that the visitor has access to."""
        shown = []
        async with self._context.db.read() as tx:
            for section in self._sections:
                if not section.roles.isdisjoint(visitor.person.roles):
                    lines = [line for line in await section.load(tx, visitor) if line.count]
                    shown.append((section.heading, lines))
        return await self._context.render_console_page(visitor, "desk_home.html", sections=shown, most=MOST_COUNTED)
