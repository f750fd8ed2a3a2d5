"""Message catalogues: one JSON file per language, CLDR plurals, English as the fallback.

A catalogue is read when its language is first needed: no compile step, no generated files, and a translator sees each
key with its forms.
"""

import json
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from babel import Locale, UnknownLocaleError
from markupsafe import Markup, escape

from almoner.kit import language as languages
from almoner.platform.pages import formats

LOCALE_FOLDER: Final = Path(__file__).parents[2] / "locale"
FALLBACK: Final = "en"

_FIGURE: Final = re.compile("[0-9]")

Message = str | Mapping[str, str]


class Language:
    """A language's messages, and its locale for numbers and dates.

    ``tag`` is the requested RFC 5646 tag, which may be narrower than the catalogue: ``en-GB`` formats as British and
    uses ``en``.
    """

    def __init__(self, tag: str, catalogue: str, messages: Mapping[str, Message]) -> None:
        self.tag = tag
        self.catalogue = catalogue
        self._messages = messages

    @cached_property
    def locale(self) -> Locale:
        """The CLDR locale for numbers and dates, loaded on first use."""
        return _locale(self.html_lang) or _locale(self.catalogue) or Locale(FALLBACK)

    @cached_property
    def direction(self) -> str:
        """``ltr`` or ``rtl``."""
        return self.locale.text_direction

    @property
    def html_lang(self) -> str:
        """The value of the ``lang`` attribute."""
        if self.tag.split("-")[0].lower() == self.catalogue.split("-")[0]:
            return self.tag
        region = languages.region_of_language_tag(self.tag)
        return f"{self.catalogue.split('-')[0]}-{region}" if region else self.catalogue

    def has_message(self, key: str) -> bool:
        """Whether the catalogue has this message."""
        return key in self._messages

    def text(self, key: str, **values: object) -> str:
        """A message as plain text; ``count`` selects the plural form. Raises KeyError."""
        return self._form(key, values).format(**self._shown(values))

    def html(self, key: str, **values: object) -> Markup:
        """A message as HTML, escaped."""
        return escape(self._form(key, values)).format(**self._shown(values))

    def _form(self, key: str, values: Mapping[str, object]) -> str:
        chosen = self._chosen(key, values)
        return formats.localise_digits(chosen, self.locale) if _FIGURE.search(chosen) else chosen

    def _shown(self, values: Mapping[str, object]) -> dict[str, object]:
        """Numbers in the language's digits; texts that people copy stay unchanged."""
        return {
            name: formats.localise_digits(str(value), self.locale) if isinstance(value, int) else value
            for name, value in values.items()
        }

    def _chosen(self, key: str, values: Mapping[str, object]) -> str:
        message = self._messages[key]
        if isinstance(message, str):
            return message
        count = values["count"]
        if not isinstance(count, int):
            raise TypeError(f"the plural form of {key} is chosen by a whole number, not by {count!r}")
        return message.get(self.locale.plural_form(count), message["other"])


class TranslationCatalogues:
    """The catalogues of all offered languages."""

    def __init__(self, folder: Path = LOCALE_FOLDER) -> None:
        self._folder = folder
        self.language = cache(self._language)

    @property
    def offered_languages(self) -> tuple[str, ...]:
        """The languages that have a catalogue, sorted."""
        return _languages(self._folder)

    def _language(self, tag: str | None) -> Language:
        nearest = languages.nearest_offered_language(tag, self.offered_languages) if tag else None
        if tag is None or nearest is None:
            return Language(FALLBACK, FALLBACK, _read(self._folder, FALLBACK))
        return Language(tag, nearest, _read(self._folder, nearest))


@cache
def _languages(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


@cache
def _read(folder: Path, catalogue: str) -> Mapping[str, Message]:
    """The messages of a language, with English where missing; cached for the process."""
    messages: Mapping[str, Message] = json.loads((folder / f"{catalogue}.json").read_text("utf-8"))
    return messages if catalogue == FALLBACK else {**_read(folder, FALLBACK), **messages}


def _locale(tag: str) -> Locale | None:
    """The CLDR locale of a tag, without its region if CLDR does not know the pair."""
    parts = tag.replace("_", "-").split("-")
    while parts:
        try:
            return Locale.parse("-".join(parts), sep="-")
        except (UnknownLocaleError, ValueError):
            parts.pop()
    return None
