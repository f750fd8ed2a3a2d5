"""Serves the documentation at /docs: the site built by ``make docs``, read from its files on request.

Without a built site, a clone shows the Markdown pages.
"""

import asyncio
import re
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.platform.deployment import Deployment
from almoner.platform.http.negotiation import accepts_gzip
from almoner.platform.pages.headers import InlineSources, security_headers
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import FALLBACK

PREFIX: Final = "/docs"
SITE: Final = Path(__file__).parent / "site"
MARKDOWN: Final = Path(__file__).parents[4] / "docs"
"""The Markdown pages of a clone; an installed package contains only the built site."""

_TEMPLATES: Final = Path(__file__).parent / "templates"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".py": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_LINK: Final = re.compile(r"(\]\()([^)#\s]+\.md)((?:#[^)\s]*)?\))")
_INDEXES: Final = ("README.md", "index.md")


class DocumentationPages:
    """The routes of the documentation. ``site``: the built site; ``markdown``: pages to show without it."""

    def __init__(self, deployment: Deployment, site: Path = SITE, markdown: Path = MARKDOWN) -> None:
        self._deployment = deployment
        self._pages = PageRenderer(deployment, _TEMPLATES)
        self._site = site
        self._markdown = markdown

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(PREFIX, self._to_front),
            Route("/llms.txt", self._to_list),
            Route(f"{PREFIX}/{{path:path}}", self.show),
        ]

    async def _to_front(self, _: Request) -> Response:
        return RedirectResponse(f"{PREFIX}/", 308)

    async def _to_list(self, _: Request) -> Response:
        """Where assistants look for a list of pages (llmstxt.org); its links are relative to /docs/."""
        return RedirectResponse(f"{PREFIX}/llms.txt", 308)

    async def show(self, request: Request) -> Response:
        """One page or file."""
        path = request.path_params["path"]
        built = await asyncio.to_thread(self._site.joinpath("index.html").is_file)
        return await (self._show_built(request, path) if built else self._show_markdown(path))

    async def _show_built(self, request: Request, path: str) -> Response:
        is_compressed = accepts_gzip(request.headers.get("accept-encoding"))
        found = await asyncio.to_thread(_read, self._site, path, request.headers.get("if-none-match"), is_compressed)
        if found is None:
            raise NotFound("the documentation does not contain this page")
        if found.is_folder:
            return RedirectResponse(f"{PREFIX}/{path}/", 308)
        headers = self._headers() | found.headers()
        if "v" in request.query_params:  # the URL changes with the content
            headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return Response(found.content or b"", 304 if found.content is None else 200, headers, found.media_type)

    async def _show_markdown(self, path: str) -> Response:
        text = await asyncio.to_thread(_find_markdown, self._markdown, path)
        if text is None and path.strip("/"):
            raise NotFound("the documentation does not contain this page; `make docs` builds all of it")
        body = self._pages.render_text(
            "plain.html", self._pages.language_for_tag(FALLBACK), text=_with_links(text or "")
        )
        return Response(body, 200, self._headers(), _TYPES[".html"])

    def _headers(self) -> dict[str, str]:
        """The headers of a page. The site's scripts are our own files; they load the search index and call the API."""
        own = InlineSources((), ("'self'",))
        headers = security_headers(own, form_targets=(), production=not self._deployment.sandbox, script=True)
        return headers | {"Cache-Control": "no-cache", "Content-Language": FALLBACK, "Vary": "Accept-Encoding"}


class _SiteFile:
    """A file of the site; without content if the browser has it cached."""

    def __init__(self, file: Path, known: str | None, *, compressed: bool) -> None:
        self.is_folder = file.is_dir()
        if self.is_folder:
            return
        self.media_type = _TYPES.get(file.suffix, "application/octet-stream")
        small = file.with_name(file.name + ".gz")
        self._compressed = compressed and small.is_file()
        served = small if self._compressed else file
        stat = served.stat()
        self._tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        self.content = None if known == self._tag else served.read_bytes()

    def headers(self) -> dict[str, str]:
        """The headers of the file."""
        return {"ETag": self._tag, **({"Content-Encoding": "gzip"} if self._compressed else {})}


def _read(site: Path, path: str, known: str | None, compressed: bool) -> _SiteFile | None:
    file = _file_below(site, path)
    if file is not None and path.endswith("/") | (path == ""):
        file /= "index.html"
    return _SiteFile(file, known, compressed=compressed) if file is not None and file.exists() else None


def _file_below(folder: Path, path: str) -> Path | None:
    """The file for a URL path; None if it is outside the folder."""
    if "\0" in path:
        return None
    file = (folder / path.lstrip("/")).resolve()
    return file if file.is_relative_to(folder.resolve()) else None


def _find_markdown(folder: Path, path: str) -> str | None:
    stem = path.rstrip("/")
    for name in (*(f"{stem}/{index}" for index in _INDEXES), f"{stem}.md", stem):
        file = _file_below(folder, name)
        if file is not None and file.suffix == ".md" and file.is_file():
            return _resolve_links(file.read_text("utf-8"), PurePosixPath(file.relative_to(folder.resolve()).as_posix()))
    return None


def _resolve_links(text: str, page: PurePosixPath) -> str:
    """The text with links to other pages as URLs below /docs."""
    return _LINK.sub(partial(_resolve_link, page), text)


def _resolve_link(page: PurePosixPath, link: re.Match[str]) -> str:
    target = normpath(page.parent / link[2])
    return link[0] if ":" in link[2] or target.startswith("..") else f"{link[1]}{PREFIX}/{target}{link[3]}"


def _with_links(text: str) -> Markup:
    """Plain text as HTML, with links to other pages."""
    parts = re.split(rf"\[([^\]]+)\]\(({PREFIX}/[^)\s]+)\)", text)
    result = []
    for number in range(0, len(parts), 3):
        result.append(escape(parts[number]))
        if number + 2 < len(parts):
            result.append(Markup('<a href="{}">{}</a>').format(parts[number + 2], parts[number + 1]))
    return Markup("").join(result)
