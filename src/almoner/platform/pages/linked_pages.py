"""A page behind an emailed link: opened by its token, then by a cookie.

GET and HEAD change nothing, so that programs that open every link of an email do no harm. POST needs the link's cookie,
its CSRF token and the page's own origin (architecture 5).
"""

from typing import Final
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Database
from almoner.platform.pages import link_sessions
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.error_pages import not_found_routes
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, LinkSession
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse

_COOKIE_SECONDS: Final = 24 * 3600  # the link starts a new session


class PrivateLinkPages:
    """The page of a record for the holder of its link. ``purpose``: of the tokens, and the path."""

    def __init__(self, db: Database, pages: PageRenderer, purpose: str, record_type: str) -> None:
        self._db = db
        self.pages = pages
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of_url(db.deployment.base_urls.pages)
        self._purpose = purpose
        self._type = record_type

    def routes(self) -> list[Route]:
        """Starlette routes for the page and everything below its path."""
        path = f"/{self._purpose}"
        own = [Route(path, self.open_link, methods=["GET"]), Route(path + "/{id}", self.page, methods=["GET", "POST"])]
        return [*own, *not_found_routes(path, own, self.not_found_page)]

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page for an invalid link or missing cookie."""
        return self.pages.render_message(
            "agent.unknown", self.pages.preferred_language(request), status=status, icon="link"
        )

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """The page for an unexpected error."""
        return ServerErrorResponse(
            self.pages.render_message("agent.broken", self.pages.preferred_language(request), status=500), error
        )

    @with_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        record = self._vault.read_page_token(self._purpose, request.query_params.get("token", ""))
        if record is None:
            raise NotFound
        name = self._ids.encode(self._type, record)
        response = RedirectResponse(self._action(record), 303, NO_PAGE)
        # A second tab keeps the first one's session: a new one would invalidate the open form.
        visit = link_sessions.find_link_session(request, self._vault, self._purpose, record, name)
        visit = visit or link_sessions.begin_link_session(self._vault, self._purpose, record, name)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    async def page(self, request: Request) -> Response:
        """Handle GET and POST at one path."""
        return await (self.submit_form if request.method == "POST" else self.show)(request)

    async def show(self, request: Request) -> Response:
        """Show the page."""
        raise NotImplementedError

    async def submit_form(self, request: Request) -> Response:
        """Handle the page's form."""
        raise NotImplementedError

    def _action(self, record: UUID) -> str:
        """The URL path of a record's page and form."""
        return f"/{self._purpose}/{self._ids.encode(self._type, record)}"

    def _visited(self, request: Request) -> tuple[UUID, LinkSession]:
        """The record whose link this browser has opened, and its session. Raises NotFound."""
        name = request.path_params["id"]
        record = self._ids.decode(self._type, name)
        visit = (
            None
            if record is None
            else link_sessions.find_link_session(request, self._vault, self._purpose, record, name)
        )
        if record is None or visit is None:
            raise NotFound
        return record, visit

    async def _posted(self, request: Request, visit: LinkSession) -> FormData | None:
        """The posted form; None if it lacks this browser's CSRF token or comes from another origin (H2)."""
        form = await read_form(request)
        ours = link_sessions.is_same_origin(request, self._origin) and visit.matches_csrf_token(form.get(CSRF_FIELD))
        return form if ours else None
