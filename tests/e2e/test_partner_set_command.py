"""`almoner partners set` as an administrator types it."""

from pathlib import Path

from tests.support.service import Service, Tenant
from tests.support.terminal import terminal

DEFAULT = "settles in GBP, USD, EUR  donors named  gift aid not asked for\n"


async def test_an_administrator_sets_how_a_partner_gives(service: Service, tenant: Tenant, tmp_path: Path) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    partner = service.db.deployment.ids.text("partner", tenant.partner.id)
    assert await almoner("partners", "set", partner) == (0, DEFAULT), "nothing given: shown as it is"
    changed = await almoner("partners", "set", partner, "--currency", "GBP", "--no-donors", "--gift-aid")
    assert changed == (0, "settles in GBP  donors not named  gift aid asked for\n")
    changed = await almoner("partners", "set", partner, "--currency", "EUR", "--currency", "CHF", "--donors")
    assert changed == (0, "settles in EUR, CHF  donors named  gift aid asked for\n")
    status, printed = await almoner("partners", "set", partner, "--currency", "XXX", "--no-gift-aid")
    assert (status, "XXX: no active ISO 4217 currency" in " ".join(printed.split())) == (2, True)
    assert (await almoner("partners", "set", partner))[1].endswith("gift aid asked for\n"), "refused: nothing changes"
    assert (await almoner("partners", "set", "nobody", "--donors"))[0] == 2
