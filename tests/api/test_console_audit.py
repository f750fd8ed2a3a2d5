"""The audit log in the console, with the proof of its chain."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.support.browsing import Browser
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant

LOG = "/operator/audit-log"


@pytest.fixture
async def admin(service: Service) -> AsyncIterator[Browser]:
    """An administrator's browser, in which a partner's settings were changed."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield browser
    await browser.close()


async def recorded(service: Service, action: str) -> str:
    """The details of all entries of an action."""
    async with service.db.read() as tx:
        return str(
            await tx.fetchval(
                "select string_agg(concat(subject, details), ' ') from audit_entry where action = $1", action
            )
        )


async def test_entries_are_found_by_partner_person_and_action(service: Service, tenant: Tenant, admin: Browser) -> None:
    name = service.db.deployment.ids.encode("partner", tenant.partner.id)
    scim = f"/operator/partners/{name}/scim"
    await admin.open(scim)
    assert (await admin.post(scim, {"allowed": "no"})).status_code == 303
    page = (await admin.open(f"{LOG}?of={name}&action=partner.scim_set")).text
    [entry] = re.findall(rf"{LOG}/{name}/([0-9a-f-]+)", page)
    shown = (await admin.open(f"{LOG}/{name}/{entry}")).text
    assert "partner.scim_set" in shown
    assert "SCIM turned on or off" in page
    assert "SCIM turned on or off" in shown
    assert f'href="/operator/partners/{name}"' in shown, "the record that it is about"
    assert re.search(r'href="/operator/operators/[a-z_0-9]+"', shown), "who did it"
    assert "192.0.2.9" in shown
    assert entry not in (await admin.open(f"{LOG}?of={name}&action=key.created")).text
    assert entry not in (await admin.open(LOG)).text, "the deployment's own alone"
    other = service.db.deployment.ids.encode("partner", (await service.tenant()).partner.id)
    assert (await admin.get(f"{LOG}/{other}/{entry}")).status_code == 404
    assert (await admin.get(f"{LOG}?of=nobody")).status_code == 422
    lines = (await admin.get(f"{LOG}.csv?of={name}&action=partner.scim_set")).text.splitlines()
    assert len(lines) == 2


async def test_who_is_signed_in_stays_so_at_an_address_that_is_none(service: Service, admin: Browser) -> None:
    for path in ("/operator/no-such-page", "/operator/partners/nobody"):
        missing = await admin.get(path)
        assert missing.status_code == 404
        assert "Page not found" in missing.text
        assert "/operator/sign-in" not in missing.text
        assert 'href="/operator/partners"' in missing.text, "the navigation"
    stranger = Browser(service.app, service.db.deployment.base_urls.pages, "192.0.2.11")
    assert "/operator/sign-in" in (await stranger.get("/operator/no-such-page")).text
    await stranger.close()


async def test_the_chain_is_proved_by_a_worker(service: Service, tenant: Tenant, admin: Browser) -> None:
    name = service.db.deployment.ids.encode("partner", tenant.partner.id)
    own = f"/operator/audit-chains/{name}"
    assert "Never" in (await admin.open(own)).text
    await service.drain()
    await admin.open(f"{own}/prove")
    assert (await admin.post(f"{own}/prove", {"sure": "yes"})).status_code == 303
    assert name in await recorded(service, "audit.proof_started")
    await service.drain()
    proved = (await admin.open(own)).text
    assert "Succeeded" in proved
    assert "Never" not in proved


async def test_an_operator_is_signed_out_elsewhere(service: Service, admin: Browser) -> None:
    person = await operator(service, "reviewer")
    other = await signed_in(service, person)
    assert (await other.get("/operator/desk")).status_code == 200
    sessions = (await admin.open("/operator/sessions")).text
    assert sessions.count("/end") >= 2
    async with service.db.read() as tx:
        session = await tx.fetchval("select id from sign_in where person_id = $1", person.id)
    own = f"/operator/sessions/{service.db.deployment.ids.encode('signin', session)}/end"
    await admin.open(own)
    assert (await admin.post(own, {"sure": "yes"})).status_code == 303
    assert own.split("/")[-2] in await recorded(service, "sign_in.revoked")
    assert (await other.get("/operator/desk")).headers["location"].startswith("/operator/sign-in")
    assert (await admin.get(own)).status_code == 404
    await other.close()
