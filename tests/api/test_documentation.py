"""The documentation over HTTP: the built site, the Markdown of a clone before that, and the key that it fills in."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.routing import Router

from almoner.access.people.domain import MemberRole
from almoner.platform.documentation.pages import DocumentationPages
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.members import Desk, desk
from tests.support.service import Service, Tenant, serving


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
        assert (await http.get("/llms.txt")).headers["location"] == "/docs/llms.txt"
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
        with pytest.raises(Exception, match="does not contain this page"):
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
        with pytest.raises(Exception, match="does not contain this page"):
            await http.get("/docs/other/")


PATH = "/sandbox/documentation-key"


@pytest.fixture
async def sandbox(session_database: TestDatabase, tmp_path: Path) -> AsyncIterator[tuple[Service, Tenant]]:
    """A service whose sandbox.json names a partner and its key."""
    async with serving(session_database, data_dir=str(tmp_path)) as service:
        tenant = await service.tenant()
        known = {
            "partnerId": service.db.deployment.ids.encode("partner", tenant.partner.id),
            "secretKey": tenant.secret,
        }
        (tmp_path / "sandbox.json").write_text(json.dumps(known))
        yield service, tenant


async def told(browser: Desk) -> dict[str, str | None]:
    answer = await browser.get(PATH)
    await browser.close()
    assert answer.headers["cache-control"] == "no-store"
    return dict(answer.json())


async def test_the_key_is_filled_in_for_who_may_create_keys(sandbox: tuple[Service, Tenant]) -> None:
    service, tenant = sandbox
    roles: tuple[MemberRole, ...] = ("owner", "developer", "finance", "read_only")
    keys = {role: (await told(await desk(service, tenant, role)))["key"] for role in roles}
    assert keys == {"owner": tenant.secret, "developer": tenant.secret, "finance": None, "read_only": None}
    stranger = await desk(service, await service.tenant(), "owner")
    assert (await told(stranger))["key"] is None
    nobody = Desk(service, tenant, None)
    sign_in = f"{nobody.home}/sign-in"
    assert await told(nobody) == {"key": None, "partner": tenant.name, "signIn": sign_in}


async def test_without_a_known_partner_there_is_no_key(anonymous: Client) -> None:
    answer = (await anonymous.get(PATH)).json()
    assert answer["key"] is None
