"""Show the documents of a case or of a second look as images.

A sandboxed process renders them, so that browsers never open the uploaded files.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Final, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler
from almoner.console.context import ConsoleContext, PageKey
from almoner.console.links import REVIEWERS
from almoner.console.review_words import FLAG_WORDS
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.files.storage import BlobMissing
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document

_SIDES: Final = {"1": 900, "fit": 1800, "2": 1800, "3": 3600}
"""The length of the longer side of the image in pixels, for each zoom level, ascending. ``fit``: as wide as its frame.
"""
_ZOOMS: Final = tuple(_SIDES)
_MAGNIFIED: Final = ("2", "3")
"""The zoom levels whose image may be wider than its frame."""
_TURNS: Final = ("0", "90", "180", "270")
_KEYS: Final[Sequence[PageKey]] = (
    ("+", "Larger"),
    ("-", "Smaller"),
    ("]", "Rotate right"),
    ("[", "Rotate left"),
    (".", "Next page"),
    (",", "Previous page"),
)
_PDF: Final = "application/pdf"
_SMALL: Final = 64
_NEVER: Final = 4
"""Maximum number of digits of a page number."""


class DocumentListing(NamedTuple):
    """Documents, and the page that lists them: its path below ``/operator``, and the label of links to it."""

    documents: Sequence[Document]
    page_path: str
    page_label: str


@dataclass(frozen=True, slots=True)
class PageWithDocuments:
    """A page that lists documents, at a path with ``{id}``.

    ``load_documents``: the documents of the page in the URL. Raises NotFound.
    """

    path: str
    load_documents: Callable[[Tx, SignedInRequest], Awaitable[DocumentListing]]


class ReviewDocumentPages:
    """The document viewer, which shows one page of a document with zoom and rotation."""

    def __init__(self, context: ConsoleContext, *owners: PageWithDocuments) -> None:
        self._context = context
        self._owners = owners

    def routes(self) -> list[Route]:
        """Starlette routes."""
        route, roles = self._context.route, sorted(REVIEWERS)
        return [
            made
            for owner in self._owners
            for start in (f"{owner.path}/documents/{{document}}",)
            for made in (
                route(f"{start}.image", self._image_handler(owner), *roles, methods=["GET"]),
                route(start, self._page_handler(owner), *roles, methods=["GET"]),
            )
        ]

    def _page_handler(self, owner: PageWithDocuments) -> VisitorHandler:
        async def show(visitor: SignedInRequest) -> Response:
            return await self._show(visitor, owner)

        return show

    def _image_handler(self, owner: PageWithDocuments) -> VisitorHandler:
        async def show(visitor: SignedInRequest) -> Response:
            return await self._page_image(visitor, owner)

        return show

    def _document_id(self, visitor: SignedInRequest) -> UUID:
        name = visitor.path.rpartition("/")[2].removesuffix(".image")
        return self._context.parse_id(documents.TYPE, name)

    async def _show(self, visitor: SignedInRequest, owner: PageWithDocuments) -> Response:
        """Show one page of the document with the zoom and rotation in the URL.

        Shows an error if it cannot be rendered.
        """
        zoom, quarter_turns, number = _requested_view(visitor, "fit")
        async with self._context.db.write() as tx:
            document, back, back_label = await self._clean_document(tx, visitor, owner)
            link = documents.build_download_url(tx, document)
        pages = 1
        if document.media_type == _PDF:
            made = await self._render(document, _SMALL, number, 0)
            if made is not None:
                made.content.close()
            pages = made.page_count if made else 0
        elif number != 1:
            raise NotFound

        def address(**changed: object) -> str:
            return f"{visitor.path}?{urlencode(_address(zoom, quarter_turns, number) | changed)}"

        level = _ZOOMS.index(zoom)
        turned = {step: _TURNS[(quarter_turns + step) % 4] for step in (1, 3)}
        return await self._context.render_console_page(
            visitor,
            "review_document.html",
            page_keys=_KEYS,
            back=visitor.portal.home + back,
            name=back_label,
            document=document,
            flag_words=FLAG_WORDS,
            link=link,
            page_number=number,
            page_count=pages,
            picture=f"{visitor.path}.image?{urlencode(_address(zoom, quarter_turns, number))}",
            magnified=zoom in _MAGNIFIED,
            larger=address(zoom=_ZOOMS[level + 1]) if level + 1 < len(_ZOOMS) else None,
            smaller=address(zoom=_ZOOMS[level - 1]) if level else None,
            previous=address(page=number - 1) if number > 1 else None,
            following=address(page=number + 1) if number < pages else None,
            right=address(turn=turned[1]),
            left=address(turn=turned[3]),
        )

    async def _clean_document(
        self, tx: Tx, visitor: SignedInRequest, owner: PageWithDocuments
    ) -> tuple[Document, str, str]:
        """The document in the URL, if it passed the malware scan, with the page that lists it. Raises NotFound."""
        document_id = self._document_id(visitor)
        listing = await owner.load_documents(tx, visitor)
        found = next((one for one in listing.documents if one.id == document_id), None)
        if found is None or found.status != "clean":
            raise NotFound
        return found, listing.page_path, listing.page_label

    async def _page_image(self, visitor: SignedInRequest, owner: PageWithDocuments) -> Response:
        """Send the image of a page, rendered by the sandboxed process."""
        zoom, quarter_turns, number = _requested_view(visitor, "1")
        async with self._context.db.write() as tx:
            document, _, _ = await self._clean_document(tx, visitor, owner)
            name = tx.ids.encode(documents.TYPE, document.id)
            await self._context.record_audit_entry(
                tx, visitor, document.partner_id, "review.document_viewed", name, page=number
            )
        made = await self._render(document, _SIDES[zoom], number, quarter_turns)
        if made is None:
            raise NotFound
        with made.content as content:
            headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
            return Response(content.read(), headers=headers, media_type=made.media_type)

    async def _render(self, document: Document, side: int, number: int, quarter_turns: int) -> CheckedFile | None:
        """Render one page of a document as an image. None if the page cannot be rendered."""
        services = self._context.services
        with TemporaryFile() as received:
            try:
                async for part in services.blobs.read(document.storage_key):
                    received.write(part)
                return await services.upload_intake.render_page(
                    received, side, pdf_page=number, quarter_turns=quarter_turns
                )
            except BlobMissing:
                await services.blobs.ensure_mounted(document.id)
                return None
            except FiletypeNotSupported:
                return None


def _requested_view(visitor: SignedInRequest, zoom: str) -> tuple[str, int, int]:
    """The zoom, rotation and page number in the URL. Raises NotFound."""
    zoom, turn = visitor.query.get("zoom", zoom), visitor.query.get("turn", "0")
    page = visitor.query.get("page", "1")
    if zoom not in _SIDES or turn not in _TURNS or not (page.isascii() and page.isdigit() and len(page) < _NEVER):
        raise NotFound
    return zoom, _TURNS.index(turn), int(page)


def _address(zoom: str, quarter_turns: int, number: int) -> dict[str, object]:
    return {"zoom": zoom, "turn": _TURNS[quarter_turns], "page": number}
