"""The ledger in the console: from the trial balance to each account, also those of nonprofits."""

import re

from almoner.kit.money import EXPONENTS
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.console import words
from tests.support.operators import operator, signed_in
from tests.support.payouts import settled, uuid_of
from tests.support.service import Service

HOME = "/operator"
PAGE = 50


def links(browser: Browser, start: str) -> list[str]:
    """Where the links of the last page lead, of those with this start, each once."""
    assert browser.page is not None
    found = re.findall(rf'href="({re.escape(HOME + start)}[^"]*)"', browser.page.text)
    return [one.replace("&amp;", "&") for one in dict.fromkeys(found)]


async def test_what_a_nonprofit_is_owed_is_found_and_explained(service: Service, api: Client) -> None:
    olive = await signed_in(service, await operator(service, "finance"))
    nonprofit = await factories.nonprofit(service)
    made = await settled(service, api, nonprofit)
    await olive.open(f"{HOME}/ledger")
    assert f"{HOME}/ledger/accounts?kind=donation_liability&currency=USD" in links(olive, "/ledger/accounts?")
    await olive.open(f"{HOME}/ledger/accounts?nonprofit={nonprofit}")
    assert "Donation liability USD $0.63 $25.00 -$24.37" in words(olive)
    [account] = links(olive, "/ledger/account?")
    await olive.open(account)
    assert "Current balance: -$24.37" in words(olive)
    sides = links(olive, "/ledger/account?key=provider_clearing")
    assert len(sides) == 1, "the other side of each transfer is an account, too"
    await olive.open(sides[0])
    await olive.open(f"{HOME}/ledger/transfers?q={made['id']}")
    own = uuid_of(service, "organisation", nonprofit)
    assert f"{HOME}/ledger/account?key=donation_liability%3AUSD%3A{own}" in links(olive, "/ledger/account?")
    for narrowed in ("kind=disbursement_in_transit", "currency=gbp"):
        await olive.open(f"{HOME}/ledger/accounts?nonprofit={nonprofit}&{narrowed}")
        assert links(olive, "/ledger/account?") == [], narrowed
    assert (await olive.get(f"{HOME}/ledger/accounts?nonprofit=none")).status_code == 422
    assert (await olive.get(f"{HOME}/ledger/accounts?cursor=none")).status_code == 422
    await olive.close()


async def test_accounts_of_nonprofits_lead_on(alone: Service) -> None:
    olive = await signed_in(alone, await operator(alone, "finance"))
    nonprofit = await factories.nonprofit(alone)
    currencies = sorted(EXPONENTS)[: PAGE + 1]
    async with alone.db.write() as tx:
        await tx.execute(
            "insert into ledger_account (kind, currency, organisation_id) "
            "select 'donation_liability', unnest($1::text[]), $2",
            currencies,
            uuid_of(alone, "organisation", nonprofit),
        )
    await olive.open(f"{HOME}/ledger/accounts?kind=donation_liability")
    first = links(olive, "/ledger/account?")
    [onward] = links(olive, "/ledger/accounts?kind=donation_liability&amp;cursor=")
    await olive.open(onward)
    assert (len(first), len({*first, *links(olive, "/ledger/account?")})) == (PAGE, PAGE + 1)
    lines = (await olive.get(f"{HOME}/ledger/accounts.csv?kind=donation_liability")).text.splitlines()
    assert len(lines) == PAGE + 2
    await olive.close()
