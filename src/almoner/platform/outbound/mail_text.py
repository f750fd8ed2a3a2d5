"""The plain text of an email, generated from its HTML, so that each email has only one template."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Final

_BLOCKS: Final = frozenset({"p", "h1", "ul", "table"})
_LINES: Final = frozenset({"li", "tr", "br"})
_UNSEEN: Final = frozenset({"head", "style"})
_BLANKS: Final = re.compile(r"[ \t\n\r\f]+")  # HTML's white space: other spaces are kept


def plain_text_of_html(
    html: str, isolate_bidi_text: Callable[[str], str], format_labelled_value: Callable[[str, str], str]
) -> str:
    """The plain text of HTML: a paragraph for each block, a line for each row, and all link targets.

    ``isolate_bidi_text``: keeps text of another direction together. ``format_labelled_value``: joins a label and its
    value in one line.
    """
    parser = _TextParser(isolate_bidi_text, format_labelled_value)
    parser.feed(html)
    parser.close()
    return parser.text()


class _TextParser(HTMLParser):
    def __init__(
        self, isolate_bidi_text: Callable[[str], str], format_labelled_value: Callable[[str, str], str]
    ) -> None:
        super().__init__()
        self._isolate_bidi_text, self._format_labelled_value = isolate_bidi_text, format_labelled_value
        self._parts: list[str] = []
        self._opened: list[tuple[str, int, str]] = []  # elements that change their content: name, start, and a value
        self._label = ""

    def text(self) -> str:
        """The text, without trailing blanks, and with at most one empty line between two."""
        lines = [_BLANKS.sub(" ", line).strip(" ") for line in "".join(self._parts).split("\n")]
        kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
        return "\n".join(kept).strip("\n") + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in _BLOCKS:
            self._parts.append("\n\n")
        elif tag in _LINES:
            self._parts.append("\n- " if tag == "li" else "\n")
        if tag in _UNSEEN or "display:none" in (values.get("style") or ""):
            self._opened.append((tag, len(self._parts), "unseen"))
        elif tag == "img":
            self._parts.append(values.get("alt") or "")
        elif tag in ("a", "bdi", "th", "td"):
            self._opened.append((tag, len(self._parts), values.get("href") or ""))

    def handle_endtag(self, tag: str) -> None:
        if not self._opened or self._opened[-1][0] != tag:
            if tag in _BLOCKS:
                self._parts.append("\n\n")
            return
        _, start, value = self._opened.pop()
        inner = "".join(self._parts[start:])
        del self._parts[start:]
        if value == "unseen":
            return
        match tag:
            case "th":
                self._label = inner.strip()
            case "td" if self._label:
                self._parts.append(self._format_labelled_value(self._label, inner.strip()))
                self._label = ""
            case "a":
                words = _BLANKS.sub(" ", inner).strip(" ")
                self._parts.append(value if words == value else f"\n{words}\n{value}\n")
            case "bdi":
                self._parts.append(self._isolate_bidi_text(inner))
            case _:
                self._parts.append(inner)

    def handle_data(self, data: str) -> None:
        self._parts.append(_BLANKS.sub(" ", data))
