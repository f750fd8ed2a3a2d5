"""Long texts that do not change while the server runs, compressed once for clients that accept it."""

import gzip
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from almoner.platform.http.negotiation import accepts_gzip


class StaticText:
    """A text in plain and compressed form; compressed only once."""

    def __init__(self, body: bytes, media_type: str) -> None:
        self._body = body
        self._media_type = media_type
        self._compressed = b""

    def response(self, request: Request, headers: Mapping[str, str]) -> Response:
        """The response in the encoding that the request accepts."""
        varied = {**headers, "Vary": "Accept-Encoding"}
        if not accepts_gzip(request.headers.get("accept-encoding")):
            return Response(self._body, 200, varied, self._media_type)
        self._compressed = self._compressed or gzip.compress(self._body, mtime=0)
        return Response(self._compressed, 200, {**varied, "Content-Encoding": "gzip"}, self._media_type)
