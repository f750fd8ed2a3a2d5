"""What may go wrong on a page becomes a page: no link, no cookie of it, or something that nobody expected."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from almoner.kit.errors import NotFound


class ErrorPages(Protocol):
    """Pages that say what went wrong."""

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """Who comes without the link is told to use it, and nothing else: not even whether there is such a record."""
        ...

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """Something failed that nobody expected: a page, and the error raised afterwards for the log."""
        ...


Here = TypeVar("Here", bound=ErrorPages)


def with_error_pages(
    handler: Callable[[Here, Request], Awaitable[Response]],
) -> Callable[[Here, Request], Coroutine[Any, Any, Response]]:
    """Of a handler of such pages."""

    @wraps(handler)
    async def answer(self: Here, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.not_found_page(request)
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return self.server_error_page(request, error)

    return answer
