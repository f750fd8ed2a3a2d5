"""An application that few processes need: its modules are imported at its first request."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class LazyApplication:
    """Loads an application once, in a thread, at its first request."""

    def __init__(self, load: Callable[[], ASGIApp]) -> None:
        """Create it. ``load``: imports and builds the application."""
        self._load = load
        self._loading = asyncio.Lock()
        self._application: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        application = self._application or await self._open()
        await application(scope, receive, send)

    async def _open(self) -> ASGIApp:
        async with self._loading:
            if self._application is None:
                self._application = await asyncio.to_thread(self._load)
            return self._application
