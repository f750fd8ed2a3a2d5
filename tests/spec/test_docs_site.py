"""The built documentation site: small pages, nothing inline, links that lead somewhere, and each page as Markdown."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from tools import reference
from tools.docs_site.__main__ import SITE, is_current

MOST_BYTES = 150_000
PAGES = ("", "api/donations/", "reference/event-payloads/donation/", "changelog/", "upgrade-notes/", "glossary/",
         "guides/quick-start/", "concepts/lifecycles/", "reference/test-values/", "runbooks/upgrade/")  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    """All pages of the site as it was built by `make site`."""
    assert is_current(), "run `make site`"
    return {file: file.read_text("utf-8") for file in SITE.rglob("*.html")}


def test_every_page_is_small_and_has_nothing_inline(pages: dict[Path, str]) -> None:
    assert {SITE / place / "index.html" for place in PAGES} <= pages.keys()
    for file, html in pages.items():
        assert len(html.encode()) < MOST_BYTES, file
        assert not re.search(r'<style|<script>|\sstyle="|\son[a-z]+="|javascript:', html), file
        assert 'class="err"' not in html, file  # nothing is drawn as a mistake
        loaded = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]* (?:src|href)="([^"]+)"', html)
        assert not [address for address in loaded if "//" in address], file


def test_readers_are_not_told_what_contributors_are(pages: dict[Path, str]) -> None:
    for text in [*pages.values(), *(file.read_text("utf-8") for file in SITE.rglob("*.md"))]:
        page = text.partition("<article")[2] or text
        assert not re.search(r"[Dd]o not edit|^<!-- ", page, re.MULTILINE), page[:200]


def test_pages_of_one_section_have_titles_of_their_own(pages: dict[Path, str]) -> None:
    titles = [
        (file.relative_to(SITE).parts[0], re.findall(r"<title>(.*?)</title>", html)) for file, html in pages.items()
    ]
    assert [one for one in titles if titles.count(one) > 1] == []


def test_every_link_leads_to_a_page_and_a_place_in_it(pages: dict[Path, str]) -> None:
    places = {file: set(re.findall(r'\bid="([^"]+)"', html)) for file, html in pages.items()}
    wrong = []
    for file, html in pages.items():
        for link in re.findall(r'href="([^"]*)"', html):
            address, place = urldefrag(unescape(link))
            if ":" in address or address.startswith("/"):
                continue
            target = (file.parent / address.partition("?")[0]).resolve() if address else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (place and target in places and place not in places[target]):
                wrong.append(f"{file.relative_to(SITE)}: {link}")
    assert wrong == []


def test_every_call_and_event_has_its_place(pages: dict[Path, str]) -> None:
    described = json.loads(reference.render()["openapi.json"])["paths"]
    api = "".join(html for file, html in pages.items() if file.parent.parent.name == "api")
    for operation in (operation for item in described.values() for operation in item.values()):
        assert f'<a id="{operation["operationId"]}"></a>' in api
    events = "".join(html for file, html in pages.items() if file.parent.parent.name == "event-payloads")
    for event in re.findall(r"^\| `([a-z_.]+)`", reference.render()["docs/reference/events.md"], re.MULTILINE):
        assert f">{event}<" in events


def test_every_page_is_also_markdown(pages: dict[Path, str]) -> None:
    listing = (SITE / "llms.txt").read_text("utf-8")
    assert "## Start\n\n- [Quick start](guides/quick-start.md): In this guide, you make a test donation" in listing
    assert "- [TypeScript client](clients/typescript.md): This is a typed TypeScript client for Almoner" in listing
    listed = re.findall(r"\]\(([^)]+\.md)\)", listing)
    made = {file.parent.relative_to(SITE).as_posix() for file in pages} - {"search"}
    named = {path.removesuffix("/index.md").removesuffix(".md") for path in listed}
    assert {"." if name == "index" else name for name in named} == made
    for path in listed:
        text = (SITE / path).read_text("utf-8")
        assert re.search("^# ", text, re.MULTILINE), path
        assert "toctree" not in text
