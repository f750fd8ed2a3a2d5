"""The mailbox as a page (settled 9), for people who build against the sandbox; in English, as the reference is.

Where only this machine can reach the service, the page shows the mails of all partners. Elsewhere it opens by the link
of one partner, whose token a cookie takes the place of, and shows that partner's mails.
"""

from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Database, Partner
from almoner.platform.pages import link_sessions
from almoner.platform.pages.rendering import PageRenderer
from almoner.sandbox import store
from almoner.sandbox.mailbox import ATTACHMENT, MAILBOX, PURPOSE, attachment_url

TEMPLATES: Final = Path(__file__).parent / "templates"

_SHOWN: Final = 50
_COOKIE_SECONDS: Final = 8 * 3600


class MailboxPages:
    """The pages of the mailbox."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        self._db = db
        self._pages = pages

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(MAILBOX, self.open_mailbox, methods=["GET"]),
            Route(f"{MAILBOX}/{{id}}", self.show, methods=["GET"]),
            Route(f"{MAILBOX}/attachments/{{name}}", self.download, methods=["GET"]),
        ]

    async def open_mailbox(self, request: Request) -> Response:
        """Show all emails if only this machine can reach the service, else those of the token's partner."""
        deployment = self._db.deployment
        if deployment.outbound_address_policy.allows_loopback:
            return await self._list(ALL_PARTNERS)
        partner = deployment.vault.read_page_token(PURPOSE, request.query_params.get("token", ""))
        if partner is None:
            return self._unknown()
        name = deployment.ids.encode("partner", partner)
        response = RedirectResponse(f"{MAILBOX}/{name}", 303, {"Cache-Control": "no-store"})
        link_sessions.begin_link_session(deployment.vault, PURPOSE, partner, name).set_cookie(
            response, max_age_seconds=_COOKIE_SECONDS
        )
        return response

    async def show(self, request: Request) -> Response:
        """Show the emails of the partner whose link was opened in this browser."""
        deployment, name = self._db.deployment, request.path_params["id"]
        partner = deployment.ids.decode("partner", name)
        if (
            partner is None
            or link_sessions.find_link_session(request, deployment.vault, PURPOSE, partner, name) is None
        ):
            return self._unknown()
        return await self._list(Partner(partner))

    async def download(self, request: Request) -> Response:
        """Download an attachment by its URL."""
        mail_id = self._db.deployment.vault.read_page_token(ATTACHMENT, request.query_params.get("token", ""))
        if mail_id is None:
            return self._unknown()
        name = request.path_params["name"]
        async with self._db.read() as tx:
            found = await store.find_attachment(tx, mail_id, name)
        if found is None:
            return self._unknown()
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}",
            "X-Content-Type-Options": "nosniff",
        }
        return Response(found.content, media_type=found.media_type, headers=headers)

    async def _list(self, scope: Partner | AllPartners) -> Response:
        async with self._db.read() as tx:
            mails = await store.list_newest_mails(tx, scope, _SHOWN)
        return self._pages.render_page(
            "mailbox.html",
            self._pages.language_for_tag(None),
            mails=mails,
            shown=_SHOWN,
            file_url=partial(attachment_url, self._db.deployment),
        )

    def _unknown(self) -> Response:
        return self._pages.render_page("no_mailbox.html", self._pages.language_for_tag(None), status=404)
