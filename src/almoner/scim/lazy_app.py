"""Where /scim/v2 is entered: the protocol and its models are imported by the first request, not by every server."""

import asyncio
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from almoner.platform.database.transactions import Database
from almoner.platform.http.caller import AccessGuard

if TYPE_CHECKING:
    from almoner.scim.application import ScimApplication


class LazyScimApplication:
    """The application of /scim/v2, imported by the first request."""

    def __init__(self, db: Database, guard: AccessGuard) -> None:
        self._db = db
        self._guard = guard
        self._opening = asyncio.Lock()
        self._application: ScimApplication | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        application = self._application or await self._open()
        await application(scope, receive, send)

    async def _open(self) -> "ScimApplication":
        async with self._opening:
            if self._application is None:
                self._application = await asyncio.to_thread(self._load)
            return self._application

    def _load(self) -> "ScimApplication":
        from almoner.scim.application import ScimApplication  # on first use: 15 MB

        return ScimApplication(self._db, self._guard)
