"""`almoner partners settings` as an administrator types it."""

from pathlib import Path

from tests.support.service import Service, Tenant
from tests.support.terminal import terminal

ASKED = "donation requests every month, at least 0 times the minimum donation, due within 30 days\n"
WEEKLY = "donation requests every week, at least 10 times the minimum donation, due within 14 days\n"
DEFAULT = f"settlement currencies GBP, USD, EUR  donor details shared  Gift Aid not required\n{ASKED}"


async def test_an_administrator_sets_how_a_partner_gives(service: Service, tenant: Tenant, tmp_path: Path) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    assert await almoner("partners", "settings", partner) == (0, DEFAULT), "nothing given: shown as it is"
    changed = await almoner("partners", "settings", partner, "--currency", "GBP", "--no-share-donors", "--gift-aid")
    assert changed == (0, f"settlement currencies GBP  donor details not shared  Gift Aid required\n{ASKED}")
    changed = await almoner("partners", "settings", partner, "--currency", "EUR", "--currency", "CHF", "--share-donors")
    assert changed == (0, f"settlement currencies EUR, CHF  donor details shared  Gift Aid required\n{ASKED}")
    status, printed = await almoner("partners", "settings", partner, "--currency", "XXX", "--no-gift-aid")
    assert (status, "XXX: not an active ISO 4217 currency" in " ".join(printed.split())) == (2, True)
    weekly = ("--request-interval", "week", "--request-minimum", "10", "--request-due-days", "14")
    status, printed = await almoner("partners", "settings", partner, *weekly)
    assert printed.endswith(WEEKLY)
    for option, value in (("--request-minimum", "-1"), ("--request-due-days", "0"), ("--request-due-days", "366")):
        assert (await almoner("partners", "settings", partner, f"{option}={value}"))[0] == 2
    assert (await almoner("partners", "settings", partner))[1].endswith(f"Gift Aid required\n{WEEKLY}"), (
        "nothing changes"
    )
    assert (await almoner("partners", "settings", "nobody", "--share-donors"))[0] == 2
