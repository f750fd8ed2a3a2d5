"""Where operators begin: what is theirs, what waits for a second person, and how much waits of each kind."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import OPERATORS_DESK
from almoner.access.accounts.page_guard import Visitor
from almoner.access.people.domain import OPERATOR_ROLES, Role
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.platform.database.transactions import Tx


@dataclass(frozen=True, slots=True)
class DeskLine:
    """How much waits. ``path``: the list of what is counted; ``oldest``: since when the first waits."""

    words: str
    path: str
    count: int
    oldest: datetime | None = None


DeskSource = Callable[[Tx, Visitor], Awaitable[Sequence[DeskLine]]]
"""A function that lists the waiting work of one part of the console, without empty lines."""


@dataclass(frozen=True, slots=True)
class DeskSection:
    """Lines under a heading, for operators with one of the roles."""

    heading: str
    roles: frozenset[Role]
    load: DeskSource


class DeskPages:
    """The page."""

    def __init__(self, context: ConsoleContext, sections: Sequence[DeskSection]) -> None:
        self._context = context
        self._sections = sections

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(OPERATORS_DESK, self.show, *OPERATOR_ROLES, methods=["GET"])]

    async def show(self, visitor: Visitor) -> Response:
        """Every section that the visitor may see."""
        shown = []
        async with self._context.db.read() as tx:
            for section in self._sections:
                if not section.roles.isdisjoint(visitor.person.roles):
                    lines = [line for line in await section.load(tx, visitor) if line.count]
                    shown.append((section.heading, lines))
        return await self._context.show(visitor, "desk_home.html", sections=shown, most=MOST_COUNTED)
