"""`almoner partners set` as an administrator types it."""

from pathlib import Path

from tests.support.service import Service, Tenant
from tests.support.terminal import terminal

ASKED = "asked for money every month, from 0 least gifts on, to be paid within 30 days\n"
WEEKLY = "asked for money every week, from 10 least gifts on, to be paid within 14 days\n"
DEFAULT = f"settles in GBP, USD, EUR  donors named  gift aid not asked for\n{ASKED}"


async def test_an_administrator_sets_how_a_partner_gives(service: Service, tenant: Tenant, tmp_path: Path) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    partner = service.db.deployment.ids.text("partner", tenant.partner.id)
    assert await almoner("partners", "set", partner) == (0, DEFAULT), "nothing given: shown as it is"
    changed = await almoner("partners", "set", partner, "--currency", "GBP", "--no-donors", "--gift-aid")
    assert changed == (0, f"settles in GBP  donors not named  gift aid asked for\n{ASKED}")
    changed = await almoner("partners", "set", partner, "--currency", "EUR", "--currency", "CHF", "--donors")
    assert changed == (0, f"settles in EUR, CHF  donors named  gift aid asked for\n{ASKED}")
    status, printed = await almoner("partners", "set", partner, "--currency", "XXX", "--no-gift-aid")
    assert (status, "XXX: no active ISO 4217 currency" in " ".join(printed.split())) == (2, True)
    weekly = ("--request-every", "week", "--request-least", "10", "--request-due", "14")
    status, printed = await almoner("partners", "set", partner, *weekly)
    assert printed.endswith(WEEKLY)
    for option, value in (("--request-least", "-1"), ("--request-due", "0"), ("--request-due", "366")):
        assert (await almoner("partners", "set", partner, f"{option}={value}"))[0] == 2
    assert (await almoner("partners", "set", partner))[1].endswith(f"gift aid asked for\n{WEEKLY}"), "nothing changes"
    assert (await almoner("partners", "set", "nobody", "--donors"))[0] == 2
