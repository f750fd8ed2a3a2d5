"""The documentation over HTTP: the built site from its files, and the Markdown of a clone before that."""

import gzip
from pathlib import Path

import httpx
import pytest
from starlette.routing import Router

from almoner.platform.documentation.pages import DocumentationPages
from tests.support.client import Client
from tests.support.service import Service


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A small site."""
    folder = tmp_path / "site"
    (folder / "guides").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Front</h1>")
    (folder / "guides" / "index.html").write_text("<h1>Guides</h1>")
    (folder / "guides.md").write_text("# Guides")
    (folder / "guides.md.gz").write_bytes(gzip.compress(b"# Guides"))
    (tmp_path / "secret.md").write_text("# Secret")
    return folder


def client_of(service: Service, site: Path, markdown: Path) -> httpx.AsyncClient:
    pages = Router(DocumentationPages(service.db.deployment, site, markdown).routes())
    transport = httpx.ASGITransport(pages)
    return httpx.AsyncClient(transport=transport, base_url="http://almoner.test")


async def test_a_built_site_is_served_from_its_files(service: Service, site: Path) -> None:
    async with client_of(service, site, site / "none") as http:
        assert (await http.get("/docs")).headers["location"] == "/docs/"
        assert (await http.get("/docs/")).text == "<h1>Front</h1>"
        assert (await http.get("/docs/guides")).headers["location"] == "/docs/guides/"
        found = await http.get("/docs/guides/")
        assert found.text == "<h1>Guides</h1>"
        assert "script-src 'self';" in found.headers["content-security-policy"]
        assert "unsafe" not in found.headers["content-security-policy"]
        again = await http.get("/docs/guides/", headers={"If-None-Match": found.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        markdown = await http.get("/docs/guides.md", headers={"Accept-Encoding": "gzip"})
        assert (markdown.headers["content-encoding"], markdown.text) == ("gzip", "# Guides")
        assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
        (site / "guides.md").write_text("# Other")
        plain = await http.get("/docs/guides.md", headers={"Accept-Encoding": "identity"})
        assert plain.text == "# Other"


@pytest.mark.parametrize("path", ["missing/", "missing.md", "%2e%2e/secret.md", "..%2fsecret.md", "a%00b"])
async def test_nothing_else_is_served(service: Service, site: Path, path: str) -> None:
    async with client_of(service, site, site / "none") as http:
        with pytest.raises(Exception, match="no such page"):
            await http.get(f"http://almoner.test/docs/{path}")


async def test_a_clone_shows_its_markdown_until_the_site_is_built(service: Service, tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "README.md").write_text("# Docs\n\n[Gifts](guides/gifts.md) <b>")
    (tmp_path / "guides" / "gifts.md").write_text("# Gifts\n\n[Front](../README.md#here) [Out](../../LICENSE.md)")
    async with client_of(service, tmp_path / "none", tmp_path) as http:
        front = (await http.get("/docs/")).text
        assert '<a href="/docs/guides/gifts.md">Gifts</a> &lt;b&gt;' in front
        assert "make docs" in front
        for path in ("guides/gifts.md", "guides/gifts/", "guides/gifts"):
            page = await http.get(f"/docs/{path}")
            assert page.status_code == 200
            assert '<a href="/docs/README.md#here">Front</a> [Out](../../LICENSE.md)' in page.text
        with pytest.raises(Exception, match="no such page"):
            await http.get("/docs/other/")


async def test_the_key_of_the_sandbox_is_for_nobody_who_is_not_signed_in(anonymous: Client) -> None:
    told = (await anonymous.get("/sandbox/documentation-key")).json()
    assert told["key"] is None
