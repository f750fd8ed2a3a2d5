"""From a template to a mail in which nothing is a link but our own: in the text, the HTML and the subject.

Programs that show mails make links of what looks like an address. Every value that a template shows is therefore
treated as typed by a stranger, as escaping treats it, unless the template marks it as a link of ours.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from almoner.kit.public_links import PublicLinks
from almoner.kit.text import defuse_links
from almoner.platform.deployment import Deployment
from almoner.platform.outbound.mail import Attachment, Mail
from almoner.platform.pages.rendering import PageRenderer, bidi_isolated_plain_text, template_environment
from almoner.platform.pages.translations import Language, TranslationCatalogues

_TAG_OR_LINE: Final = re.compile(r"(<[^>]*>|\n)")


class _OwnText(str):
    """Text that is ours, or has nothing left that becomes a link."""

    __slots__ = ()


class _OwnMarkup(Markup):
    """As ``_OwnText``, in HTML."""

    __slots__ = ()


@cache
def _mail_environment(templates: Path) -> Environment:
    """Compiled once in a process. ``button`` is called here: what a macro makes is treated within it, and not again."""
    made = template_environment(templates, _without_links)
    made.filters["embed"] = _bidi_isolated_in_mail
    made.filters["own_link"] = _own_link
    parts: Any = made.get_template("mail_parts.html").module
    made.globals["button"] = lambda link, words: _OwnMarkup(parts.button(link, words))
    return made


class MailRenderer(PageRenderer):
    """Renders the mails of one slice: ``<name>.txt``, ``<name>.html``, and the subject from the latter's block."""

    def __init__(
        self, deployment: Deployment, templates: Path, catalogues: TranslationCatalogues | None = None
    ) -> None:
        super().__init__(deployment, templates, catalogues)
        self._templates = _mail_environment(templates)

    def render_mail(
        self,
        name: str,
        language: Language,
        facts: Mapping[str, object],
        *,
        key: str,
        at: datetime,
        partner: UUID | None,
        to: str,
        attachments: Sequence[Attachment] = (),
    ) -> Mail:
        """The mail of a template, in this language; ``facts`` are what the template reads, as they were typed."""
        return Mail(
            key=key,
            at=at,
            partner=partner,
            to=to,
            subject=self._subject(name, language, facts),
            text=f"{self.render_text(f'{name}.txt', language, **facts)}{self.render_text('mail_foot.txt', language)}",
            html=self.render_text(f"{name}.html", language, **facts),
            language=language.html_lang,
            attachments=tuple(attachments),
            reply_to=self.deployment.public_links.contact,
        )

    def _subject(self, name: str, language: Language, facts: Mapping[str, object]) -> str:
        """What the block says, which is the title of the HTML as well, in one line."""
        template = self._templates.get_template(f"{name}.html")
        shown = template.blocks["subject"](template.new_context({**self._shared(language), **facts}))
        return " ".join(html.unescape("".join(shown)).split())

    def _shared(self, language: Language) -> dict[str, object]:
        """The words of the catalogue stay as translators wrote them, and what they name has no links."""

        def in_html(key: str, **values: object) -> Markup:
            return _OwnMarkup(language.html(key, **_each(values, _without_links)))

        def in_text(key: str, **values: object) -> str:
            return _OwnText(language.text(key, **_each(values, _text_without_links)))

        own = {
            "t": in_html,
            "say": in_text,
            "own_address": f"{self.deployment.links.pages}/",
            "public_links": _own_links(self.deployment.public_links),
        }
        return super()._shared(language) | own


def _own_links(links: PublicLinks) -> PublicLinks:
    """Whoever runs the service has set them: they stay links."""
    found = {field.name: getattr(links, field.name) for field in fields(links)}
    return PublicLinks(**{name: value and _OwnText(value) for name, value in found.items()})


def _each(values: Mapping[str, object], shown: Callable[[object], str]) -> dict[str, object]:
    """Numbers stay numbers: they choose the plural form."""
    return {name: value if isinstance(value, int) else shown(value) for name, value in values.items()}


def _without_links(value: object) -> str:
    """A value as a mail shows it. What is HTML already keeps its tags."""
    if not isinstance(value, Markup) or isinstance(value, _OwnMarkup):
        return _text_without_links(value)
    parts = _TAG_OR_LINE.split(value)
    return _OwnMarkup("".join(part if at % 2 else _html_without_links(part) for at, part in enumerate(parts)))


def _text_without_links(value: object) -> str:
    return value if isinstance(value, _OwnText | _OwnMarkup) else _OwnText(defuse_links(str(value)))


def _html_without_links(part: str) -> str:
    return str(escape(defuse_links(html.unescape(part))))


@pass_context
def _bidi_isolated_in_mail(context: Context, value: object) -> str:
    """``embed`` in a mail: nothing that was typed ends the isolation."""
    return _OwnText(bidi_isolated_plain_text(_text_without_links(value), str(context["dir"])))


@pass_context
def _own_link(context: Context, value: object) -> str:
    """Marks a link that we made. An address elsewhere is none of ours, whatever a template says."""
    return _OwnText(value) if str(value).startswith(str(context["own_address"])) else _text_without_links(value)


def test_message(recipient: str, at: datetime) -> Mail:
    """What an operator has sent to see that mails arrive: nothing in it was typed but the address."""
    text = "This is a test message of `almoner check`. Mails of this deployment arrive."
    key = f"almoner check {at.isoformat()}"
    return Mail(key, at, None, recipient, "Almoner test message", text, f"<p>{text}</p>", "en")
