"""`almoner partners receipt-issuer` as an administrator types it: who issues the receipts of a partner's gifts."""

from pathlib import Path

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant
from tests.support.terminal import terminal


async def command(service: Service, home: Path, *words: str) -> tuple[int, str]:
    """Type a command of `almoner partners receipt-issuer`; (status, what was printed)."""
    return await terminal(service, home, "administrator")("partners", "receipt-issuer", *words)


async def test_an_administrator_names_the_issuer(service: Service, api: Client, tenant: Tenant, tmp_path: Path) -> None:
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    assert await command(service, tmp_path, partner) == (0, f"issued by {tenant.name}  prefix -  last number 0\n")
    named = await command(service, tmp_path, partner, "--name", "Bright Bank Foundation", "--prefix", "BB")
    assert named == (0, "issued by Bright Bank Foundation  prefix BB  last number 0\n")
    await factories.donation(service, api)
    await service.drain()
    [mail] = data(await api.get("/v1/sandbox/mailbox"))
    assert "BB-000001" in mail["text"]
    assert "Bright Bank Foundation" in mail["text"]
    assert (await command(service, tmp_path, partner, "--prefix", "bb"))[0] == 2
    assert (await command(service, tmp_path, "nobody"))[0] == 2
    again = await command(service, tmp_path, partner, "--name", "")
    assert again == (0, f"issued by {tenant.name}  prefix BB  last number 1\n")
