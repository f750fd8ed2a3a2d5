"""`almoner receipt-donees` as operators type it: two of them set up who acknowledges donations for US taxes."""

from pathlib import Path

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant
from tests.support.terminal import terminal

NOTE = ("--note", "IRS determination letter, in the archive")


async def test_two_operators_set_up_the_donee(service: Service, api: Client, tenant: Tenant, tmp_path: Path) -> None:
    first, second = terminal(service, tmp_path, "finance"), terminal(service, tmp_path, "finance")
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    about = ("--legal-name", "Bright Bank Foundation", "--address", "1 Main Street, Casper, WY 82601")
    status, printed = await first("receipt-donees", "propose", partner, "--ein", "12-345", *about, *NOTE)
    assert (status, "is not an EIN" in printed) == (1, True)
    status, printed = await first("receipt-donees", "propose", partner, "--ein", "12-3456789", *about, *NOTE)
    assert status == 0
    donee = printed.split()[0]
    assert (await first("receipt-donees", "approve", donee, "--ein", "12-3456789", *NOTE))[0] == 1
    status, printed = await second("receipt-donees", "approve", donee, "--ein", "12-3456789", *NOTE)
    assert (status, "New receipts name Bright Bank Foundation" in printed) == (0, True)
    assert "approved" in (await first("receipt-donees", "list"))[1]
    await factories.donation(service, api)
    await service.drain()
    [mail] = data(await api.get("/v1/sandbox/mailbox"))
    assert "No goods or services were provided in return for this donation." in mail["text"]
    assert "12-3456789" in mail["text"]
    assert (await second("receipt-donees", "end", donee))[0] == 0
    assert (await second("receipt-donees", "end", donee))[0] == 1
