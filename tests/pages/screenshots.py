"""Take the README's pictures anew from a gift on the real register sample: ``python -m tests.pages.screenshots``."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.async_api import Page

from almoner.access.people.domain import OPERATOR_ROLES, OPERATORS
from almoner.cli import registers
from almoner.platform.database import postgres
from almoner.platform.pages import rendering
from tests.pages.accounts import AMINA, acme, sign_in
from tests.pages.site import DECLINED, Site, open_browser, open_site
from tests.support import cluster, database, factories, people
from tests.support.applications import ANSWERS, QUESTIONS, Form, configured, invited
from tests.support.client import data
from tests.support.hostile_pdfs import pdf
from tests.support.validation import UNHEARD_OF, decided

FOLDER = Path(__file__).parents[2] / "docs" / "images"
FONTS = Path(rendering.__file__).parent / "fonts"
CAUSE = "Capital Area Food Bank"
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}}
OPERATOR = "ada@operators.example"
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}


async def main() -> None:
    """A gift from link to thanks, in several languages, by day and by night."""
    with postgres.run_embedded_server(cluster.folder()) as server, our_fonts():
        async with database.copied(server) as made, open_browser() as browser, open_site(made, browser) as site:
            await registers.load_sample_registers(site.service.db)
            await flow(site)
            await others(site)
            await gift_aid(site)
            await regular(site)
            await follow(site)
            await application(site)
            await accounts(site)
            await dashboard(site)
            await console(site)


@contextmanager
def our_fonts() -> Iterator[None]:
    """Chromium finds the fonts of the receipts, so that every machine has a Japanese one."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "fonts").symlink_to(FONTS)
        os.environ["XDG_DATA_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_DATA_HOME"]


async def flow(site: Site) -> None:
    """The journey of the README."""
    async with site.donor(**DESKTOP) as page:
        await page.goto((await session(site))["url"])
        await page.locator("#amount-2500").check()
        await fill(page, {"first_name": "Amina", "last_name": "El-Sayed", "email": "amina@example.org"})
        await shot(page, "gift")
        await page.locator("button[type=submit]").click()
        await card(page, DECLINED)
        await shot(page, "payment-declined")
        await card(page, "4242424242424242")
        await page.wait_for_url("**/thanks")
        await shot(page, "thanks")


async def others(site: Site) -> None:
    """Right to left, by night, on a phone, and what a wrong form looks like."""
    async with site.donor(**DESKTOP, color_scheme="dark") as page:
        await page.goto((await session(site, language="ar", currency="EUR"))["url"])
        await page.locator("#amount-5000").check()
        await shot(page, "gift-arabic-dark")
    async with site.donor(**DESKTOP) as page:
        await page.goto((await session(site, language="de", currency="EUR"))["url"])
        await page.locator("#amount-5000").check()
        await page.locator("#cover").check()
        await shot(page, "gift-german")
    async with site.donor(**DESKTOP, color_scheme="dark") as page:
        await page.goto((await session(site, language="he", currency="USD"))["url"])
        await page.locator("#amount-5000").check()
        await shot(page, "gift-hebrew-dark")
    async with site.donor(**PHONE) as page:
        await page.goto((await session(site, language="ja", currency="USD"))["url"])
        await page.locator("#amount-2500").check()
        await shot(page, "gift-japanese-phone")
    async with site.donor(**PHONE) as page:
        await page.goto((await session(site, currency="GBP"))["url"])
        await page.locator("#amount-other").check()
        await fill(page, {"typed": "0.50", "first_name": "Amina", "email": "amina@"})
        await page.locator("button[type=submit]").click()
        await shot(page, "gift-errors-phone")
    async with site.donor(**PHONE, color_scheme="dark") as page:
        await page.goto(f"{site.base_url}/give?token=cut-off")
        await shot(page, "unknown-link-phone-dark")


async def gift_aid(site: Site) -> None:
    """A gift in pounds for a charity of the British sample."""
    found = data(await site.api.get("/v1/organisations", query="Cancer Lifeline", countryCode="GBR"))
    given = {"organisationId": found[0]["id"], "language": "en", "currency": "GBP"}
    async with site.donor(**DESKTOP) as page:
        await page.goto(data(await site.api.post("/v1/donation-sessions", given))["url"])
        await page.locator("#amount-2500").check()
        await fill(page, {"first_name": "Amina", "last_name": "El-Sayed", "email": "amina@example.org"})
        await page.locator("#gift_aid").check()
        await shot(page, "gift-aid")


async def regular(site: Site) -> None:
    """A giving link, and the page of a donor who gives by it every month."""
    [cause, *_] = data(await site.api.get("/v1/organisations", query=CAUSE, countryCode="USA"))
    link = await factories.giving_link(
        site.service,
        site.api,
        organisationIds=[cause["id"]],
        title="Winter appeal",
        text="Blankets and hot meals for a hundred nights.",
        slug="hundred-nights",
        currencies=["USD"],
        suggestedAmounts=[1000, 2500, 5000],
        frequencies=["one_time", "monthly"],
        goal=1_000_000,
        showsProgress=True,
    )
    async with site.donor(**DESKTOP, locale="en") as page:
        await page.goto(link["url"])
        await page.locator("#frequency-monthly").check()
        await page.locator("#amount-2500").check()
        await fill(page, {"first_name": "Amina", "last_name": "El-Sayed", "email": "amina.monthly@example.org"})
        await shot(page, "giving-link")
        await page.locator("form button[type=submit]").first.click()
        await card(page, "4242424242424242")
        await page.wait_for_url("**/thanks")
        await site.service.drain()
        mails = data(await site.api.get("/v1/sandbox/mailbox", to="amina.monthly@example.org"))
        await page.goto(next(one for mail in mails for one in mail["links"] if "/regular-donations?" in one))
        await shot(page, "regular-donation")


async def application(site: Site) -> None:
    """The last step of the hosted form, and where the application stands."""
    made = await configured(site.api, name="Bright Bank grants", partnerFields=QUESTIONS)
    invite = await invited(site.api, hostedConfigId=made["id"])
    form = Form(site.service, invite)
    await form.open()
    await form.answer("/questions", ANSWERS)
    await form.upload(pdf(), "application/pdf", name="Certificate of registration.pdf")
    found = data(await site.api.get("/v1/organisations", query=CAUSE, countryCode="USA"))
    await form.fill(found[0]["id"])
    async with site.donor(**DESKTOP) as page:
        await page.goto(invite["url"])
        await page.goto(f"{site.base_url}{form.home}/review")
        await shot(page, "application-review")
        await page.locator("main .actions button").click()
        await page.wait_for_url("**/application/**")
        await site.service.drain()
        await page.reload()
        await shot(page, "application-status")


async def follow(site: Site) -> None:
    """Where a gift is, by the link in its receipt."""
    made = await session(site)
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "Amina", "lastName": "El-Sayed"}
    gift = {"id": made["id"], "action": "donate", "email": "follow@example.org", **donor}
    data(await site.api.post("/v1/sandbox/simulate", gift))
    donations = data(await site.api.get("/v1/donations", pageSize=1))
    site.service.clock.advance(days=2)
    data(await site.api.post("/v1/sandbox/simulate", {"id": donations[0]["id"], "action": "settle"}))
    await site.service.drain()
    [mail] = data(await site.api.get("/v1/sandbox/mailbox", to="follow@example.org"))
    async with site.donor(**DESKTOP) as page:
        await page.goto(next(link for link in mail["links"] if "/gift?" in link))
        await shot(page, "gift-now")


async def accounts(site: Site) -> None:
    """Signing in, and one's own account."""
    here = await acme(site)
    person = await here.member("owner", "finance")
    async with here.browser("/sign-in", **DESKTOP) as page:
        await page.get_by_label("Username").fill(AMINA)
        await shot(page, "account-sign-in")
        secret = await people.authenticator(site.service, person)
        await sign_in(page)
        await page.get_by_label("Code").fill(people.code(site.service, secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await shot(page, "account")
    other = await acme(site)
    await other.member("finance")
    async with other.browser("/sign-in", **PHONE, color_scheme="dark") as page:
        await sign_in(page)
        await page.wait_for_url(other.home + "/home")
        await page.goto(f"{other.home}/authenticator")
        await page.get_by_role("button", name="Set up authenticator app").click()
        await shot(page, "account-authenticator-phone-dark")


async def dashboard(site: Site) -> None:
    """The list that people work in, and the same on a phone in Arabic by night."""
    here = await acme(site)
    api, person = site.service.client(here.tenant.secret), await here.member("owner")
    for number, name in enumerate(("Amina", "Ben", "Chiara", "Dmytro", "Ewa", "Farid")):
        await factories.donation(
            site.service, api, email=f"{name.lower()}@example.org", firstName=name, amount=2500 + 750 * number
        )
        site.service.clock.advance(hours=5)
    await site.service.drain()
    secret = await people.authenticator(site.service, person)
    for name, options in {
        "dashboard-donations": DESKTOP,
        "dashboard-donations-arabic-phone-dark": {**PHONE, "locale": "ar", "color_scheme": "dark"},
    }.items():
        async with here.browser("/sign-in", **options) as page:
            await sign_in(page)
            site.service.clock.advance(minutes=1)
            await page.locator("#code").fill(people.code(site.service, secret))
            await page.locator("form button[type=submit]").first.click()
            await page.wait_for_url(here.home + "/home")
            await page.goto(f"{here.home}/donations?status=RECEIVED_PAYMENT")
            await shot(page, name)
    link = await factories.giving_link(
        site.service,
        api,
        title="Winter appeal",
        slug="winter-appeal",
        currencies=["USD"],
        suggestedAmounts=[1000, 2500],
    )
    async with here.browser("/sign-in", **DESKTOP) as page:
        await sign_in(page)
        site.service.clock.advance(minutes=1)
        await page.locator("#code").fill(people.code(site.service, secret))
        await page.locator("form button[type=submit]").first.click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(f"{here.home}/giving-links/{link['id']}")
        await shot(page, "dashboard-giving-link")
    await api.close()


async def console(site: Site) -> None:
    """The operator's console: the desk, a review case, a month end and the service's health."""
    api = site.service.client((await acme(site)).tenant.secret)
    made = await decided(site.service, api, **UNHEARD_OF, name="Аid for Rivers")  # the first letter is Cyrillic
    for number, name in {"X6244": "Rivers of Hope", "X6245": "Lighthouse Trust"}.items():
        await decided(site.service, api, **{**UNHEARD_OF, "registryId": number}, name=name)
    site.service.clock.advance(hours=7)
    person = await people.person(site.service, OPERATORS, OPERATOR, *OPERATOR_ROLES)
    secret = await people.authenticator(site.service, person)
    async with site.donor(**DESKTOP) as page:
        await page.goto(f"{site.base_url}/operator/desk")
        await sign_in(page, OPERATOR)
        await page.get_by_label("Code").fill(people.code(site.service, secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/operator/desk")
        await shot(page, "console-desk")
        await page.goto(f"{site.base_url}/operator/reviews/{made['id']}")
        await page.get_by_role("button", name="Claim this case").click()
        await page.wait_for_url("**done=claimed")
        await shot(page, "console-review")
        found = data(await site.api.get("/v1/organisations", query=CAUSE, countryCode="USA"))
        for name, path in {
            "console-month-end": "month-end",
            "console-health": "health",
            "console-organisation": f"organisations/{found[0]['id']}",
        }.items():
            await page.goto(f"{site.base_url}/operator/{path}")
            await shot(page, name)
    await api.close()


async def session(site: Site, **body: str) -> dict[str, Any]:
    """A session for a nonprofit of the sample."""
    found = data(await site.api.get("/v1/organisations", query=CAUSE, countryCode="USA"))
    answer = await site.api.post("/v1/donation-sessions", {"organisationId": found[0]["id"], "language": "en", **body})
    return dict(data(answer))


async def fill(page: Page, fields: dict[str, str]) -> None:
    """Type into fields by their names."""
    for name, text in fields.items():
        await page.locator(f"#{name}").fill(text)


async def card(page: Page, number: str) -> None:
    """Send a card."""
    await fill(page, {"number": number, "expiry": "12/30", "cvc": "123", "name": "Amina El-Sayed"})
    await page.locator("button[type=submit]").click()
    await page.wait_for_load_state()


async def shot(page: Page, name: str) -> None:
    """One picture of the whole page, without a caret that blinks."""
    await page.evaluate("document.activeElement.blur()")
    FOLDER.mkdir(parents=True, exist_ok=True)
    picture = Image.open(BytesIO(await page.screenshot(full_page=True))).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    asyncio.run(main())
