"""Render a template to an email with its sender's branding: text, HTML and subject.

Mail programs turn text that looks like an address into links. So every value in a template is treated as untrusted,
like in HTML escaping, unless the template marks it as our own link.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from almoner.kit.public_links import NO_LINKS, PublicLinks
from almoner.kit.text import prevent_autolinking
from almoner.platform.outbound.mail import Attachment, Mail
from almoner.platform.outbound.mail_text import plain_text_of_html
from almoner.platform.pages import colours
from almoner.platform.pages.rendering import PageRenderer, bidi_isolated_plain_text, build_template_environment
from almoner.platform.pages.translations import Language

_HTML_SPACE: Final = re.compile(r"[ \t\n\r\f]+")
"""Not the spaces of amounts, at which no line breaks."""
_TAG_OR_LINE: Final = re.compile(r"(<[^>]*>|\n)")


@dataclass(frozen=True, slots=True)
class MailBrand:
    """The branding of an email. ``panel_colour``, ``button_colour``: colours behind white text. ``logo``: its URL.

    ``links``: a partner's, shown beside the deployment's. ``sender_name``: the displayed name, None for the one in the
    settings.
    """

    name: str
    sender_name: str | None = None
    panel_colour: str = "#0b4a3c"
    button_colour: str = "#0d5c4a"
    logo: str | None = None
    links: PublicLinks = NO_LINKS


class _OwnText(str):
    """Trusted text: our own, or with everything removed that becomes a link."""

    __slots__ = ()


class _OwnMarkup(Markup):
    """Like ``_OwnText``, as HTML."""

    __slots__ = ()


@cache
def _mail_environment(templates: Path) -> Environment:
    """Compiled once per process. Parts are called here: a macro's output is treated within it, and not again."""
    result = build_template_environment(templates, _without_links)
    result.filters["embed"] = _bidi_isolated_in_mail
    result.filters["own_link"] = _own_link
    result.filters["own_addresses"] = _own_addresses
    parts: Any = result.get_template("mail_parts.html").module
    for name in ("button", "rows", "digits"):
        result.globals[name] = pass_context(partial(_part, getattr(parts, name)))
    return result


def _part(macro: Callable[..., str], context: Context, *values: object, **options: bool) -> Markup:
    return _OwnMarkup(macro(context, *values, **options))


class MailRenderer(PageRenderer):
    """Renders the emails of one slice from ``<name>.html``, with subject and plain text."""

    @property
    def _templates(self) -> Environment:
        return _mail_environment(self._folder)

    def deployment_brand(self) -> MailBrand:
        """The deployment's branding."""
        return MailBrand(self.deployment.public_links.name or "Almoner")

    def build_partner_brand(
        self, name: str, sender_name: str, colour: str | None, logo_key: str | None, links: PublicLinks
    ) -> MailBrand:
        """A partner's branding. ``colour``: is made legible. ``logo_key``: the key of an image."""
        palette = colours.build_palette(colours.parse_colour(colour)).light if colour else {}
        own = MailBrand(name)
        return MailBrand(
            name,
            sender_name,
            palette.get("--panel", own.panel_colour),
            palette.get("--brand", own.button_colour),
            f"{self.deployment.base_urls.pages}/media/{logo_key}" if logo_key else None,
            links,
        )

    def render_mail(
        self,
        template: str,
        language: Language,
        facts: Mapping[str, object],
        *,
        brand: MailBrand,
        deduplication_key: str,
        at: datetime,
        partner_id: UUID | None,
        to: str,
        attachments: Sequence[Attachment] = (),
    ) -> Mail:
        """Render the email of a template in a language; ``facts`` are its unescaped values."""
        shown = {**facts, "brand": brand, "brand_links": _own_links(brand.links)}
        result = self.render_text(template, language, **shown)
        return Mail(
            key=deduplication_key,
            at=at,
            partner=partner_id,
            to=to,
            subject=self._subject(template, language, shown),
            text=self._text(result, language),
            html=result,
            language=language.html_lang,
            attachments=tuple(attachments),
            reply_to=brand.links.contact or self.deployment.public_links.contact,
            sender_name=brand.sender_name,
        )

    def _text(self, made: str, language: Language) -> str:
        return plain_text_of_html(
            made,
            lambda inner: bidi_isolated_plain_text(inner, language.direction),
            lambda label, value: language.text("page.fact", label=label, value=value),
        )

    def _subject(self, name: str, language: Language, facts: Mapping[str, object]) -> str:
        """The subject block as one line, which is also the HTML title."""
        template = self._templates.get_template(name)
        shown = template.blocks["subject"](template.new_context({**self._shared(language), **facts}))
        return _HTML_SPACE.sub(" ", html.unescape("".join(shown))).strip()

    def _shared(self, language: Language) -> dict[str, object]:
        """The words of the catalogue, unchanged; values in them contain no links and keep their own direction."""

        def apart(value: object) -> str:
            if isinstance(value, Markup | _OwnText):
                return _without_links(value)
            return _OwnText(bidi_isolated_plain_text(_text_without_links(value), language.direction))

        def in_html(key: str, **values: object) -> Markup:
            return _OwnMarkup(language.html(key, **_map_values(values, apart)))

        def in_text(key: str, **values: object) -> str:
            return _OwnText(language.text(key, **_map_values(values, apart)))

        own = {
            "t": in_html,
            "say": in_text,
            "own_address": f"{self.deployment.base_urls.pages}/",
            "public_links": _own_links(self.deployment.public_links),
        }
        return super()._shared(language) | own


def _own_links(links: PublicLinks) -> PublicLinks:
    """Mark the operator's links as trusted: they stay links."""
    found = {field.name: getattr(links, field.name) for field in fields(links)}
    return PublicLinks(**{name: value and _OwnText(value) for name, value in found.items()})


def _map_values(values: Mapping[str, object], shown: Callable[[object], str]) -> dict[str, object]:
    """Treat each value; numbers stay numbers, because they select plural forms."""
    return {name: value if isinstance(value, int) else shown(value) for name, value in values.items()}


def _without_links(value: object) -> str:
    """A value without automatic links. Tags of existing HTML are kept."""
    if not isinstance(value, Markup) or isinstance(value, _OwnMarkup):
        return _text_without_links(value)
    parts = _TAG_OR_LINE.split(value)
    return _OwnMarkup("".join(part if at % 2 else _html_without_links(part) for at, part in enumerate(parts)))


def _text_without_links(value: object) -> str:
    return value if isinstance(value, _OwnText | _OwnMarkup) else _OwnText(prevent_autolinking(str(value)))


def _html_without_links(part: str) -> str:
    return str(escape(prevent_autolinking(html.unescape(part))))


@pass_context
def _bidi_isolated_in_mail(context: Context, value: object) -> str:
    """``embed`` in an email: user input cannot end the isolation."""
    return _OwnText(bidi_isolated_plain_text(_text_without_links(value), str(context["dir"])))


@pass_context
def _own_link(context: Context, value: object) -> str:
    """Mark a link of our own as trusted; never a URL elsewhere, whatever the template says."""
    return _OwnText(value) if str(value).startswith(str(context["own_address"])) else _text_without_links(value)


def _own_addresses(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Rows of our own facts, with IP addresses that can be copied."""
    return [(label, _OwnText(value) if _is_ip_address(value) else value) for label, value in facts.items()]


def _is_ip_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


def build_test_mail(recipient: str, sent_at: datetime) -> Mail:
    """The test email that an operator sends to check delivery."""
    text = "This is a test message of `almoner check`. Mails of this deployment arrive."
    key = f"almoner check {sent_at.isoformat()}"
    return Mail(key, sent_at, None, recipient, "Almoner test message", text, f"<p>{text}</p>", "en")
