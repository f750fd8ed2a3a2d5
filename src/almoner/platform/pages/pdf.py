"""PDF documents by typst: tagged (PDF/UA-1), archival (PDF/A-3a), and the same bytes from the same facts.

A document shows the fonts of this package alone, never those of the machine; what they cannot show is written in plain
letters, since both standards forbid a character without a glyph. The template is told of that in
``facts.is_transliterated``.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec
from anyascii import anyascii

from almoner.platform.waiting import WaitingLine

FONTS: Final = Path(__file__).parent / "fonts"

_MAX_WAITING: Final = 100
_MAX_WAIT_SECONDS: Final = 30.0

_LONG: Final = re.compile(r"\S{44}(?=\S)")
"""Longer than any identifier and any word that fits a line: it may be broken there."""

_SUSPECTS: Final = b"/Suspects false"
"""What is so anyway; poppler warns of it. Blanks in its place keep every offset of the file."""

Facts = Mapping[str, object]


class PdfRenderer:
    """Prints documents of one template."""

    def __init__(self, template: Path) -> None:
        """``template``: a typst file that reads ``sys.inputs.facts`` and ``sys.inputs.links``, both JSON."""
        import typst  # on first use: 7 MB

        self._unprintable = typst.TypstError
        self._template = template.read_bytes()
        fonts = typst.Fonts(include_system_fonts=False, include_embedded_fonts=True, font_paths=[FONTS])
        self._compiler = typst.Compiler(root=template.parent, font_paths=fonts, ignore_system_fonts=True)
        self._line = WaitingLine(
            1, most=_MAX_WAITING, seconds=_MAX_WAIT_SECONDS
        )  # the compiler refuses a second caller

    async def render(self, facts: Facts, links: Mapping[str, str], at: datetime) -> bytes:
        """The document. ``facts`` are made printable, ``links`` stay as they are, ``at`` is the moment it is of.

        Raises ServiceUnavailable when too many wait.
        """
        async with self._line.turn():
            return await asyncio.to_thread(self._print, facts, links, at)

    def _print(self, facts: Facts, links: Mapping[str, str], at: datetime) -> bytes:
        try:
            shown = {**facts, "rewritten": any(is_transliterated(text) for text in _iter_texts(facts))}
            return self._compiled(_map_texts(shown, to_printable), links, at)
        except self._unprintable:
            # Marks on a letter of another script: no one font has both.
            return self._compiled(_map_texts({**facts, "rewritten": True}, _without_marks), links, at)

    def _compiled(self, facts: object, links: Mapping[str, str], at: datetime) -> bytes:
        made = self._compiler.compile(
            self._template,
            format="pdf",
            sys_inputs={"facts": _json(facts), "links": _json(links)},
            pdf_standards=["a-3a", "ua-1"],
            timestamp=int(at.timestamp()),
        )
        assert isinstance(made, bytes), "a PDF without an output file is one piece of bytes"
        return made.replace(_SUSPECTS, b" " * len(_SUSPECTS))


def directional_text(text: str, *, rtl: bool) -> dict[str, object]:
    """A name or figure with its own direction; ``rtl`` is the document's, for one that has none."""
    for character in text:
        match unicodedata.bidirectional(character):
            case "L":
                return {"text": text, "rtl": False}
            case "R" | "AL":
                return {"text": text, "rtl": True}
    return {"text": text, "rtl": rtl and not any(character.isdigit() for character in text)}


def to_printable(text: str) -> str:
    """The text in characters that the fonts show, on one line, with places to break where there would be none."""
    shown = "".join(_printable_character(character) for character in unicodedata.normalize("NFC", text))
    return _LONG.sub("\\g<0>\u200b", shown)


def is_transliterated(text: str) -> bool:
    """Whether a reader is shown other letters than were written."""
    return any(
        ord(one) not in _font_characters() and not one.isspace() and one.isprintable()
        for one in unicodedata.normalize("NFC", text)
    )


def _without_marks(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    return to_printable("".join(one for one in composed if unicodedata.category(one) not in ("Mn", "Me", "Cf")))


def _map_texts(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case Mapping():
            return {name: _map_texts(one, change) for name, one in value.items()}
        case Sequence():
            return [_map_texts(one, change) for one in value]
        case _:
            return value


def _iter_texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from chain.from_iterable(map(_iter_texts, value.values()))
        case Sequence():
            yield from chain.from_iterable(map(_iter_texts, value))


def _printable_character(character: str) -> str:
    if ord(character) in _font_characters():
        return character
    if character.isspace() or not character.isprintable():
        return " "
    return anyascii(character)


@cache
def _font_characters() -> frozenset[int]:
    ranges = (line.partition("-") for line in (FONTS / "characters.txt").read_text().split())
    return frozenset(code for first, _, last in ranges for code in range(int(first, 16), int(last or first, 16) + 1))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
