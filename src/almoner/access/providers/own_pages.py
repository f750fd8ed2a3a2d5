"""The account at the provider by which a member signs in, as they see it, connect it and disconnect it."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME, PROVIDER_ACCOUNT
from almoner.access.accounts.gate import Gate, Visitor, to
from almoner.access.sign_on import service
from almoner.access.sign_on.domain import LastWayIn
from almoner.access.sign_on.service import identities
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.rendering import Pages

_TOLD: Final = {
    "connected": "SSO account connected. You can now sign in with it.",
    "disconnected": "SSO account disconnected. You can no longer sign in with it.",
}
_LAST: Final = "This is your only way to sign in. Set a password or add a passkey first."


class OwnPages:
    """The page."""

    def __init__(self, gate: Gate, pages: Pages) -> None:
        self._gate = gate
        self._db = gate.db
        self._pages = pages

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        path = f"{MEMBERS_HOME}/{{partner}}{PROVIDER_ACCOUNT}"
        return [self._gate.signed_in(path, self.account, fresh=True)]

    async def account(self, visitor: Visitor) -> Response:
        """What is connected; disconnect it."""
        problems = {}
        if visitor.typed("do") == "disconnect":
            try:
                async with self._db.write() as tx:
                    await identities.unbind_own(tx, visitor.person, visitor.by(self._db.deployment.ids))
                return to(f"{visitor.path}?told=disconnected")
            except LastWayIn:
                problems = {"disconnect": _LAST}
        async with self._db.read() as tx:
            bound = await identities.of_person(tx, visitor.person)
            provider = await service.offered(tx, Partner(visitor.realm.id))
        return self._gate.show(
            self._pages,
            visitor,
            "provider_account.html",
            status=422 if problems else 200,
            problems=problems,
            bound=bound,
            provider=provider,
            told=_TOLD.get(visitor.query.get("told", ""), ""),
        )
