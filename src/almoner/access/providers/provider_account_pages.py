"""The page on which a member connects or disconnects their single sign-on account."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import PROVIDER_ACCOUNT
from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.sso import service as sso
from almoner.access.sso.domain import LastSignInMethodCannotBeRemoved
from almoner.access.sso.service import identities

_DONE: Final = {"connected": "sso.done.connected", "disconnected": "sso.done.disconnected"}


class IdentityProviderAccountPages:
    """The page about a person's own SSO account."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._db = context.db

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        return [self._context.route(PROVIDER_ACCOUNT, self.manage_sso_account, requires_reauthentication=True)]

    async def manage_sso_account(self, visitor: SignedInRequest) -> Response:
        """Show, connect or disconnect the single sign-on account."""
        problems, texts = {}, build_page_texts(self._context, visitor)
        if visitor.form_value("do") == "disconnect":
            try:
                async with self._db.write() as tx:
                    await identities.unlink_accounts_unless_last_method(
                        tx, visitor.person, self._context.audit_context(visitor)
                    )
                return redirect_to(f"{visitor.path}?done=disconnected")
            except LastSignInMethodCannotBeRemoved:
                problems = {"disconnect": texts.text("sso.problem.last")}
        async with self._db.read() as tx:
            bound = await identities.list_linked_accounts(tx, visitor.person)
            provider = await sso.find_sso_option(tx, partner_from_request(visitor))
        done = _DONE.get(visitor.query.get("done", ""))
        return self._context.render_page(
            visitor,
            "provider_account.html",
            language=texts.language,
            status=422 if problems else 200,
            problems=problems,
            bound=bound,
            provider=provider,
            moment=texts.timestamp_text,
            message=texts.text(done) if done else "",
        )
