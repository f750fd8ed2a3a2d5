"""A partner's name, colour and links are on its mails, and on the pages of donors and applicants (spec 4.8)."""

import html
import re

import pytest

from almoner.access.partners import service as partners
from tests.support import applications, factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

LINKS = {
    "privacy": "https://partner.example/privacy",
    "terms": "https://partner.example/terms",
    "contact": "help@partner.example",
}


async def test_mails_and_pages_are_in_the_name_of_the_partner(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.set_brand(tx, tenant.partner, colour="#552266")
        await partners.set_public_links(tx, tenant.partner, **LINKS)
    made = await factories.donation(service, api, email="brand@example.org")
    await service.drain()
    [mail] = data(await api.get("/v1/sandbox/mailbox", to="brand@example.org"))
    assert mail["from"].startswith(f"{tenant.name} <")
    assert mail["text"].startswith(f"{tenant.name}\n")
    assert "background:#0b4a3c" not in mail["html"], "the deployment's own colour"
    assert {LINKS["privacy"], LINKS["terms"]} <= set(mail["links"])
    assert f"Questions? Email {LINKS['contact']}." in mail["text"]
    assert "You received this email because" in mail["text"]
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    gift = next(link for link in mail["links"] if "/gift?" in link)
    invite = await applications.invited(api)
    for link in (gift, invite["url"]):
        page = html.unescape(re.sub("</?bdi[^>]*>", "", (await browser.open(link)).text))
        assert [value for value in LINKS.values() if value not in page] == [], link
    assert made["receiptDelivery"] == "pending"


async def test_links_lead_to_public_web_addresses(service: Service, tenant: Tenant) -> None:
    wrong = ["http://a.example", "https://", "https://[", "https://a b.example", "https://a.example:99999"]
    for link in (*wrong, "https://user@a.example", "https://localhost"):
        async with service.db.write() as tx:
            with pytest.raises(ValueError, match="must be an address such as"):
                await partners.set_public_links(tx, tenant.partner, privacy=link)
