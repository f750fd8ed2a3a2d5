"""The button that other sites embed: one script, our only resource that other origins may load."""

import re
from collections.abc import Mapping
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.pages.translations import TranslationCatalogues

_PATH: Final = "/embed/give.js"
_SCRIPT: Final = Path(__file__).parent / "assets" / "give.js"
_WORDS: Final = "const words = {};"


def embed_script(catalogues: TranslationCatalogues) -> bytes:
    """The JavaScript of the embeddable donate button, in every offered language."""
    words = {
        tag: [catalogues.language(tag).text(key) for key in ("embed.give", "embed.new_tab", "embed.close")]
        for tag in catalogues.offered_languages
    }
    # Only comments and indentation are removed; there is no other minifier here.
    source = re.sub(r"/\*.*?\*/\n|(?<=\n) +(//[^\n]*\n)?", "", _SCRIPT.read_text("utf-8"), flags=re.DOTALL)
    return source.replace(_WORDS, f"const words = {msgspec.json.encode(words).decode()};").encode()


class _Script(NamedTuple):
    content: bytes
    headers: Mapping[str, str]


def _script(catalogues: TranslationCatalogues) -> _Script:
    content = embed_script(catalogues)
    headers = {
        "Cache-Control": "public, max-age=3600",
        "ETag": f'"{sha256(content).hexdigest()[:32]}"',
        "X-Content-Type-Options": "nosniff",
        # Module scripts and integrity checks need CORS; CORP lets cross-origin isolated pages load it.
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Content-Security-Policy": "default-src 'none'",
    }
    return _Script(content, headers)


def embed_script_routes(catalogues: TranslationCatalogues) -> list[Route]:
    """The route of the script. Its URL is permanent, so browsers revalidate it after an hour."""
    script = cache(partial(_script, catalogues))  # on first use: it reads the catalogues of all languages, 3 MB

    async def serve(request: Request) -> Response:
        content, headers = script()
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="text/javascript; charset=utf-8", headers=headers)

    return [Route(_PATH, serve, methods=["GET"])]
