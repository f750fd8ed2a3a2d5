"""The page that lists operators' sessions. An administrator can sign an operator out there."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import SignIn
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext, Counter
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.operator_start_page import StartPageSection
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, LabelledValue

PATH: Final = "/sessions"
COUNTERS: Final[dict[str, Counter]] = {}
_ID: Final = "signin"


def start_page_sections(_context: ConsoleContext) -> Sequence[StartPageSection]:
    """Returns no sections, because sessions need no decisions."""
    return []


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    pages = _SessionPages(context)
    return [*ListRouteBuilder(context).routes(pages.declared()), *ActionPages(context).routes(pages.end_action())]


class _SessionPages:
    """The list of sessions, and the action to sign an operator out."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def declared(self) -> ConsoleList:
        """The list."""
        columns = [
            Column("Operator"),
            Column("Browser"),
            Column("Network address"),
            Column("Signed in", "moment"),
            Column("Last seen", "moment"),
        ]
        about = "Operators who are signed in are listed here."
        return ConsoleList(
            PATH,
            "Operators' sessions",
            about,
            ADMINISTRATORS,
            columns,
            self._load,
            sort_order_description="most recently active first",
        )

    async def _load(self, _visitor: SignedInRequest, _query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            found = await sign_ins.list_active_sign_ins(tx, OPERATORS)
            names = {one.person.id: one.person.display_name for one in await operators.list_operators(tx)}
        rows = [
            ListRow(
                f"{PATH}/{self._context.format_id(_ID, one.id)}/end",
                (names[one.person_id], one.device, one.address, one.created_at, one.last_seen_at),
            )
            for one in found
        ]
        return ListPage(rows, None, len(rows))

    def end_action(self) -> ConsoleAction:
        """The action to sign an operator out of one browser."""

        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            session = await self._session(tx, visitor)
            person = await people.get(tx, OPERATORS, session.person_id)
            return ActionPage(
                "Sign out",
                "Sign out",
                PATH,
                "Operators' sessions",
                [f"{person.display_name} is signed out of this browser immediately, but can sign in again."],
                facts=[
                    LabelledValue("Browser", session.device),
                    LabelledValue("Network address", session.address),
                    LabelledValue("Signed in", session.created_at.isoformat(), "moment"),
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            session = await self._session(tx, visitor)
            person = await people.get_for_update(tx, OPERATORS, session.person_id)
            await sign_ins.end_sign_in(tx, person, session.id, "revoked", self._context.audit_context(visitor))
            return PATH

        return ConsoleAction(f"{PATH}/{{id}}/end", ADMINISTRATORS, describe, perform, requires_reauthentication=True)

    async def _session(self, tx: Tx, visitor: SignedInRequest) -> SignIn:
        session_id = self._context.parse_id(_ID, visitor.path.split("/")[-2])
        found = next((one for one in await sign_ins.list_active_sign_ins(tx, OPERATORS) if one.id == session_id), None)
        if found is None:
            raise NotFound
        return found
