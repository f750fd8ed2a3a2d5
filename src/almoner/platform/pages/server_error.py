"""A response that shows an error page and then raises the error for the log."""

from http import HTTPStatus

from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from almoner.kit.errors import Problem, ServiceUnavailable
from almoner.platform.http.errors import headers_of_problem, http_status_of_problem
from almoner.platform.observability.failures import CONNECTION_ERRORS


class ServerErrorResponse(Response):
    """Sends the error page, then raises the error.

    If the database, the document storage or another part is unavailable, a retry may work in a moment, and the status
    says so. A problem of the request is only raised: the edge answers it, with its own page and status.
    """

    def __init__(self, page: HTMLResponse, error: Exception) -> None:
        self._page = page
        self._error = error
        soon = ServiceUnavailable() if isinstance(error, CONNECTION_ERRORS) else error
        if isinstance(soon, ServiceUnavailable):
            page.status_code = http_status_of_problem(soon)
            page.raw_headers.extend(headers_of_problem(soon))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the page first, then raise the error."""
        if not is_client_error(self._error):
            await self._page(scope, receive, send)
        raise self._error


def is_client_error(error: Exception) -> bool:
    """Whether an error is a problem of the request (4xx)."""
    return isinstance(error, Problem) and http_status_of_problem(error) < HTTPStatus.INTERNAL_SERVER_ERROR
