"""What the pages of members, of operators and of the test provider may cost at their worst input: 50 ms each."""

from tests.support import factories, hostile_calls, hostile_forms
from tests.support.browsing import Browser
from tests.support.card_testing import FORM
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.hostile_text import SHAPES
from tests.support.members import desk
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant


def _shapes(figures: Figures) -> tuple[str, ...]:
    return tuple(SHAPES) if figures.soak else ("one word", "letters", "brackets", "unordered marks", "host")


async def test_pages_of_members(service: Service, tenant: Tenant, api: Client, figures: Figures) -> None:
    await hostile_calls.records(service, api)
    await service.drain()
    browser = await desk(service, tenant, "owner")
    reached = await hostile_forms.follow_links(browser, browser.home, browser.home)
    assert len(reached.parameters) > 8
    assert len(reached.forms) > 2
    assert await hostile_forms.above(service.app, hostile_forms.requests(browser, reached, _shapes(figures))) == {}
    await browser.close()


async def test_pages_of_operators(service: Service, figures: Figures) -> None:
    browser = await signed_in(service, await operator(service, "administrator"))
    reached = await hostile_forms.follow_links(browser, "/operator", "/operator")
    assert len(reached.parameters) > 4
    assert reached.forms
    assert await hostile_forms.above(service.app, hostile_forms.requests(browser, reached, _shapes(figures))) == {}
    await browser.close()


async def test_the_page_of_the_test_provider(service: Service, api: Client, figures: Figures) -> None:
    provider = service.services.provider_app
    assert provider is not None
    session = await factories.session(service, api)
    donor = Browser(service.app, service.db.deployment.base_urls.pages)
    await donor.open(session["url"])
    paying = (await donor.post(f"/give/{session['id']}", FORM)).headers["location"]
    browser = Browser(provider, paying.partition("/pay/")[0])
    reached = await hostile_forms.follow_links(browser, paying, "/pay")
    assert reached.forms
    assert await hostile_forms.above(provider, hostile_forms.requests(browser, reached, _shapes(figures))) == {}
    await donor.close()
    await browser.close()
