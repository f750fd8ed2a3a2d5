"""Downloads one document by a link that is valid for five minutes of real time (U6)."""

from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import BlobMissing, BlobStore
from almoner.validation.applications.documents import service

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-site",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_SUFFIXES: Final = {"image/jpeg": "jpg", "image/png": "png", "application/pdf": "pdf"}


class DocumentDownloadPages:
    """The page that documents are downloaded from."""

    def __init__(self, db: Database, blobs: BlobStore) -> None:
        self._db = db
        self._blobs = blobs

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route("/documents/{id}", self.download, methods=["GET"])]

    async def download(self, request: Request) -> Response:
        """The bytes of a clean document, always as an attachment, never rendered as a page."""
        name = request.path_params["id"]
        document_id = self._db.deployment.ids.decode(service.TYPE, name)
        if document_id is None:
            raise NotFound
        async with self._db.read() as tx:
            given = request.query_params
            document = await service.get_document_of_download_link(
                tx, document_id, given.get("expires", ""), given.get("signature", "")
            )
        parts = self._blobs.read(document.storage_key)
        try:
            first = await anext(parts)  # a storage error can still become an error response here
        except BlobMissing:
            await self._blobs.ensure_mounted(document.id)
            raise NotFound from None
        headers = {
            **_HEADERS,
            "Content-Disposition": f'attachment; filename="{name}.{_SUFFIXES[document.media_type]}"',
            "Content-Length": str(document.size),
        }
        return StreamingResponse(_all(first, parts), media_type=document.media_type, headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part
