"""Renders pages with autoescaped Jinja2 in the reader's language."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, pass_context, select_autoescape
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from almoner.kit import language as languages
from almoner.kit.public_links import PublicLinks
from almoner.platform.deployment import Deployment
from almoner.platform.pages import assets, formats
from almoner.platform.pages.headers import inline_sources_for_nonce, replace_nonce_with_hashes, security_headers
from almoner.platform.pages.translations import FALLBACK, Language, TranslationCatalogues

_SHARED: Final = Path(__file__).parent / "templates"
_SHARED_PAGES: Final = 64
"""How many pages that are the same for everybody a process caches. Each takes about 30 KB."""


@cache
def _page_environment(templates: Path) -> Environment:
    """The page environment, compiled once per process."""
    return build_template_environment(templates)


def build_template_environment(templates: Path, finalize: Callable[[object], object] | None = None) -> Environment:
    """The Jinja environment of a template folder and the shared templates."""
    result = Environment(
        loader=ChoiceLoader([FileSystemLoader(templates), FileSystemLoader(_SHARED)]),
        autoescape=select_autoescape(enabled_extensions=("html",), default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    result.filters["bdi"] = bidi_isolated
    result.filters["embed"] = bidi_isolated_in_page
    result.filters["strong"] = bold_bidi_isolated
    result.filters["whole"] = bold_without_line_breaks
    return result


@dataclass(frozen=True, slots=True)
class _SharedPage:
    """A rendered page, and what it was rendered from."""

    given: dict[str, Any]
    body: bytes
    headers: dict[str, str]


class PageRenderer:
    """Renders the pages of one slice."""

    def __init__(
        self, deployment: Deployment, templates: Path, catalogues: TranslationCatalogues | None = None
    ) -> None:
        self.deployment = deployment
        self.catalogues = catalogues or TranslationCatalogues()
        self._folder = templates
        self._shared_pages: dict[tuple[str, str, str], _SharedPage] = {}

    @property
    def _templates(self) -> Environment:
        """The environment, created on first use."""
        return _page_environment(self._folder)

    def language_for_tag(self, tag: str | None) -> Language:
        """The language for an RFC 5646 tag; English if it is not offered."""
        return self.catalogues.language(tag)

    def preferred_language(self, request: Request) -> Language:
        """The language that Accept-Language prefers; English if none is offered."""
        found = languages.negotiate_language(request.headers.get("accept-language"), self.catalogues.offered_languages)
        return self.language_for_tag(found or FALLBACK)

    def render_text(self, template: str, language: Language, **context: object) -> str:
        """Render a template to text."""
        return self._templates.get_template(template).render({**self._shared(language), **context})

    def render_page(
        self,
        template: str,
        language: Language,
        *,
        status: int = 200,
        form_targets: Iterable[str] = (),
        passkeys: bool = False,
        script: bool = False,
        frame_ancestors: Sequence[str] = (),
        shows_frames: bool = False,
        **context: object,
    ) -> HTMLResponse:
        """Render a template to a response with security headers.

        ``form_targets``: origins besides this one that its forms may lead to. ``passkeys``: it asks for a passkey, by
        ``passkeys_url``; ``script``: it has a script of ours with the nonce. Pages have no other scripts.
        ``frame_ancestors``: origins that may show it in a frame; ``shows_frames``: it shows pages of ours in frames.
        """
        nonce = token_urlsafe(16)
        body = self.render_text(template, language, nonce=nonce, with_passkeys=passkeys, **context)
        headers = security_headers(
            inline_sources_for_nonce(nonce),
            form_targets=form_targets,
            production=not self.deployment.sandbox,
            passkeys=passkeys,
            script=script,
            frame_ancestors=frame_ancestors,
            shows_frames=shows_frames,
        )
        return HTMLResponse(body, status, headers | {"Content-Language": language.html_lang})

    def render_cacheable_page(
        self,
        request: Request,
        template: str,
        language: Language,
        *,
        form_targets: Iterable[str] = (),
        frame_ancestors: Sequence[str] = (),
        **context: object,
    ) -> Response:
        """A page that is the same for everybody: browsers and caches may show it again for a minute.

        It is rendered again once its context differs; ``context`` holds values that are compared and never changed.
        It has no nonce; the policy names its own style sheet and script by their hashes. ``frame_ancestors``: see
        ``security_headers``.
        """
        kept = (request.url.path, request.url.query, language.html_lang)
        given = {
            **context,
            "template": template,
            "form_targets": tuple(form_targets),
            "frame_ancestors": tuple(frame_ancestors),
        }
        page = self._shared_pages.pop(kept, None)
        if page is None or page.given != given:
            page = self._make_shared_page(given, template, language, context)
        self._shared_pages[kept] = page  # the least recently shown one goes first
        if len(self._shared_pages) > _SHARED_PAGES:
            del self._shared_pages[next(iter(self._shared_pages))]
        if page.headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=page.headers)
        return HTMLResponse(page.body, headers=page.headers)

    def _make_shared_page(
        self, given: dict[str, Any], template: str, language: Language, context: dict[str, object]
    ) -> _SharedPage:
        nonce = token_urlsafe(16)
        body, inline = replace_nonce_with_hashes(self.render_text(template, language, nonce=nonce, **context), nonce)
        headers = security_headers(
            inline,
            form_targets=given["form_targets"],
            production=not self.deployment.sandbox,
            script=True,
            frame_ancestors=given["frame_ancestors"],
        )
        etag = f'"{sha256(f"{headers}{body}".encode()).hexdigest()[:32]}"'
        headers |= {
            "Cache-Control": "public, max-age=60",
            "Content-Language": language.html_lang,
            "ETag": etag,
            "Vary": "Accept-Language",
        }
        return _SharedPage(given, body.encode(), headers)

    def render_message(
        self,
        message_key: str,
        language: Language,
        *,
        status: int,
        icon: str = "info",
        partner_links: PublicLinks | None = None,
        **values: object,
    ) -> HTMLResponse:
        """A page with only a title, a text and a next step, from catalogue keys ``<kind>.*``.

        ``partner_links``: the links of the reader's partner, with a way back to it.
        """
        return self.render_page(
            "message.html",
            language,
            status=status,
            kind=message_key,
            icon_name=icon,
            partner_links=partner_links,
            values=values,
        )

    def format_day(self, at: date | datetime, language: Language) -> str:
        """Format a date, or the date of a timestamp in the issuer's time zone, in the language."""
        day = self.deployment.date_in_issuer_time_zone(at) if isinstance(at, datetime) else at
        return formats.format_day(day, language.locale)

    def _shared(self, language: Language) -> dict[str, object]:
        locale = language.locale

        def money(minor: int, currency: str, *, short: bool = False) -> str:
            return formats.format_money(minor, currency, locale, short=short)

        return {
            "t": language.html,
            "say": language.text,
            "lang": language.html_lang,
            "dir": language.direction,
            "sandbox": self.deployment.sandbox,
            "public_links": self.deployment.public_links,
            "partner_links": None,
            "style_url": assets.STYLE.path,
            "desk_style_url": assets.DESK_STYLE.path,
            "icon_url": assets.ICON.path,
            "passkeys_url": assets.PASSKEYS.path,
            "dashboard_script_url": assets.DASHBOARD.path,
            "htmx_url": assets.HTMX.path,
            "search_url": assets.SEARCH.path,
            "money": money,
            "called": lambda first, last: formats.greeting_name(first or "", last or "", locale),
            "day": lambda at: self.format_day(at, language),
            "moment": lambda at: formats.format_timestamp(at, locale, self.deployment.time_zone),
            "short_moment": lambda at: formats.format_short_timestamp(at, locale),
        }


def bold_bidi_isolated(value: object) -> Markup:
    """The value in bold, isolated from the surrounding text direction."""
    return Markup("<strong><bdi>{}</bdi></strong>").format(value)


def bold_without_line_breaks(value: object) -> Markup:
    """The value in bold, isolated and without line breaks: numbers that people copy."""
    return Markup('<strong class="whole"><bdi>{}</bdi></strong>').format(value)


@pass_context
def bidi_isolated_in_page(context: Context, value: object) -> str:
    """The value isolated from the page's text direction."""
    return bidi_isolated_plain_text(str(value), str(context["dir"]))


def bidi_isolated_plain_text(text: str, direction: str) -> str:
    """The value isolated for plain text, by Unicode direction marks."""
    if direction == "rtl" or any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        return f"\u2068{text}\u2069"
    return text


def bidi_isolated(value: object) -> Markup:
    """The value isolated from the surrounding text direction, as HTML."""
    return Markup("<bdi>{}</bdi>").format(value)
