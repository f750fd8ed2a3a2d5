"""Reproducible PDF documents by typst, tagged (PDF/UA-1) and archival (PDF/A-3a).

Documents use only the fonts of this package, never the machine's. A form of a letter, such as a mathematical ``A``, is
written as the letter. Another character without a font is written as its Unicode number, such as ``[U+1F600]``: both
standards forbid a character without a glyph, and a name must not become another one. The template learns of that in
``facts.rewritten``, and of its fonts in ``sys.inputs.fonts``.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from almoner.platform.bounded_concurrency import BoundedConcurrency
from almoner.platform.deployment import Deployment
from almoner.platform.pages import script_fonts
from almoner.platform.pages.translations import Language

if TYPE_CHECKING:
    import typst

FONTS: Final = Path(__file__).parent / "fonts"
_FAMILIES: Final = ("Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans JP")
"""The fonts of every document; fonts of other scripts are loaded as needed."""
_SELECTORS: Final = frozenset((*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
"""Variation selectors: they choose a glyph variant and have no glyph themselves."""

_MAX_WAITING: Final = 100
_MAX_WAIT_SECONDS: Final = 30.0

_LONG: Final = re.compile(r"\S{44}(?=\S)")
"""Text that is longer than any ID and any word that fits on a line. It can be broken there."""

_SUSPECTS: Final = b"/Suspects false"
"""The default value, which causes a warning in poppler. Replacing it with spaces keeps all offsets in the file."""

Facts = Mapping[str, object]


class PdfRenderer:
    """Renders PDF documents from one template."""

    def __init__(self, template: Path) -> None:
        """``template``: a typst file that reads ``sys.inputs.facts`` and ``sys.inputs.links``, both JSON."""
        import typst  # on first use: 7 MB

        self._typst = typst
        self._root = template.parent
        self._template = template.read_bytes()
        self._compiler = self._compiler_with(())
        self._line = BoundedConcurrency(
            1, max_count=_MAX_WAITING, seconds=_MAX_WAIT_SECONDS
        )  # the compiler does not allow concurrent calls

    async def render_document(self, facts: Facts, links: Mapping[str, str], created_at: datetime) -> bytes:
        """Render a document. ``facts`` are its values, ``links`` its URLs, ``created_at`` its creation time.

        Raises ServiceUnavailable when too many wait.
        """
        async with self._line.slot():
            return await asyncio.to_thread(self._print, facts, links, created_at)

    def _print(self, facts: Facts, links: Mapping[str, str], at: datetime) -> bytes:
        texts = list(_iter_texts(facts))
        more = script_fonts.find_fonts_with_glyphs(_uncovered(texts), "".join(texts), str(facts.get("lang", "")))
        # Han characters of an expected language are drawn with the package's font.
        families = (*_FAMILIES, *more) if facts.get("lang") == "ja" else (*_FAMILIES[:3], *more, *_FAMILIES[3:])
        compiler = self._compiler_with(tuple(more.values())) if more else self._compiler
        try:
            shown = {**facts, "rewritten": any(map(has_unprintable_characters, texts))}
            return self._compiled(compiler, families, _map_texts(shown, replace_unprintable_characters), links, at)
        except self._typst.TypstError:
            # Combining marks on a letter of another script: no font has both.
            rewritten = _map_texts({**facts, "rewritten": True}, _with_numbered_marks)
            return self._compiled(compiler, families, rewritten, links, at)

    def _compiler_with(self, folders: tuple[Path, ...]) -> "typst.Compiler":
        fonts = self._typst.Fonts(include_system_fonts=False, include_embedded_fonts=True, font_paths=[FONTS, *folders])
        return self._typst.Compiler(root=self._root, font_paths=fonts, ignore_system_fonts=True)

    def _compiled(
        self,
        compiler: "typst.Compiler",
        families: Sequence[str],
        facts: object,
        links: Mapping[str, str],
        at: datetime,
    ) -> bytes:
        result = compiler.compile(
            self._template,
            format="pdf",
            sys_inputs={"facts": _json(facts), "links": _json(links), "fonts": _json(families)},
            pdf_standards=["a-3a", "ua-1"],
            timestamp=int(at.timestamp()),
        )
        assert isinstance(result, bytes), "a PDF without an output file is one piece of bytes"
        return result.replace(_SUSPECTS, b" " * len(_SUSPECTS))


def build_contact_and_notice_facts_and_links(
    deployment: Deployment, language: Language
) -> tuple[Facts, dict[str, str]]:
    """The deployment's contact and notices: template facts, and link URLs by key."""
    public, rtl = deployment.public_links, language.direction == "rtl"
    contact = language.text("page.contact", email=public.contact) if public.contact else None
    notices = [{"label": language.text(key), "link": key} for key, _ in public.notice_links]
    name = text_and_direction_facts(public.name, document_is_rtl=rtl) if public.name else None
    return {"name": name, "contact": contact, "notices": notices}, dict(public.notice_links)


def text_and_direction_facts(text: str, *, document_is_rtl: bool) -> dict[str, object]:
    """A text with its own writing direction; ``document_is_rtl`` is the document's."""
    for character in text:
        match unicodedata.bidirectional(character):
            case "L":
                return {"text": text, "rtl": False}
            case "R" | "AL":
                return {"text": text, "rtl": True}
    return {"text": text, "rtl": document_is_rtl and not any(character.isdigit() for character in text)}


def replace_unprintable_characters(text: str) -> str:
    """The text limited to characters that the fonts have, on one breakable line."""
    shown = "".join(_printable_character(character) for character in unicodedata.normalize("NFC", text))
    return _LONG.sub("\\g<0>\u200b", shown)


def has_unprintable_characters(text: str) -> bool:
    """Whether the text has characters without a font, which are shown by number."""
    return any(_printable_character(one).startswith("[U+") for one in unicodedata.normalize("NFC", text))


def _with_numbered_marks(text: str) -> str:
    return replace_unprintable_characters(
        "".join(
            _number_of(one) if unicodedata.category(one) in ("Mn", "Me", "Cf") and ord(one) not in _SELECTORS else one
            for one in unicodedata.normalize("NFC", text)
        )
    )


def _uncovered(texts: Sequence[str]) -> set[int]:
    """The characters that the base fonts do not have."""
    codes = {ord(one) for text in texts for one in unicodedata.normalize("NFC", text)}
    return codes - _font_characters() - _SELECTORS


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


@lru_cache(4096)
def _printable_character(character: str) -> str:
    code = ord(character)
    if code in _font_characters():
        return character
    if code in _SELECTORS:
        return ""
    if character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Cs"):
        return " "
    if script_fonts.has_glyph(code):
        return character
    return _plain_letters(character) or _number_of(character)


def _plain_letters(character: str) -> str | None:
    """The letters that a letter is another form of, such as mathematical or Arabic presentation forms."""
    if unicodedata.category(character)[0] != "L" and unicodedata.category(character) != "Nl":
        return None
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain != character and all(ord(one) in _font_characters() for one in plain) else None


def _number_of(character: str) -> str:
    return f"[U+{ord(character):04X}]"


@cache
def _font_characters() -> frozenset[int]:
    ranges = (line.partition("-") for line in (FONTS / "characters.txt").read_text().split())
    return frozenset(code for first, _, last in ranges for code in range(int(first, 16), int(last or first, 16) + 1))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
