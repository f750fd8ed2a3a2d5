"""The page of a giving link over HTTP: what it says, what is kept, and the session that sending it makes."""

import asyncio
import html
import re
from base64 import b64encode
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.hosted_page.ports import LegalNotice
from almoner.giving.checkout.hosted_page.service import load_legal_notices
from almoner.giving.checkout.sessions import service as sessions
from almoner.kit.errors import AccountPaused
from almoner.kit.money import Money
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.card_testing import FORM
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.payouts import uuid_of
from tests.support.regular_gifts import context
from tests.support.service import Service, Tenant

_HIDDEN = re.compile(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">')


def browser_of(service: Service, address: str = "127.0.0.1") -> Browser:
    """A donor's browser."""
    return Browser(service.app, service.db.deployment.base_urls.pages, address)


async def opened(service: Service, made: dict[str, Any], query: str = "") -> tuple[Browser, str]:
    """A browser with the link's page, and the page's text."""
    browser = browser_of(service)
    page = await browser.open(f"/g/{made['slug']}{query}")
    return browser, html.unescape(page.text)


async def send(browser: Browser, made: dict[str, Any], **fields: str) -> Any:
    """Send the form that the browser shows."""
    assert browser.page is not None
    hidden = {name: html.unescape(value) for name, value in _HIDDEN.findall(browser.page.text)}
    return await browser.post(f"/g/{made['slug']}", {**FORM, **hidden, "csrf": ""}, **fields)


async def test_opening_writes_nothing_and_is_the_same_for_everybody(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, text="Blankets & soup")
    first, second = browser_of(service), browser_of(service, "192.0.2.9")
    pages = [await one.get(f"/g/{made['slug']}") for one in (first, second)]
    assert pages[0].text == pages[1].text
    assert pages[0].headers["cache-control"] == "public, max-age=60"
    assert (pages[0].headers["vary"], "set-cookie" in pages[0].headers) == ("Accept-Language", False)
    again = await first.get(f"/g/{made['slug']}", **{"If-None-Match": pages[0].headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert data(await api.get("/v1/donation-sessions")) == []
    german = await first.get(f"/g/{made['slug']}", **{"Accept-Language": "de-AT"})
    assert (german.headers["content-language"], german.headers["etag"] != pages[0].headers["etag"]) == ("de", True)


async def test_a_change_shows_at_once_though_rendered_pages_are_kept(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, text="Blankets", offersDedication=True)
    browser = browser_of(service)
    pages = [await browser.get(f"/g/{made['slug']}") for _ in range(3)]
    assert {page.text for page in pages} == {pages[0].text}
    for text in ("Soup", "Blankets"):
        data(await api.patch(f"/v1/giving-links/{made['id']}", {"text": text}))
        changed = await browser.get(f"/g/{made['slug']}")
        assert [word in changed.text for word in ("Soup", "Blankets")] == [text == "Soup", text == "Blankets"]


async def test_the_policy_names_its_own_scripts_and_styles_alone(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, text='<script>alert(1)</script><style nonce="x">*{}</style>')
    page = await browser_of(service).get(f"/g/{made['slug']}")
    policy = page.headers["content-security-policy"]
    for element in ("style", "script"):
        inline = re.findall(rf"<{element}>(.*?)</{element}>", page.text, re.DOTALL)
        assert len(inline) == 1
        assert f"'sha256-{b64encode(sha256(inline[0].encode()).digest()).decode()}'" in policy
    assert ("nonce" in policy, "nonce=" in page.text.replace("nonce=&#34;", "")) == (False, False)
    assert "frame-ancestors 'none'" in policy


async def test_it_says_who_asks_who_receives_what_is_kept_and_by_when(service: Service, api: Client) -> None:
    made = await factories.giving_link(
        service, api, title="Official page of the Red Cross", text="We are the Red Cross."
    )
    tenant = data(await api.get(f"/v1/giving-links/{made['id']}"))
    _, text = await opened(service, made)
    words = text[text.index("<figure") : text.index("</figure>")]
    assert ("We are the Red Cross." in words, "has not reviewed or endorsed this text" in words) == (True, True)
    plain = re.sub(r"<[^>]+>", "", text)
    for said in (
        "is collecting donations for Relief Fund",
        "receives your payment and sends your donation to Relief Fund",
        "The payment provider deducts 2.5% from each card payment. Nothing else is deducted.",
        "within 60 days.",
        "will send it to another nonprofit or refund it",
    ):
        assert said in plain, said
    assert f'<link rel="canonical" href="{tenant["url"]}">' in text
    assert 'property="og:title" content="Donate to Relief Fund' in text


async def test_a_paused_partner_accepts_no_donation_and_the_page_says_that_nothing_was_charged(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await factories.giving_link(service, api)
    session, begun = [await factories.session(service, api) for _ in range(2)]
    linked, _ = await opened(service, made)
    left_open, paying = browser_of(service), browser_of(service)
    await left_open.open(session["url"])
    await paying.open(begun["url"])
    own = f"/give/{begun['id']}"
    assert "/pay/" in (await paying.post(own, FORM)).headers["location"]
    async with service.db.write() as tx:
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    for answer in (
        await send(linked, made),
        await linked.get(f"/g/{made['slug']}"),
        await left_open.post(f"/give/{session['id']}", FORM),
        await left_open.get(f"/give/{session['id']}"),
        await paying.post(own, FORM),
    ):
        assert answer.status_code == 409
        assert "Donations are paused" in answer.text
        assert "You have not been charged" in answer.text
    begun_id = service.db.deployment.ids.decode("donationsession", begun["id"])
    assert begun_id is not None
    gift = DonationDetails(Money(2600, "USD"), "Amina", "K", FORM["email"], consented=True, anonymous=False)
    with pytest.raises(AccountPaused):  # the form was read before the pause
        await donations_flows.start_payment(context(service), begun_id, gift)
    async with service.db.write() as tx:
        await partners.resume(tx, tenant.partner)
    assert (await left_open.get(f"/give/{session['id']}")).status_code == 200
    service.clock.advance_wall(seconds=1)
    assert len(data(await api.get("/v1/donation-sessions"))) == 2, "the form of the link made none"
    assert len(data(await api.get("/v1/donations"))) == 1


async def test_a_nonprofit_that_stops_receiving_while_the_form_is_handled_is_said_to(
    service: Service, api: Client
) -> None:
    session = await factories.session(service, api)
    donor, own = browser_of(service), f"/give/{session['id']}"
    await donor.open(session["url"])
    async with service.db.write() as tx:
        await sessions.get_for_update(tx, uuid_of(service, "donationsession", session["id"]))
        sent = asyncio.create_task(donor.post(own, FORM))

        await eventually(partial(waits_for_lock, service))
        named = uuid_of(service, "organisation", session["organisationId"])
        await tx.execute("update organisation set active = false where id = $1", named)
    assert ((await sent).status_code, (await sent).headers.get("location")) == (303, own)
    page = await donor.get(own)
    assert (page.status_code, "is not accepting donations" in page.text) == (409, True)


async def test_sending_makes_the_session_and_leads_to_the_payment(service: Service, api: Client) -> None:
    made = await factories.giving_link(
        service, api, metadata={"campaign": "winter"}, currencies=["USD"], designations=["Roof"], minimum=500
    )
    browser, _ = await opened(service, made, "?reference=order-7&utm_source=mail")
    onwards = await send(browser, made)
    assert (onwards.status_code, "/pay/" in onwards.headers["location"]) == (303, True)
    [session] = data(await api.get("/v1/donation-sessions"))
    [donation] = data(await api.get("/v1/donations"))
    assert (session["givingLinkId"], donation["givingLinkId"]) == (made["id"], made["id"])
    assert (session["organisationId"], session["currency"], session["language"]) == (
        made["organisationIds"][0],
        "USD",
        "en",
    )
    assert session["metadata"] == {"campaign": "winter", "reference": "order-7"} == donation["metadata"]
    assert (session["minimum"], session["designations"], donation["designation"]) == (500, ["Roof"], "Roof")
    assert (await browser.open(f"/give/{session['id']}")).status_code == 200, "it has the cookie of its session"
    assert [one["id"] for one in data(await api.get("/v1/donations", givingLinkId=made["id"]))] == [donation["id"]]
    assert data(await api.get("/v1/donations", givingLinkId=(await factories.giving_link(service, api))["id"])) == []


async def test_a_donor_may_give_regularly(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], frequencies=["one_time", "monthly"])
    browser, text = await opened(service, made, "?frequency=monthly")
    assert 'value="monthly" checked' in text
    assert (await send(browser, made, frequency="monthly")).status_code == 303
    [session] = data(await api.get("/v1/donation-sessions"))
    assert session["frequencies"] == ["one_time", "monthly"]
    [plan] = data(await api.get("/v1/donation-subscriptions"))
    assert (plan["frequency"], plan["amount"]) == ("monthly", 2500)


async def test_what_is_wrong_is_told_and_makes_no_session(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], minimum=2000)
    browser, _ = await opened(service, made)
    low = await send(browser, made, amount="other", typed="19.99", email="ada@")
    assert (low.status_code, low.headers["cache-control"]) == (422, "no-store")
    assert "The amount must be $20 or more" in low.text
    assert 'value="19.99"' in low.text
    await browser.open(f"/g/{made['slug']}")
    foreign = await send(browser, made, site="cross-site")
    assert (foreign.status_code, "security check failed" in foreign.text) == (403, True)
    assert data(await api.get("/v1/donation-sessions")) == []


async def test_one_network_cannot_make_sessions_without_end(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api)
    browser, other = browser_of(service, "198.51.100.7"), browser_of(service, "198.51.100.8")
    await browser.open(f"/g/{made['slug']}")
    page, sent = browser.page, 0
    while (answer := await send(browser, made)).status_code == 303 and sent < 200:
        browser.page = page
        browser.cookies.clear()
        sent += 1
    assert answer.status_code == 429
    assert 60 <= sent < 200, "one more may be sent every two seconds"
    assert int(answer.headers["retry-after"]) <= 2
    await other.open(f"/g/{made['slug']}")
    assert (await send(other, made)).status_code == 303


async def test_the_address_fills_in_what_the_donor_sees(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], designations=["Roof", "Soup"])
    query = "?amount=12.5&firstName=Ada&email=ada%40example.org&designation=Soup&frequency=one_time"
    browser, text = await opened(service, made, query)
    assert browser.page is not None
    assert browser.page.headers["cache-control"] == "no-store", "it is for one reader"
    for filled in ('value="12.50"', 'value="Ada"', 'value="ada@example.org"', "selected>Soup"):
        assert filled in text, filled
    _, text = await opened(service, made, "?amount=25")
    assert 'value="2500" checked' in text
    for ignored in ("?amount=0.5", "?amount=abc", "?amount=1e9", "?amount=-5", "?designation=<b>", "?email=%00"):
        _, text = await opened(service, made, ignored)
        assert ('checked><label for="amount' in text, "<b>" in text) == (False, False), ignored


async def test_a_link_that_is_over_or_unknown_says_so(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, expiresAt="2099-01-01T00:00:00.000Z")
    browser, _ = await opened(service, made)
    form = browser.page
    await api.patch(f"/v1/giving-links/{made['id']}", {"active": False})
    over = await browser.get(f"/g/{made['slug']}")
    assert (over.status_code, "no longer accepts donations" in over.text) == (410, True)
    browser.page = form
    assert (await send(browser, made)).status_code == 410
    assert data(await api.get("/v1/donation-sessions")) == []
    for path in ("/g/never-made", "/g/a", "/g/x%00y", f"/g/{made['slug']}/else", f"/g/{made['slug']}/qr.gif"):
        assert (await browser.get(path)).status_code == 404, path


@pytest.mark.parametrize("why", ["inactive", "refuses", "flagged"])
async def test_a_nonprofit_that_cannot_be_given_to_is_not_shown(service: Service, api: Client, why: str) -> None:
    gone, left = await factories.nonprofit(service, name="Gone Fund"), await factories.nonprofit(service)
    alone, both = (
        await factories.giving_link(service, api, organisationIds=[gone]),
        await factories.giving_link(service, api, organisationIds=[gone, left]),
    )
    identifier = service.db.deployment.ids.decode("organisation", gone)
    browser, _ = await opened(service, alone)
    form = browser.page
    if why == "flagged":
        await _flag(service, api, gone)
    else:
        async with service.db.write() as tx:
            await tx.execute(
                "update organisation set active = false where id = $1"
                if why == "inactive"
                else "insert into giving_link_refusal values ($1, 'a letter', 'operator', now())",
                identifier,
            )
    closed = await browser.get(f"/g/{alone['slug']}")
    assert (closed.status_code, "Gone Fund" in closed.text) == (409, True)
    browser.page = form
    assert (await send(browser, alone)).status_code == 409
    _, text = await opened(service, both)
    assert ("Gone Fund" in text, left in text) == (False, True)
    assert (await browser.get(f"/g/{both['slug']}?organisation={gone}")).status_code == 409


async def _flag(service: Service, api: Client, organisation: str) -> None:
    """An open flag on the nonprofit's verification."""
    await factories.verification(service, api, organisation=organisation)
    async with service.db.write() as tx:
        await tx.execute(
            """
            with finding as (
                insert into evidence (id, kind, record_id, partner_id, reasons, facts, steps, recorded_at)
                select gen_random_uuid(), 'monetary_donation_verification', id, partner_id, '{}', '{"expiresAt": null}',
                    '[{"name": "bank_details", "verdict": "pass", "source": "a letter", "facts": {}}]', now()
                from monetary_donation_verification where organisation_id = $1
                returning id, record_id as verification_id
            )
            insert into monetary_donation_flag
                (id, verification_id, finding_id, kind, status, raised_at, status_changed_at)
            select gen_random_uuid(), verification_id, id, 'payee_changed', 'open', now(), now() from finding
            """,
            service.db.deployment.ids.decode("organisation", organisation),
        )


async def test_donors_choose_of_several_and_of_a_category(service: Service, api: Client) -> None:
    names = [f"{word} Society" for word in ("Otter", "Beaver")]
    bodies = [await factories.nonprofit(service, name=factories.unique(name)) for name in names]
    category = await factories.category(api)
    for body in bodies:
        await api.request("PUT", f"/v1/categories/{category['id']}/{body}")
    several, of_category = (
        await factories.giving_link(service, api, organisationIds=bodies),
        await factories.giving_link(service, api, categoryId=category["id"]),
    )
    for made in (several, of_category):
        browser, text = await opened(service, made, "?amount=25")
        assert ("Otter Society" in text, "Beaver Society" in text, "Choose a nonprofit" in text) == (True, True, True)
        target = re.search(rf'href="(/g/{made["slug"]}\?amount=25&organisation={bodies[1]})"', text)
        assert target is not None
        form = await browser.open(target[1])
        assert ("Beaver Society" in form.text, 'value="2500" checked' in form.text) == (True, True)
        assert (await send(browser, made)).status_code == 303
        elsewhere = await factories.nonprofit(service)
        assert (await browser.get(f"/g/{made['slug']}?organisation={elsewhere}")).status_code == 404
    _, text = await opened(service, of_category, "?q=otter")
    assert ("Otter Society" in text, "Beaver Society" in text) == (True, False)
    assert {one["organisationId"] for one in data(await api.get("/v1/donation-sessions"))} == {bodies[1]}


async def test_progress_counts_what_is_here(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], goal=10_000, showsProgress=True)
    browser, text = await opened(service, made)
    assert "$0</bdi></strong> raised of" in text
    await send(browser, made)
    [session] = data(await api.get("/v1/donation-sessions"))
    await api.post(
        "/v1/sandbox/simulate",
        {
            "id": session["id"],
            "action": "donate",
            "amount": 2500,
            "currencyCode": "USD",
            "firstName": "Ada",
            "lastName": "B",
            "email": "ada@example.org",
            "card": factories.CARD,
        },
    )
    _, text = await opened(service, made)
    assert "$25</bdi></strong> raised of <bdi>$100</bdi>" in text
    assert 'max="100" value="25"' in text


async def test_codes_to_print_lead_to_the_page(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api)
    browser = browser_of(service)
    drawn = await browser.get(made["qrCode"]["svg"])
    assert (drawn.headers["content-type"], drawn.text.count("<svg")) == ("image/svg+xml", 1)
    picture = await browser.get(made["qrCode"]["png"])
    assert (picture.headers["content-type"], picture.content[:4]) == ("image/png", b"\x89PNG")


async def test_the_frame_is_for_the_sites_that_the_link_names(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, allowedOrigins=["https://www.example.org", "https://shop.example"])
    browser = browser_of(service)
    framed = await browser.get(f"/g/{made['slug']}/dialog")
    assert "frame-ancestors https://www.example.org https://shop.example;" in framed.headers["content-security-policy"]
    assert ("x-frame-options" in framed.headers, 'target="_top"' in framed.text) == (False, True)
    page = await browser.get(f"/g/{made['slug']}")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert (page.headers["x-frame-options"], 'target="_top"' in page.text) == ("DENY", False)
    none = await factories.giving_link(service, api)
    assert (await browser.get(f"/g/{none['slug']}/dialog")).status_code == 404


def test_notices_are_read_from_the_operators_file(tmp_path: Path) -> None:
    file = tmp_path / "notices.toml"
    file.write_text(
        '[[notice]]\ncountry = "USA"\nstate = "CA"\ntext = "Of California"\n[[notice]]\ncountry = "GBR"\ntext = "UK"\n'
    )
    assert load_legal_notices(file) == (LegalNotice("USA", "CA", "Of California"), LegalNotice("GBR", None, "UK"))
    regular = '[[notice]]\ncountry = "USA"\ntext = "a"\nregular = '
    file.write_text(f"{regular}true")
    assert load_legal_notices(file) == (LegalNotice("USA", None, "a", for_regular_donations=True),)
    for wrong in (
        f'{regular}"yes"',
        "x = 1",
        '[[notice]]\ncountry = "XX"\ntext = "a"',
        '[[notice]]\ncountry = "USA"',
        "[[notice",
    ):
        file.write_text(wrong)
        with pytest.raises(ValueError, match=r"notice|Expected|at end"):
            load_legal_notices(file)
