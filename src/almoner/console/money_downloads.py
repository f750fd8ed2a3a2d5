"""Pages from which operators download files.

Each page describes the file, and each download is recorded in the audit log.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler
from almoner.console.actions import ActionPage
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.headers import NO_PAGE

_REFUSED: Final = 409


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A file to save."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class DownloadDeclaration:
    """A file to download. ``write`` creates the file and records the download, or raises one of ``refusals``."""

    path: str
    describe: Callable[[Tx, SignedInRequest], Awaitable[ActionPage]]
    write: Callable[[SignedInRequest], Awaitable[DownloadedFile]]
    refusals: tuple[type[Exception], ...]


class DownloadPages:
    """Builds the pages from which operators download files."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, *downloads: DownloadDeclaration) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(one.path, self._answer(one), *FINANCE, requires_reauthentication=True)
            for one in downloads
        ]

    def _answer(self, download: DownloadDeclaration) -> VisitorHandler:
        async def answer(visitor: SignedInRequest) -> Response:
            refused = ""
            if visitor.form:
                try:
                    file = await download.write(visitor)
                except download.refusals as error:
                    refused = str(error)
                else:
                    saved_as = f'attachment; filename="{file.name}"'
                    headers = {**NO_PAGE, "Content-Disposition": saved_as}
                    return Response(file.content, media_type=file.media_type, headers=headers)
            async with self._context.db.write() as tx:
                page = await download.describe(tx, visitor)
            status = _REFUSED if refused else 200
            return await self._context.render_console_page(
                visitor, "action.html", status=status, page=page, typed={}, problems={}, refused=refused
            )

        return answer
