"""The page on which a member connects or disconnects their single sign-on account."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME, PROVIDER_ACCOUNT
from almoner.access.accounts.page_guard import PageGuard, Visitor, redirect_to
from almoner.access.sso import service as sso
from almoner.access.sso.domain import LastSignInMethodRequired
from almoner.access.sso.service import identities
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.rendering import PageRenderer

_REPORTED: Final = {
    "connected": "SSO account connected. You can now sign in with it.",
    "disconnected": "SSO account disconnected. You can no longer sign in with it.",
}
_LAST: Final = "This is your only way to sign in. Set a password or add a passkey first."


class ProviderAccountPages:
    """The page about one's own single sign-on account."""

    def __init__(self, gate: PageGuard, pages: PageRenderer) -> None:
        self._gate = gate
        self._db = gate.db
        self._pages = pages

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        path = f"{MEMBERS_HOME}/{{partner}}{PROVIDER_ACCOUNT}"
        return [self._gate.protected_route(path, self.account, fresh=True)]

    async def account(self, visitor: Visitor) -> Response:
        """Show, connect or disconnect the single sign-on account."""
        problems = {}
        if visitor.form_value("do") == "disconnect":
            try:
                async with self._db.write() as tx:
                    await identities.unlink_own_accounts(
                        tx, visitor.person, visitor.audit_context(self._db.deployment.ids)
                    )
                return redirect_to(f"{visitor.path}?done=disconnected")
            except LastSignInMethodRequired:
                problems = {"disconnect": _LAST}
        async with self._db.read() as tx:
            bound = await identities.list_by_person(tx, visitor.person)
            provider = await sso.find_sso_option(tx, Partner(visitor.realm.id))
        return self._gate.render_page(
            self._pages,
            visitor,
            "provider_account.html",
            status=422 if problems else 200,
            problems=problems,
            bound=bound,
            provider=provider,
            message=_REPORTED.get(visitor.query.get("done", ""), ""),
        )
