"""The front page, error pages for browsers, and the files that browsers and crawlers request unasked."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from almoner.platform.deployment import Deployment
from almoner.platform.pages.assets import ICON
from almoner.platform.pages.rendering import PageRenderer

_TEMPLATES: Final = Path(__file__).parent / "templates"
_KINDS: Final = {404: "site.missing", 405: "site.missing", 429: "site.busy", 503: "site.busy"}
_FOR_A_DAY: Final = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
_ROBOTS: Final = "User-agent: *\nDisallow: /v1/\nDisallow: /scim/\n"
"""Pages are not in it: they have a header against being indexed, which a crawler must be able to read."""


class FrontAndErrorPages:
    """The front page and error pages. ``places``: the sandbox's pages to link to."""

    def __init__(self, deployment: Deployment, places: Callable[[], Awaitable[Mapping[str, str]]]) -> None:
        self._pages = PageRenderer(deployment, _TEMPLATES)
        self._places = places

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/", self.show_front_page, methods=["GET"]),
            Route("/favicon.ico", _show_icon, methods=["GET"]),
            Route("/robots.txt", _show_robots, methods=["GET"]),
        ]

    async def show_front_page(self, request: Request) -> HTMLResponse:
        """The front page; in the sandbox with links to its pages."""
        language = self._pages.preferred_language(request)
        return self._pages.render_page("front.html", language, places=await self._places())

    def error_page(self, request: Request, status: int) -> HTMLResponse:
        """An error page in the reader's language."""
        kind = _KINDS.get(status, "site.broken" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "site.refused")
        return self._pages.render_message(kind, self._pages.preferred_language(request), status=status)


async def _show_icon(_request: Request) -> Response:
    return Response(ICON.content, media_type=ICON.media_type, headers=_FOR_A_DAY)


async def _show_robots(_request: Request) -> Response:
    return PlainTextResponse(_ROBOTS, headers=_FOR_A_DAY)


def is_page_request(request: Request) -> bool:
    """Whether the request comes from a browser that expects a page, not from a program that expects JSON."""
    path = request.url.path
    if path.startswith(("/v1/", "/scim/")) or path in ("/v1", "/scim"):
        return False
    return "text/html" in request.headers.get("accept", "")
