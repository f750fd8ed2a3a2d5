"""A page for the reader when something failed that nobody expected, and the error for the log."""

from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send


class Broken(Response):
    """Sends the page, then raises: the edge writes the log line and finds that an answer was sent."""

    def __init__(self, page: HTMLResponse, error: Exception) -> None:
        self._page = page
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The page first, the error afterwards."""
        await self._page(scope, receive, send)
        raise self._error
