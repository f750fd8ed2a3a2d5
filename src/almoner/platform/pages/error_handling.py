"""Turns exceptions of page handlers into error pages."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from almoner.kit.errors import NotFound


class ErrorPages(Protocol):
    """A set of pages that can show its own error pages."""

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page for a missing or invalid link, which reveals nothing about the record."""
        ...

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """The page for an unexpected error, which is raised afterwards for the log."""
        ...


Here = TypeVar("Here", bound=ErrorPages)


def with_error_pages(
    handler: Callable[[Here, Request], Awaitable[Response]],
) -> Callable[[Here, Request], Coroutine[Any, Any, Response]]:
    """Wrap a page handler so that its exceptions become error pages."""

    @wraps(handler)
    async def answer(self: Here, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.not_found_page(request)
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return self.server_error_page(request, error)

    return answer
