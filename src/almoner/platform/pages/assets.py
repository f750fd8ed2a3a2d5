"""Style sheets, icon and scripts under hashed names that browsers may cache."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file with its path."""

    path: str
    content: bytes
    media_type: str


def _load(name: str) -> Asset:
    file = _FOLDER / name
    content = file.read_bytes()
    return Asset(f"/assets/{file.stem}.{sha256(content).hexdigest()[:16]}{file.suffix}", content, _TYPES[file.suffix])


STYLE: Final = _load("almoner.css")
DESK_STYLE: Final = _load("desk.css")
PASSKEYS: Final = _load("passkeys.js")
DASHBOARD: Final = _load("dashboard.js")
HTMX: Final = _load("htmx-4.0.1.min.js")
SEARCH: Final = _load("search.js")
ICON: Final = _load("icon.svg")
_BY_PATH: Final = {asset.path: asset for asset in (STYLE, DESK_STYLE, PASSKEYS, SEARCH, DASHBOARD, HTMX, ICON)}


async def _serve(request: Request) -> Response:
    asset = _BY_PATH.get(request.url.path)
    if asset is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    return Response(
        asset.content,
        media_type=asset.media_type,
        headers={
            "Cache-Control": "public, max-age=31536000, immutable",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        },
    )


ROUTES: Final = [Route("/assets/{name}", _serve, methods=["GET"])]
