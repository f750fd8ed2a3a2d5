"""Pages for everybody: axe, keyboard, no script, 320 px, zoom, contrast, right-to-left (H8, H9)."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from almoner.platform.pages import formats
from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import CHALLENGED, DECLINED, TO_PAYMENT, Site, cases, fill, findings, pay

CATALOGUES = TranslationCatalogues()
Scheme = Literal["light", "dark"]
SCHEMES: list[Scheme] = ["light", "dark"]


async def fits(page: Page) -> None:
    """Nothing is wider than the window."""
    wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide, f"{page.url} scrolls sideways"


async def is_fine(page: Page) -> None:
    """axe finds nothing and nothing is cut off."""
    assert await findings(page) == []
    await fits(page)


@asynccontextmanager
async def opened(site: Site, session: dict[str, Any], **options: Any) -> AsyncIterator[Page]:
    async with site.donor(**options) as page:
        await page.goto(session["url"])
        yield page


async def complete(page: Page, **typed: str) -> None:
    """Fill the form by its fields' names, in any language."""
    await page.locator("#amount-other").check()
    await page.locator("#typed").fill(typed.get("amount", "20"))
    await page.locator("#first_name").fill("Amina")
    await page.locator("#last_name").fill("El-Sayed")
    await page.locator("#email").fill("amina@example.org")


async def send(page: Page) -> None:
    """Press the first button of the page."""
    await page.locator("button[type=submit]").first.click()


async def card(page: Page, number: str) -> None:
    """Fill the card form, in any language."""
    await page.locator("#number").fill(number)
    await page.locator("#expiry").fill("12/30")
    await page.locator("#cvc").fill("123")
    await page.locator("#name").fill("Amina")
    await send(page)


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("scheme", "width", "language"),
    [
        ("light", 320, "en"),
        ("dark", 1280, "ar"),
        pytest.param("dark", 320, "ar", marks=pytest.mark.long),
        pytest.param("light", 1280, "ar", marks=pytest.mark.long),
        pytest.param("dark", 1280, "en", marks=pytest.mark.long),
    ],
)
async def test_h8_axe_finds_nothing_on_any_state_of_the_flow(
    site: Site, scheme: Scheme, width: int, language: str
) -> None:
    session = await site.session(language=language, name="Capital Area Food Bank")
    async with opened(site, session, color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
        await expect(page.locator("html")).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
        await is_fine(page)  # empty
        await send(page)
        await is_fine(page)  # every error at once
        await page.locator("#amount-other").check()
        await is_fine(page)  # the field for another amount
        await complete(page)
        await send(page)
        await is_fine(page)  # card form
        await page.locator("summary").click()
        await is_fine(page)  # its list of test cards
        await send(page)
        await is_fine(page)  # its errors
        await card(page, DECLINED)
        await is_fine(page)  # declined
        await page.goto(f"{site.base_url}/give/{session['id']}/return")
        await is_fine(page)  # waiting
        await page.goto(f"{site.base_url}/give/{session['id']}")
        await is_fine(page)  # under way
        await page.locator(".notice a").click()
        await card(page, CHALLENGED)
        await is_fine(page)  # challenge
        await send(page)
        await page.wait_for_url("**/thanks")
        await is_fine(page)  # thanks
        await page.goto(session["url"])
        await is_fine(page)  # used
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("scheme", "language"),
    cases(SCHEMES, ["en-US", "ar-EG", "ja-JP"], short=[("light", "en-US"), ("dark", "ar-EG"), ("light", "ja-JP")]),
)
async def test_h8_axe_finds_nothing_on_pages_without_a_session(site: Site, scheme: Scheme, language: str) -> None:
    session = await site.session()
    async with site.donor(color_scheme=scheme, locale=language, viewport={"width": 320, "height": 800}) as page:
        for address in (
            f"{site.base_url}/give?token=x",
            f"{site.base_url}/give/{session['id']}",
            f"{site.provider_url}/pay/tp_x",
        ):
            await page.goto(address)
            await is_fine(page)
            assert await page.locator("html").get_attribute("lang") == language[:2]


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("options", [{"forced_colors": "active"}, {"contrast": "more"}, {"reduced_motion": "reduce"}])
async def test_h8_more_contrast_forced_colours_and_no_motion(site: Site, options: dict[str, Any]) -> None:
    for scheme in SCHEMES:
        session = await site.session()
        async with opened(site, session, color_scheme=scheme, **options) as page:
            await send(page)
            await is_fine(page)


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus, which must be seen."""
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            shown = await page.evaluate(
                """() => [document.activeElement]
                .flatMap(element => [element, element.nextElementSibling, element.parentElement])
                .some(element => element && getComputedStyle(element).outlineStyle !== 'none')"""
            )
            assert shown, f"nothing shows the focus on {selector}"
            return
    raise AssertionError(f"Tab never reaches {selector}")


async def type_into(page: Page, *fields: tuple[str, str]) -> None:
    """Tab to each field in turn and type."""
    for selector, text in fields:
        await tab_to(page, selector)
        await page.keyboard.type(text)


async def is_fine_by_day_and_night(page: Page) -> None:
    """``is_fine`` in both colour schemes."""
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        await is_fine(page)


@pytest.mark.usefixtures("axe")
async def test_h8_the_whole_gift_by_keyboard_at_320_px(site: Site, spoken_language: str) -> None:
    language, spoken = spoken_language, CATALOGUES.language(spoken_language)
    session = await site.session(language=language, name="Capital Area Food Bank")
    async with opened(site, session, viewport={"width": 320, "height": 800}) as page:
        await expect(page.locator("html")).to_have_attribute("lang", language)
        await is_fine_by_day_and_night(page)
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name=spoken.text("page.skip"))).to_be_focused()
        await tab_to(page, "input[name=amount]")
        await page.keyboard.press("Space")
        for _ in range(4):
            await page.keyboard.press("ArrowDown")
        await expect(page.get_by_label(spoken.text("give.amount.other"))).to_be_checked()
        await type_into(
            page,
            ("#typed", formats.format_amount_without_currency(3330, "USD", spoken.locale)),
            ("#first_name", "Amina"),
            ("#last_name", "K"),
            ("#email", "amina@example"),
        )
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_focused()
        assert (await page.title()).startswith(spoken.text("page.error.prefix").strip())
        await is_fine_by_day_and_night(page)
        await tab_to(page, ".summary a")
        await page.keyboard.press("Enter")
        await expect(page.locator("#email")).to_be_focused()
        await page.keyboard.press("End")
        await page.keyboard.type(".org")
        await tab_to(page, "#anonymous")
        await page.keyboard.press("Space")
        await tab_to(page, ".word summary")
        await page.keyboard.press("Enter")
        await type_into(page, ("#message", "🦁"))
        await tab_to(page, "button[type=submit]")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await fits(page)
        await type_into(page, ("#number", "4242424242424242"), ("#expiry", "1230"), ("#cvc", "123"), ("#name", "A"))
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/thanks")
        await expect(page.get_by_role("heading", level=1)).to_contain_text("K様" if language == "ja" else "Amina")
        await is_fine_by_day_and_night(page)
    gift = (await site.donations())[0]
    assert (gift["amount"], gift["anonymous"], gift["email"]) == (3330, "yes", "amina@example.org")
    assert site.complaints == []


async def test_h8_a_screen_reader_meets_things_in_the_order_that_they_are_seen(site: Site) -> None:
    session = await site.session(name="Capital Area Food Bank")
    async with opened(site, session) as page:
        await send(page)
        heard = await page.locator("body").aria_snapshot()
        expected = (
            'link "Skip to main content"',
            'complementary "Test mode."',
            'heading "Capital Area Food Bank" [level=1]',
            "main:",
            'list "Steps"',
            'alert "There are 3 problems"',
            'link "Choose or enter an amount"',
            'group "How much would you like to donate?"',
            'radio "$10"',
            'radio "Other amount"',
            'checkbox "Cover the payment fee"',
            'heading "Your details" [level=2]',
            'textbox "First name"',
            'textbox "Email address"',
            'group "Your preferences"',
            'checkbox "Donate anonymously"',
            "Message (optional)",
            'button "Continue to payment"',
            "contentinfo:",
        )
        places = [heard.find(words) for words in expected]
        assert -1 not in places, (expected[places.index(-1)], heard)
        assert places == sorted(places), heard


@pytest.mark.parametrize(
    ("language", "order"), [("ja", ["last_name", "first_name"]), ("en", ["first_name", "last_name"])]
)
async def test_h9_names_are_asked_for_in_the_order_of_the_language(site: Site, language: str, order: list[str]) -> None:
    session = await site.session(language=language)
    async with opened(site, session) as page:
        await send(page)
        asked = await page.locator(".pair input").evaluate_all("fields => fields.map(field => field.name)")
        reported = await page.locator(".summary a").evaluate_all("links => links.map(link => link.hash.slice(1))")
    assert asked == order
    assert reported == ["amount-1000", order[0], "email"]


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_h8_what_is_chosen_shows_in_forced_colours(site: Site, scheme: Scheme) -> None:
    session = await site.session()
    async with opened(site, session, forced_colors="active", color_scheme=scheme) as page:
        ground = "element => getComputedStyle(element).backgroundColor"
        label = page.locator('label[for="amount-2500"]')
        before = await label.evaluate(ground)
        await page.locator("#amount-2500").check()
        assert await label.evaluate(ground) != before
        edge = "element => getComputedStyle(element).borderTopWidth"
        assert await page.locator("button[type=submit]").evaluate(edge) != "0px"
        assert await page.locator("#message").evaluate(edge) != "0px"


async def test_h8_the_whole_gift_without_scripts_at_320_px(site: Site) -> None:
    session = await site.session()
    async with opened(site, session, java_script_enabled=False, viewport={"width": 320, "height": 640}) as page:
        await fill(page, amount="$50")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await pay(page, CHALLENGED)
        await page.get_by_role("button", name="Confirm payment").click()
        await page.wait_for_url("**/thanks")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Amina")


async def test_h8_targets_are_large_enough(site: Site) -> None:
    """WCAG 2.5.8 asks for 24 px; a thumb wants more."""
    session = await site.session()
    async with opened(site, session, viewport={"width": 320, "height": 640}) as page:
        await send(page)
        await page.locator("#amount-other").check()
        sizes = await page.evaluate(
            """() => [...document.querySelectorAll('main a, main input:not([type=hidden]), main button')]
            .map(element => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
        )
        assert sizes == []


async def test_h8_four_hundred_percent_zoom(site: Site) -> None:
    """A window of 1280 px at 400 % has 320 CSS pixels and a fourth of the height."""
    long = "International Federation of Extraordinarily Longnamed Relief Organisations"
    session = await site.session(name=long, country="IDN", currency="IDR", language="en")
    async with opened(site, session, viewport={"width": 320, "height": 256}, device_scale_factor=4) as page:
        await fits(page)
        heights = await page.evaluate("[...document.querySelectorAll('.tile label')].map(label => label.scrollHeight)")
        assert max(heights) < 64, "an amount is broken over two lines"
        await page.locator("#email").scroll_into_view_if_needed()
        await expect(page.locator("#email")).to_be_in_viewport()


@pytest.mark.parametrize(("currency", "typed", "minor"), [("USD", "١٬٢٣٤٫٥٠", 123450), ("EUR", "50", 5000)])
async def test_h9_an_arabic_gift_from_right_to_left(site: Site, currency: str, typed: str, minor: int) -> None:
    session = await site.session(language="ar", currency=currency)
    async with opened(site, session) as page:
        await complete(page, amount=typed)
        form = await page.locator("main").bounding_box()
        panel = await page.locator("header.cause").bounding_box()
        assert form is not None
        assert panel is not None
        assert panel["x"] > form["x"]
        await send(page)
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await expect(page.locator("html")).to_have_attribute("dir", "rtl")
        await card(page, "4242424242424242")
        await page.wait_for_url("**/thanks")
        await expect(page.get_by_role("heading", level=1)).to_have_text("شكرًا لك، Amina")
    assert (await site.donations())[0]["amount"] == minor


async def test_h10_a_page_is_light(site: Site) -> None:
    """At most 100 kB before the pay step, style and icon included."""
    session = await site.session()
    async with site.donor() as page:
        sizes: list[int] = []

        async def weigh(response: Any) -> None:
            if not 300 <= response.status < 400:
                sizes.append(len(await response.body()))

        page.on("response", weigh)
        await page.goto(session["url"], wait_until="networkidle")
        assert sizes
        assert sum(sizes) < 100_000
        assert re.search(r"/assets/almoner\.[0-9a-f]{16}\.css", await page.content())
