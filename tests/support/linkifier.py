"""What mail programs turn into links: stricter than Gmail, Outlook and Apple Mail together.

They look for schemes, ``www.``, host names and email addresses in runs of characters without blanks. A word joiner
belongs to none of them.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser

_ENDS = re.compile(r"[\s\u2060<>\"“”„«»()（）「」『』、，；]+")
_DOTS = ".\u2024\u3002\ufe52\uff0e\uff61"
_IDEOGRAPHIC = "\u3002\uff61"
_LAST_NAME = re.compile(rf"(?<=[^\s{_DOTS}])([{_DOTS}])([^\s{_DOTS}:/\\@?#,!]+)")
_ADDRESSES = (
    re.compile(r"[a-z][a-z0-9+.-]*(?:(?<!\d):\S|:[^\s\d])", re.IGNORECASE),  # T10:30 is a time
    re.compile(r"[a-z][:\ufe13\ufe55\uff1a][/\\\uff0f]", re.IGNORECASE),
    re.compile(r"[/\\\u2044\u2215\uff0f]{2}\S"),
    re.compile(rf"www[{_DOTS}]\S", re.IGNORECASE),
    re.compile(rf"[^\s@\ufe6b\uff20][@\ufe6b\uff20][^\s@{_DOTS}]+[{_DOTS}]\S"),
    re.compile(r"(?<![\d.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\d)"),
)
_PHONES = re.compile(
    r"\+\d[\d ().-]{6,}|(?<!\d)\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}(?!\d)|\b0\d{2,4}[ /.-]\d[\d .-]{3,}"
)
_BLOCKS = frozenset({"p", "td", "th", "tr", "table", "li", "ul", "div", "h1", "title", "br", "body"})
_AFTER_IDEOGRAPHIC = frozenset({"テスト", "公司", "中国", "みんな"})


def find_links(text: str) -> list[str]:
    """The runs of characters that would become a link, or contain one, and telephone numbers."""
    return [*(run for run in _ENDS.split(text) if _holds_link(run)), *_PHONES.findall(text)]


@cache
def _holds_link(run: str) -> bool:
    """Computed once per run: emails mostly say the same."""
    return any(each.search(run) for each in _ADDRESSES) or _has_host(run)


def _has_host(run: str) -> bool:
    """Any name of letters is a top-level domain, except after an ideographic full stop, which also ends sentences."""
    return any(
        _is_domain(name) and (dot not in _IDEOGRAPHIC or name.isascii() or name in _AFTER_IDEOGRAPHIC)
        for dot, name in _LAST_NAME.findall(unicodedata.normalize("NFKC", run).replace("\u2024", "."))
    )


def _is_domain(name: str) -> bool:
    return len(name) > 1 and all(unicodedata.category(sign)[0] in "LM" for sign in name[:2])


class ShownHtml(HTMLParser):
    """What an email shows: the text of each block, the URLs of its ``<a>``, and its title."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.blocks = [""]
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a block; inline elements continue the text around them."""
        if tag in _BLOCKS:
            self.blocks.append("")
        if tag == "a":
            self.targets.append(dict(attrs)["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        """Handle it like a start."""
        if tag in _BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        """Collect the text; a style sheet is none."""
        if self.cdata_elem != "style":
            self.blocks[-1] += data

    def links(self, own: str) -> Iterator[str]:
        """Everything that becomes a link, except this URL where it is shown in full."""
        for block in self.blocks:
            yield from find_links(block.replace(own, " "))
