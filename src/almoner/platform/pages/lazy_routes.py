"""Pages that few people open: their modules are imported at the first request below their path, not by every server."""

from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from almoner.platform.http.lazy_application import LazyApplication


class LazyRoutes(BaseRoute):
    """Routes below a path that are loaded on first use; matched after all other routes."""

    def __init__(self, prefix: str, load: Callable[[], Sequence[Route]]) -> None:
        """``load``: imports the pages and returns their routes, including those for unknown paths."""
        self._prefix = prefix
        self._load = load
        self._application = LazyApplication(lambda: Router(load(), redirect_slashes=False))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the address is below the path."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path = scope["path"]
        below = path == self._prefix or path.startswith(f"{self._prefix}/")
        return (Match.FULL if below else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        await self._application(scope, receive, send)

    def load_routes(self) -> list[Route]:
        """The routes, loaded now if necessary."""
        return list(self._load())
