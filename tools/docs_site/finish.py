"""What Sphinx leaves to do: pages without inline scripts and styles, each beside its Markdown, and llms.txt.

The content security policy of /docs allows files of ours alone: templates/base.html leaves out what the theme has
inline, and here go the last attributes.
"""

import gzip
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_STYLE: Final = re.compile(r' style="[^"]*"')
_CHANGED: Final = {
    ' style="display: none;">': " hidden>",
    '<p class="caption" role="heading">': '<p class="caption">',  # a heading without a level is none
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
}
_UNUSED: Final = (".buildinfo", "objects.inv", "_static/file.png", "_static/minus.png", "_static/plus.png",
                  "_static/debug.css", "_static/styles/furo.css.map", "_static/styles/furo-extensions.css.map",
                  "_static/scripts/furo.js.map")  # fmt: skip
_LEAST: Final = 1024
"""Bytes from which a file is compressed."""


def finish(site: Path, pages: Mapping[str, str]) -> None:
    """Change the pages of a built site in place."""
    for name in _UNUSED:
        (site / name).unlink(missing_ok=True)
    (site / "_sources").rmdir()
    for page in site.rglob("*.html"):
        page.write_text(_without_inline(page.read_text("utf-8")), "utf-8")
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


def _as_markdown(text: str) -> str:
    """The page without what is for Sphinx alone."""
    return re.sub(r"\A---\n.*?\n---\n\n|```\{toctree\}.*?```\n*", "", text, flags=re.DOTALL)


def _list_pages(pages: Mapping[str, str]) -> str:
    """The pages with their titles and first sentences (llmstxt.org)."""
    lines = ["# Almoner", "", "> Find and validate nonprofits in official registers, and take donations for them.", ""]
    lines += ["All addresses are relative to this file. The whole API as OpenAPI: /openapi.json", "", "## Pages", ""]
    for path, text in sorted(pages.items()):
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        lines.append(f"- [{title[1] if title else path}]({path})")
    return "\n".join(lines) + "\n"


def _compress(file: Path) -> None:
    content = file.read_bytes()
    if len(content) >= _LEAST:
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(content, 9, mtime=0))
