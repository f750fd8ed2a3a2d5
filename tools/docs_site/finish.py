"""What Sphinx leaves to do: pages without inline scripts and styles, each beside its Markdown, and llms.txt.

The content security policy of /docs allows files of ours alone: templates/base.html leaves out what the theme has
inline, and here go the last attributes.
"""

import gzip
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

_STYLE: Final = re.compile(r' style="[^"]*"')
_CELL: Final = re.compile(r"<td>.*?</td>", re.DOTALL)
_LONG_CODE: Final = re.compile(r'(?<=<span class="pre">)[^<\s]{16,}(?=</span>)')
_CHANGED: Final = {
    ' style="display: none;">': " hidden>",
    '<p class="caption" role="heading">': '<p class="caption">',  # a heading without a level is none
    '<span class="err">': "<span>",  # a request without a version of HTTP is no mistake
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
}
_UNUSED: Final = (".buildinfo", "objects.inv", "_static/file.png", "_static/minus.png", "_static/plus.png",
                  "_static/debug.css", "_static/styles/furo.css.map", "_static/styles/furo-extensions.css.map",
                  "_static/scripts/furo.js.map")  # fmt: skip
_TREE: Final = re.compile(r"```\{toctree\}\n(?::\w+:\n)*:caption: ([^\n]+)\n(?::\w+:\n)*\n(.*?)```", re.DOTALL)
_ENTRY: Final = re.compile(r"^(?:(.+) <)?([^<>\n]+)>?$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LEAST: Final = 1024
"""Bytes from which a file is compressed."""


def finish(site: Path, pages: Mapping[str, str]) -> None:
    """Change the pages of a built site in place."""
    for name in _UNUSED:
        (site / name).unlink(missing_ok=True)
    (site / "_sources").rmdir()
    for page in site.rglob("*.html"):
        page.write_text(_breakable(_without_inline(page.read_text("utf-8"))), "utf-8")
    for path, text in pages.items():
        target = site / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_as_markdown(text), "utf-8")
    (site / "llms.txt").write_text(_list_pages(pages), "utf-8")
    for file in sorted(site.rglob("*")):
        if file.is_file() and file.suffix in {".html", ".js", ".css", ".md", ".txt", ".svg"}:
            _compress(file)


def _without_inline(html: str) -> str:
    for before, after in _CHANGED.items():
        html = html.replace(before, after)
    return _STYLE.sub("", html)


def _breakable(html: str) -> str:
    """Names in tables break where their words end, so that the columns beside them have room."""

    def broken(name: re.Match[str]) -> str:
        return re.sub(r"(?<=[\w-][._/])(?=\w)|(?<=[a-z])(?=[A-Z])", "<wbr>", name[0])

    return _CELL.sub(lambda cell: _LONG_CODE.sub(broken, cell[0]), html)


def _as_markdown(text: str) -> str:
    """The page without what is for Sphinx alone."""
    return re.sub(r"\A---\n.*?\n---\n\n|```\{toctree\}.*?```\n*", "", text, flags=re.DOTALL)


def _list_pages(pages: Mapping[str, str]) -> str:
    """The pages with their titles and first sentences (llmstxt.org)."""
    lines = ["# Almoner", "", "> Find and validate nonprofits in official registers, and take donations for them.", ""]
    lines += ["All addresses are relative to this file. The whole API as OpenAPI: /openapi.json"]
    left = dict(sorted(pages.items()))
    for caption, entries in _TREE.findall(pages["index.md"]):
        lines += ["", f"## {caption}", ""]
        for title, name in _ENTRY.findall(entries):
            for path in [path for path in left if fnmatch(path, f"{name}.md")]:
                lines.append(_list_page(path, left.pop(path), title))
    lines += ["", "## Calls and event payloads", "", *(_list_page(path, text) for path, text in left.items())]
    return "\n".join(lines) + "\n"


def _list_page(path: str, text: str, title: str = "") -> str:
    """A page with its title and first sentence; tables, samples and lists are none."""
    _, own, rest = re.split(r"^# (.+)$", _as_markdown(text), maxsplit=1, flags=re.MULTILINE)
    paragraph = next(
        (one for one in rest.strip().split("\n\n") if re.match(r"[A-Z`*]\w|[A-Z] ", one)),
        "",
    )
    sentence = re.split(r"(?<=[.:])\s", _LINK.sub(r"\1", " ".join(paragraph.split())))[0].rstrip(":")
    return f"- [{title.strip() or own}]({path})" + (f": {sentence}" if sentence else "")


def _compress(file: Path) -> None:
    content = file.read_bytes()
    if len(content) >= _LEAST:
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(content, 9, mtime=0))
