"""Pictures that were handed in with a case, made anew by the confined process and never shown as they were sent."""

from tempfile import TemporaryFile
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import Visitor
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.review_cases import CasePages
from almoner.console.review_words import REVIEWS
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.files.storage import BlobMissing
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import service as reviews

_SIDES: Final = {"1": 900, "2": 1800, "3": 3600}
"""Pixels of the longest side, by the zoom that the address asks for."""
_TURNS: Final = ("0", "90", "180", "270")
_PICTURES: Final = ("image/jpeg", "image/png")


class DocumentPages:
    """A picture by itself, and the page with one that is larger or turned."""

    def __init__(self, context: ConsoleContext, cases: CasePages) -> None:
        self._context = context
        self._cases = cases

    def routes(self) -> list[Route]:
        """Starlette routes."""
        start = f"{REVIEWS}/{{id}}/documents/{{document}}"
        return [
            self._context.route(f"{start}.image", self.picture, *sorted(REVIEWERS), methods=["GET"]),
            self._context.route(start, self.show, *sorted(REVIEWERS), methods=["GET"]),
        ]

    def _document_id(self, visitor: Visitor) -> UUID:
        name = visitor.path.rpartition("/")[2].removesuffix(".image")
        return self._context.parse_id(documents.TYPE, name)

    async def show(self, visitor: Visitor) -> Response:
        """One picture as large, and turned as far, as the address says."""
        _, _, _, name = self._cases.case_of(visitor)
        zoom, turn = visitor.query.get("zoom", "2"), visitor.query.get("turn", "0")
        if zoom not in _SIDES or turn not in _TURNS:
            raise NotFound
        async with self._context.db.write() as tx:
            await self._clean_picture(tx, visitor)

        def address(**changed: str) -> str:
            return f"{visitor.path}?{urlencode({'zoom': zoom, 'turn': turn} | changed)}"

        turned = {step: _TURNS[(_TURNS.index(turn) + step) % 4] for step in (1, 3)}
        return await self._context.show(
            visitor,
            "review_document.html",
            page_keys=(("+", "Larger"), ("-", "Smaller"), ("]", "Turn right"), ("[", "Turn left")),
            back=f"{visitor.place.home}{REVIEWS}/{name}",
            name=name,
            turn=turn,
            picture=f"{visitor.path}.image?{urlencode({'zoom': zoom})}",
            larger=address(zoom=str(int(zoom) + 1)) if zoom != "3" else None,
            smaller=address(zoom=str(int(zoom) - 1)) if zoom != "1" else None,
            right=address(turn=turned[1]),
            left=address(turn=turned[3]),
        )

    async def _clean_picture(self, tx: Tx, visitor: Visitor) -> Document:
        """A clean picture of this very case. Raises NotFound."""
        handler, _, subject_id, _ = self._cases.case_of(visitor)
        document_id = self._document_id(visitor)
        view = await reviews.view_review(tx, handler, subject_id)
        found = next((one for one in view.documents if one.id == document_id), None)
        clean = found is not None and found.deleted_at is None and found.scan_status == "clean"
        if found is None or not clean or found.media_type not in _PICTURES:
            raise NotFound
        return found

    async def picture(self, visitor: Visitor) -> Response:
        """The pixels alone, read and written anew by the process that can do nothing else."""
        side = _SIDES.get(visitor.query.get("zoom", "1"))
        if side is None:
            raise NotFound
        async with self._context.db.write() as tx:
            document = await self._clean_picture(tx, visitor)
            name = tx.ids.text(documents.TYPE, document.id)
            await self._context.record_audit_entry(tx, visitor, document.partner_id, "review.document_shown", name)
        with TemporaryFile() as received:
            try:
                async for part in self._context.services.blobs.read(document.storage_key):
                    received.write(part)
                made = await self._context.services.intake.render_picture(received, side)
            except (BlobMissing, FiletypeNotSupported):
                raise NotFound from None
            with made.content as content:
                content.seek(0)
                headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
                return Response(content.read(), headers=headers, media_type=made.media_type)
