"""`almoner members sso` as an administrator types it."""

from pathlib import Path

import pytest

from almoner.access.sign_ins import service as sign_ins
from almoner.platform.audit import log as audit
from tests.support.hostile_openid import hostile_provider
from tests.support.openid import openid_provider
from tests.support.running import free_port
from tests.support.service import Service, Tenant
from tests.support.sign_on import entered, set_up
from tests.support.terminal import Type, terminal


@pytest.fixture
def almoner(service: Service, tmp_path: Path) -> Type:
    """An administrator's terminal."""
    return terminal(service, tmp_path, "administrator")


async def test_an_administrator_sets_up_tries_and_removes_a_provider(
    service: Service, tenant: Tenant, almoner: Type
) -> None:
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    _, shown = await almoner("members", "sso", "show", partner)
    assert f"{service.db.deployment.base_urls.pages}/account/{partner}/sign-on/callback" in shown
    async with openid_provider() as provider:
        name = ("members", "sso", "set", partner, "--name", "Example ID", "--client-id", "almoner")
        words = (*name, "--issuer", provider.issuer, "--groups-claim", "groups", "--role", "all = staff=finance")
        status, printed = await almoner(*words, stdin="very-secret\n")
        assert status == 0, printed
        assert "all = staff = finance" in printed
        assert "very-secret" not in printed
        status, printed = await almoner("members", "sso", "test", partner)
        assert status == 0, printed
        assert f"{provider.issuer}/oauth2/token" in printed
    status, printed = await almoner(*words, "--public-client", "--keep-secret")
    assert status != 0
    for nothing in ("", " \n"):
        status, printed = await almoner(*words, stdin=nothing)
        assert (status, "no client secret was entered" in printed) == (2, True), "it does not become a public client"
    status, printed = await almoner(*words, "--keep-secret", "--subject-claim", "email", "--scopes", "profile")
    assert status == 1
    assert "must be sub or oid" in printed
    assert "include openid" in printed
    nobody = f"http://127.0.0.1:{free_port()}"
    status, printed = await almoner(*name, "--issuer", nobody, "--public-client", "--disabled")
    assert status == 0, printed
    status, printed = await almoner("members", "sso", "test", partner)
    assert status == 1
    assert "The connection failed" in printed
    status, printed = await almoner("members", "sso", "remove", partner)
    assert status == 0, printed
    status, printed = await almoner("members", "sso", "remove", partner)
    assert (status, printed.strip()) == (1, "Single sign-on is not set up")
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id)
    assert [(entry.action, entry.actor.kind) for entry in reversed(entries)] == [
        ("provider.set", "operator"),
        ("provider.changed", "operator"),
        ("provider.removed", "operator"),
    ]
    assert "very-secret" not in str(entries)


async def test_an_administrator_unbinds_a_member_from_the_account_at_the_provider(
    service: Service, almoner: Type
) -> None:
    async with hostile_provider(service.clock) as evil, set_up(service) as here:
        await here.set_up(evil.url)
        ada = await here.member("ada", externalId="ada")
        there = entered(await here.sign_in())
        partner = service.db.deployment.ids.encode("partner", here.partner.id)
        status, printed = await almoner("members", "sso", "unlink", partner, "ada")
        assert status == 0, printed
        assert printed.strip() == f"ada can no longer sign in with {evil.url}."
        async with service.db.single_statement() as tx:
            assert await sign_ins.find_sign_in_by_secret(tx, ada.realm, there.session_secret) is None
        status, printed = await almoner("members", "sso", "unlink", partner, "ada")
        assert (status, printed.strip()) == (0, "ada is not linked to a provider.")
    async with service.db.read() as tx:
        done = [(entry.action, entry.actor.kind) for entry in await audit.list_entries(tx, here.partner.id)]
    assert done.count(("identity.unbound", "operator")) == 1
