"""What people do on the dashboard every day, by keyboard, within ten actions."""

from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

from almoner.access.partners import service as partners
from tests.pages.accounts import acme
from tests.pages.site import Site
from tests.pages.test_dashboard import enter
from tests.support import applications, factories, submissions
from tests.support.client import data
from tests.support.eventually import eventually
from tests.support.receivers import receiver, reply

MOST = 10


@dataclass
class Keyboard:
    """A person without a mouse. ``actions``: what they opened, pressed and typed."""

    page: Page
    actions: int = 0

    async def press(self, target: Locator, key: str = "Enter") -> None:
        """Go to something and press a key."""
        await target.focus()
        await self.page.keyboard.press(key)
        self.actions += 1

    async def write(self, field: Locator, text: str) -> None:
        """Go to a field and replace what it holds."""
        await field.focus()
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)
        self.actions += 1


async def test_support_finds_a_donation_by_email_and_refunds_a_part(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    await factories.donation(site.service, api, email="nia@example.org")
    async with site.service.db.write() as tx:
        await partners.set_support_refund_limit(tx, here.tenant.partner, "USD", 1500)
    await site.service.drain()
    async with site.donor() as page:
        await enter(here, page, "support", "/home")
        keyboard = Keyboard(page)
        await keyboard.write(page.get_by_label("Search everything"), "nia@example.org")
        await keyboard.press(page.get_by_label("Search everything"))
        await page.wait_for_url("**/search?q=**")
        await keyboard.press(page.locator("main .rows a").first)
        await keyboard.press(page.get_by_role("link", name="Refund"))
        await keyboard.write(page.get_by_label("Amount in USD"), "10.00")
        await keyboard.press(page.get_by_role("button", name="Refund"))
        await expect(page.locator(".notice")).to_contain_text("The refund has started.")
        await site.service.drain()
        await page.reload()
        await expect(page.get_by_text("Refunded: $10.00")).to_be_visible()
        assert keyboard.actions <= MOST
    await api.close()


async def test_a_developer_finds_why_a_webhook_failed_and_replays(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    async with receiver(reply(500)) as failing, site.donor() as page:
        await factories.subscription(api, "donation_session.completed", url=failing.url)
        await factories.donation(site.service, api)
        await site.service.drain()
        await enter(here, page, "developer", "/home")
        keyboard = Keyboard(page)
        await keyboard.press(page.get_by_role("link", name="Failing webhook endpoints"))
        await keyboard.press(page.get_by_role("link", name=failing.url))
        await keyboard.press(page.locator("summary", has_text="Attempt 1: 500").first)
        await keyboard.press(page.get_by_role("link", name="Replay"))
        await keyboard.press(page.get_by_role("button", name="Replay"))
        await expect(page.locator(".notice")).to_contain_text("There are no events to send")
        await keyboard.press(page.get_by_role("link", name=failing.url))
        await keyboard.press(page.get_by_role("link", name="Event donation_session.completed").first)
        await keyboard.press(page.get_by_role("link", name="Resend"))
        await keyboard.press(page.get_by_role("button", name="Resend"))
        await expect(page.locator(".notice")).to_be_visible()
        assert keyboard.actions <= MOST
        sent = len(failing.received)
        await site.service.drain()
        assert len(failing.received) == sent + 1
    await api.close()


async def test_an_owner_brands_the_page(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    async with site.donor() as page:
        await enter(here, page, "owner", "/home")
        keyboard = Keyboard(page)
        await keyboard.press(page.get_by_role("link", name="Branding and links"))
        await keyboard.write(page.get_by_label("Colour"), "#7a1f5c")
        hosted = page.frame_locator("iframe[name=preview]").locator("html")
        await expect(hosted).to_have_css("--brand", "#7a1f5c")
        await keyboard.write(page.get_by_label("Website"), "https://www.example.org")
        await keyboard.press(page.get_by_role("button", name="Save"))
        await expect(page.locator(".notice")).to_contain_text("Saved.")
        assert keyboard.actions <= MOST
        session = await factories.session(site.service, api, organisation=await factories.nonprofit(site.service))
        await page.goto(session["url"])
        assert "#7a1f5c" in await page.content()
    await api.close()


async def test_programme_staff_invite_a_nonprofit_follow_it_and_appeal(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    async with site.donor() as page:
        await enter(here, page, "reviewer", "/home")
        keyboard = Keyboard(page)
        await keyboard.press(page.get_by_role("link", name="Invites"))
        await keyboard.press(page.get_by_role("link", name="Invite a nonprofit"))
        await keyboard.press(page.get_by_role("button", name="Invite a nonprofit"))
        await page.wait_for_url("**/validation-invites/*done=new")
        [invite] = data(await api.get(applications.INVITES))
        applicant = applications.Form(site.service, invite)
        await applicant.open()
        await applicant.fill(await factories.nonprofit(site.service))
        await applicant.send()
        await site.service.drain()
        await keyboard.press(page.get_by_role("link", name="Submissions"))
        await keyboard.press(page.locator("main tbody a").first)
        await expect(page.get_by_role("heading", name="Documents")).to_be_visible()
        [submission] = data(await api.get(submissions.PATH))
        await submissions.simulate(api, submission["agentVerificationId"], "reject", rejectionReasonCode="other")
        await site.service.drain()
        await page.reload()
        await keyboard.press(page.get_by_role("link", name="Appeal"))
        await keyboard.write(page.get_by_label("Why do you think the decision is wrong?"), "We are on the register.")
        await keyboard.press(page.get_by_role("button", name="Appeal"))
        await page.wait_for_url("**/validation-submissions/*done=appeals")
        assert keyboard.actions <= MOST
    await api.close()


async def test_programme_staff_preview_an_application_form_before_it_is_saved(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    async with site.donor() as page:
        await enter(here, page, "reviewer", "/home")
        keyboard, frame = Keyboard(page), page.frame_locator("iframe[name=preview]")
        await keyboard.press(page.get_by_role("link", name="Application forms"))
        await keyboard.press(page.get_by_role("link", name="Create application form"))
        await expect(frame.get_by_role("heading", level=1)).to_be_visible()
        await keyboard.write(page.get_by_label("Name shown to applicants"), "Hill Road Shop")
        await keyboard.write(page.get_by_label("Colour"), "#7a1f5c")
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("Hill Road Shop")  # while one types
        await keyboard.press(page.get_by_label("Compliance"), "Space")
        await keyboard.press(page.get_by_role("button", name="Preview"))
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("Hill Road Shop")
        shown = "document.querySelector('iframe[name=preview]').contentDocument?.documentElement?.innerHTML ?? ''"
        await eventually(lambda: page.evaluate(f"({shown}).includes('#7a1f5c')"))
        assert [one["branding"]["displayName"] for one in data(await api.get(submissions.CONFIGURATIONS))] != [
            "Hill Road Shop"
        ]
        await keyboard.press(page.get_by_role("button", name="Create application form"))
        await page.wait_for_url("**/application-forms/*done=new")
        made = data(await api.get(submissions.CONFIGURATIONS))[0]
        assert (made["branding"]["displayName"], made["branding"]["primaryColor"]) == ("Hill Road Shop", "#7a1f5c")
        assert made["checks"] == ["validation_request", "eligibility", "agent_verification"]
        assert made["emailVerification"] is True
        assert keyboard.actions <= MOST
    await api.close()
    assert site.complaints == []


async def test_programme_staff_ask_a_question_of_their_own(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    form = await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)
    path = f"/application-forms/{form}"
    async with site.donor() as page:
        await enter(here, page, "reviewer", path)
        keyboard, frame = Keyboard(page), page.frame_locator("iframe[name=preview]")
        await keyboard.press(page.get_by_role("link", name="Edit questions"))
        await keyboard.press(page.get_by_role("link", name="Add question"))
        await keyboard.write(page.get_by_label("Question ID"), "staff")
        await keyboard.write(page.get_by_label("Question in English"), "How many people work for you?")
        await expect(frame.get_by_label("How many people work for you?")).to_be_visible()  # nobody pressed "Preview"
        seen = "document.querySelector('iframe[name=preview]').contentWindow.scrollY"
        await page.evaluate(f"{seen.removesuffix('.scrollY')}.scrollTo(0, 100)")
        await page.get_by_label("Question in English").press_sequentially(" At home?")
        await expect(frame.get_by_label("How many people work for you? At home?")).to_be_visible()
        assert await page.evaluate(seen) == 100
        await keyboard.press(page.get_by_role("button", name="Add question"))
        await page.wait_for_url("**/questions?done=added")
        up = page.get_by_role("button", name="Move “How many people work for you? At home?” up")
        await keyboard.press(up)
        await expect(page.get_by_role("row").nth(1)).to_contain_text("How many people work for you?")
        await expect(up).to_be_focused()
        await expect(page.locator("#announced")).to_have_text("The question has been moved.")
        await page.go_back()
        await page.wait_for_url("**/questions/new")
        assert keyboard.actions <= MOST
    record = data(await api.get(f"{submissions.CONFIGURATIONS}/{form}"))
    assert [one["id"] for one in record["partnerFields"]] == ["staff", "use"]
    await api.close()
    assert site.complaints == []
