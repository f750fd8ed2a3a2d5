"""A pseudo-language to find texts outside the catalogues: every message with its key, accented and longer (H9)."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.translations import LOCALE_FOLDER, TranslationCatalogues

_ACCENTED: Final = str.maketrans("aceinosuyzAEIOSU", "àçéîñöšüýžÀÉÎÖŠÜ")
_MESSAGE: Final = re.compile(r"⟦([\w.]+)¦[^⟦⟧]*⟧")
_SEEN: Final = ("aria-label", "title", "placeholder", "alt", "data-total", "data-done")
_SILENT: Final = ("style", "script", "bdi", "textarea", "time", "kbd")
DATA: Final = {"QQ", "Partner", "Almoner", "UTC"}
"""A monogram, the name of a logo, the product's name, and a time zone; other data have their own mark-up."""


def catalogues(folder: Path) -> TranslationCatalogues:
    """Catalogues whose English says ``⟦give.submit¦Çöñtîñüé tö päymeñt ẋẋẋ⟧``; written to the folder."""
    english = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
    (folder / "en.json").write_text(json.dumps({key: _marked(key, stated) for key, stated in english.items()}), "utf-8")
    return TranslationCatalogues(folder)


def _marked(key: str, message: Any) -> Any:
    if not isinstance(message, str):
        return {form: _marked(key, text) for form, text in message.items()}
    words = re.sub(
        r"\{\w+\}|[^{}]+", lambda part: part[0] if part[0][0] == "{" else part[0].translate(_ACCENTED), message
    )
    return f"⟦{key}¦{words}{' ẋẋẋ' * (len(words) // 12 + 1)}⟧"


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT
        self.found += [value for name, value in attrs if name in _SEEN and value and tag not in _SILENT]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in _SILENT

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data)


def read_page(html: str) -> tuple[set[str], set[str]]:
    """(keys of the messages on a page, words outside them). Data are in ``bdi``."""
    reader = _Words()
    reader.feed(html)
    return read_text(" ".join(reader.found))


def read_text(text: str) -> tuple[set[str], set[str]]:
    """(keys of the messages in a text, words outside them)."""
    keys: set[str] = set()
    while found := _MESSAGE.findall(text):  # from the inside out: messages can be nested
        keys.update(found)
        text = _MESSAGE.sub(" ", text)
    return keys, {word for word in text.split() if re.search(r"[^\W\d_]", word)}


def mail_of(mails: MailRenderer, name: str, facts: Mapping[str, object]) -> dict[str, Any]:
    """An email in the pseudo-language, from the mailbox; its link is one of ours."""
    facts = {"link": f"{mails.deployment.base_urls.pages}/q", **facts}
    at, language, brand = datetime(2026, 3, 2, tzinfo=UTC), mails.language_for_tag(None), mails.deployment_brand()
    made = mails.render_mail(
        f"{name}.html", language, facts, brand=brand, deduplication_key="q", at=at, partner_id=None, to="q@q.example"
    )
    return asdict(made)


@dataclass
class Reader:
    """Reads pages; ``seen`` are the messages found. ``data``: words outside messages, besides ``DATA``."""

    seen: set[str] = field(default_factory=set)
    data: frozenset[str] = frozenset()

    def page(self, html: str) -> None:
        """Read a page or the HTML of an email."""
        keys, stray = read_page(html)
        assert keys
        assert stray <= DATA | self.data, stray
        self.seen |= keys

    def mail(self, mail: dict[str, Any]) -> None:
        """Read the subject and both forms; a line of the plain text starts with a message, or is a link or a code.

        The plain text starts with the sender.
        """
        self.page(mail["html"])
        self.seen |= read_text(mail["subject"])[0]
        assert mail["subject"].startswith("⟦")
        for line in mail["text"].splitlines()[1:]:
            assert re.match(r"(- )?⟦|$|https?://|\d{6}$", line), line
        self.seen |= read_text(mail["text"])[0]
