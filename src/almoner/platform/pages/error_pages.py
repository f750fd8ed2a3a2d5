"""Not-found pages for unknown paths next to hosted pages."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.platform.pages.headers import NO_PAGE

_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def not_found_routes(
    prefix: str, routes: Sequence[Route], render: Callable[[Request, int], Response | Awaitable[Response]]
) -> list[Route]:
    """Catch-all routes below ``prefix`` for unknown paths and methods.

    ``render`` renders the page with a status: 404, or 405 if the path exists with other methods. A path that only
    accepts forms is requested when somebody reloads a page with a form error: they are redirected to the page above it.
    """

    async def answer(request: Request) -> Response:
        here = [route for route in routes if route.path_regex.match(request.url.path)]
        if here and request.method in ("GET", "HEAD"):
            return RedirectResponse(request.url.path.rpartition("/")[0], 303, NO_PAGE)
        page = render(request, 405 if here else 404)
        response = await page if isinstance(page, Awaitable) else page
        if here:
            response.headers["Allow"] = ", ".join(sorted({method for one in here for method in one.methods or ()}))
        return response

    return [Route(prefix, answer, methods=_METHODS), Route(prefix + "/{rest:path}", answer, methods=_METHODS)]
