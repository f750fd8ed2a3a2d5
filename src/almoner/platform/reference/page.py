"""Serves the API reference at /docs, rendered on first request."""

from functools import cache
from pathlib import Path
from re import split
from secrets import token_urlsafe
from typing import Final

import msgspec
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.deployment import Deployment
from almoner.platform.http.static_texts import StaticText
from almoner.platform.pages import assets
from almoner.platform.pages.headers import nonce_sources, security_headers
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import FALLBACK
from almoner.platform.reference.content import ReferenceContent

_TEMPLATES: Final = Path(__file__).parent / "templates"


def reference_routes(deployment: Deployment, description: bytes) -> list[Route]:
    """The routes of the reference page."""

    @cache
    def rendered() -> StaticText:
        pages = PageRenderer(deployment, _TEMPLATES)
        content = ReferenceContent(msgspec.json.decode(description))
        text = pages.render_text(
            "reference.html",
            pages.language(FALLBACK),
            content=content,
            prose=render_prose,
            reference_style_url=assets.REFERENCE_STYLE.path,
        )
        return StaticText(text.encode(), "text/html; charset=utf-8")

    async def show_reference(request: Request) -> Response:
        headers = security_headers(nonce_sources(token_urlsafe(16)), form_targets=(), production=not deployment.sandbox)
        return rendered().response(request, headers | {"Content-Language": FALLBACK})

    return [Route("/docs", show_reference)]


def render_prose(text: str) -> Markup:
    """A sentence as HTML, with `code` set as code."""
    parts = split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )
