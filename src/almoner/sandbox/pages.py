"""The mailbox as a page (settled 9), for people who build against the sandbox; in English, as the reference is.

Where only this machine can reach the service, the page shows the mails of all partners. Elsewhere it opens by the link
of one partner, whose token a cookie takes the place of, and shows that partner's mails.
"""

from pathlib import Path
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.platform.db import EVERYONE, Database, Everyone, Partner
from almoner.platform.deployment import Deployment
from almoner.platform.pages import visits
from almoner.platform.pages.rendering import Pages
from almoner.sandbox import store

TEMPLATES: Final = Path(__file__).parent / "templates"
MAILBOX: Final = "/sandbox/mailbox"

_PURPOSE: Final = "mailbox"
_SHOWN: Final = 50
_COOKIE_SECONDS: Final = 8 * 3600


def mailbox_url(deployment: Deployment, partner: UUID) -> str:
    """Where a partner reads the sandbox's mails."""
    page = deployment.links.pages + MAILBOX
    if deployment.receivers.loopback:
        return page
    return f"{page}?token={deployment.vault.page_token(_PURPOSE, partner)}"


class MailboxPages:
    """The pages of the mailbox."""

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(MAILBOX, self.open, methods=["GET"]),
            Route(f"{MAILBOX}/{{id}}", self.show, methods=["GET"]),
        ]

    async def open(self, request: Request) -> Response:
        """All mails on a machine of one's own; elsewhere the partner whose token the link holds."""
        deployment = self._db.deployment
        if deployment.receivers.loopback:
            return await self._list(EVERYONE)
        partner = deployment.vault.read_page_token(_PURPOSE, request.query_params.get("token", ""))
        if partner is None:
            return self._unknown()
        name = deployment.ids.text("partner", partner)
        response = RedirectResponse(f"{MAILBOX}/{name}", 303, {"Cache-Control": "no-store"})
        visits.begin(deployment.vault, _PURPOSE, partner, name).keep(response, seconds=_COOKIE_SECONDS)
        return response

    async def show(self, request: Request) -> Response:
        """The mails of the partner whose link was opened in this browser."""
        deployment, name = self._db.deployment, request.path_params["id"]
        partner = deployment.ids.parse("partner", name)
        if partner is None or visits.find(request, deployment.vault, _PURPOSE, partner, name) is None:
            return self._unknown()
        return await self._list(Partner(partner))

    async def _list(self, scope: Partner | Everyone) -> Response:
        async with self._db.read() as tx:
            mails = await store.newest(tx, scope, _SHOWN)
        return self._pages.page("mailbox.html", self._pages.language(None), mails=mails, shown=_SHOWN)

    def _unknown(self) -> Response:
        return self._pages.page("no_mailbox.html", self._pages.language(None), status=404)
