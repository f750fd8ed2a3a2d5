"""Pages from which operators download files.

Each page describes the file, and each download is recorded in the audit log.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler
from almoner.console.actions import ActionPage, parse_form_values
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.kit.errors import IncorrectParams
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
    """A file to download.

    ``describe`` returns the page, whose fields must be filled in. ``create_file`` gets their values, creates the file
    and records the download, or raises one of ``refusal_errors``.
    """

    path: str
    describe: Callable[[Tx, SignedInRequest], Awaitable[ActionPage]]
    create_file: Callable[[SignedInRequest, Mapping[str, str]], Awaitable[DownloadedFile]]
    refusal_errors: tuple[type[Exception], ...]


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
            problems: dict[str, str] = {}
            async with self._context.db.write() as tx:
                page = await download.describe(tx, visitor)
            if visitor.form:
                try:
                    file = await download.create_file(visitor, parse_form_values(visitor, page.fields))
                except IncorrectParams as error:
                    problems = problems_by_field(error, "what")
                except download.refusal_errors as error:
                    refused = str(error)
                else:
                    saved_as = f'attachment; filename="{file.name}"'
                    headers = {**NO_PAGE, "Content-Disposition": saved_as}
                    return Response(file.content, media_type=file.media_type, headers=headers)
            return await self._context.render_console_page(
                visitor,
                "action.html",
                status=422 if problems else _REFUSED if refused else 200,
                page=page,
                typed={one.name: visitor.form_value(one.name) for one in page.fields},
                problems=problems,
                refused=refused,
            )

        return answer
