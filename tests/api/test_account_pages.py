"""Account pages over HTTP: cookies, tokens of forms, where they lead, and what strangers learn (V8, H1, H2)."""

import re
from collections.abc import AsyncIterator, Callable

import pytest

from almoner.access.people import service as all_people
from almoner.access.people.domain import OPERATORS, Realm, member_realm
from tests.support import people
from tests.support.browsing import Browser
from tests.support.people import PASSWORD
from tests.support.service import Service, Tenant

Open = Callable[..., Browser]


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Open]:
    """Makes browsers."""
    made: list[Browser] = []

    def another(address: str = "127.0.0.1", agent: str = "Firefox/1 Linux") -> Browser:
        made.append(Browser(service.app, service.db.deployment.base_urls.pages, address, agent))
        return made[-1]

    yield another
    for one in made:
        await one.close()


@pytest.fixture
def realm(tenant: Tenant) -> Realm:
    """The members of a fresh partner."""
    return member_realm(tenant.partner)


@pytest.fixture
def home(service: Service, tenant: Tenant) -> str:
    """Where they are at home."""
    return "/account/" + service.db.deployment.ids.encode("partner", tenant.partner.id)


async def signed_in(browser: Browser, home: str, name: str = "amina@example.org") -> None:
    """Sign in by the form."""
    await browser.get(f"{home}/sign-in")
    answer = await browser.post(f"{home}/sign-in", user_name=name, password=PASSWORD)
    assert answer.status_code == 303, answer.text


async def test_who_signs_in_gets_a_new_cookie_and_is_led_home(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org", "finance")
    one = browser()
    first = await one.get(home)
    assert (first.status_code, first.headers["location"]) == (303, f"{home}/sign-in")
    page = await one.open(home)
    assert page.status_code == 200
    answer = await one.post(f"{home}/sign-in", user_name="AMINA@example.org", password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home}/home")
    [cookie] = [line for line in answer.headers.get_list("set-cookie") if line.startswith("__Host-member-")]
    assert "HttpOnly" in cookie
    assert "Secure" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/;" in cookie
    assert "Domain" not in cookie
    assert 29 * 86_400 < int(re.findall(r"Max-Age=(\d+)", cookie)[0]) <= 30 * 86_400
    page = await one.get(home)
    assert page.status_code == 200
    assert "Your account" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "script-src" not in page.headers["content-security-policy"]
    assert re.search(r"<dd>finance</dd>", page.text)


async def test_h2_a_form_without_the_browsers_token_signs_nobody_in(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one, other = browser(), browser()
    await one.get(f"{home}/sign-in")
    await other.get(f"{home}/sign-in")
    form = {"user_name": "amina@example.org", "password": PASSWORD}
    for wrong in (other.csrf, "", "x"):
        answer = await one.post(f"{home}/sign-in", form, csrf=wrong)
        assert answer.status_code == 403, wrong
        assert PASSWORD not in answer.text
    for site in ("cross-site", "same-site", "none"):
        assert (await one.post(f"{home}/sign-in", form, site=site)).status_code == 403
    one.cookies.clear()
    assert (await one.post(f"{home}/sign-in", form)).status_code == 403
    assert not [name for name in one.cookies if "member" in name]


async def test_h2_a_post_needs_the_token_of_this_very_sign_in(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one, other = browser(), browser()
    await signed_in(one, home)
    await signed_in(other, home)
    await other.get(f"{home}/sign-ins")
    await one.get(f"{home}/sign-ins")
    refused = [
        await one.post(f"{home}/sign-ins", csrf=other.csrf, others="yes"),
        await one.post(f"{home}/sign-ins", csrf="", others="yes"),
        await one.post(f"{home}/sign-ins", others="yes", site="cross-site"),
        await one.post(f"{home}/sign-out", csrf=other.csrf),
        await one.request("POST", f"{home}/sign-ins", content=b"\xff", headers={"Sec-Fetch-Site": "same-origin"}),
        await one.request("POST", f"{home}/password", content=b"a=b&" * 20_000),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403, 403, 400, 413]
    assert (await other.get(home)).status_code == 200
    assert (await one.get(home)).status_code == 200


async def test_without_sec_fetch_site_the_origin_decides(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    await one.get(f"{home}/sign-in")
    form = {"csrf": one.csrf, "user_name": "amina@example.org", "password": PASSWORD}
    nobodys: list[dict[str, str]] = [{}, {"Origin": "null"}, {"Origin": "https://evil.example"}]
    for origin in nobodys:
        assert (await one.request("POST", f"{home}/sign-in", headers=origin, data=form)).status_code == 403
    origin = {"Origin": service.db.deployment.base_urls.pages}
    assert (await one.request("POST", f"{home}/sign-in", headers=origin, data=form)).status_code == 303


@pytest.mark.parametrize(
    "next_", ["https://evil.example/", "//evil.example", "/\\evil.example", "/operator", "/account/partner_1", "/give"]
)
async def test_nobody_is_led_elsewhere_after_signing_in(
    service: Service, browser: Open, realm: Realm, home: str, next_: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    await one.get(f"{home}/sign-in?next={next_}")
    assert f'name="next" value="{home}"' in (one.page.text if one.page else "")
    answer = await one.post(f"{home}/sign-in", user_name="amina@example.org", password=PASSWORD, next=next_)
    assert (answer.status_code, answer.headers["location"]) == (303, home)


async def test_signing_in_leads_back_to_the_page_that_asked(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    answer = await one.get(f"{home}/sign-ins")
    assert answer.headers["location"] == f"{home}/sign-in?next={home}/sign-ins"
    await one.get(answer.headers["location"])
    answer = await one.post(
        f"{home}/sign-in", user_name="amina@example.org", password=PASSWORD, next=f"{home}/sign-ins"
    )
    assert answer.headers["location"] == f"{home}/sign-ins"


async def test_a_cookie_of_another_realm_opens_nothing(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    other = await service.tenant()
    there = "/account/" + service.db.deployment.ids.encode("partner", other.partner.id)
    await people.person(service, realm, "amina@example.org", "owner")
    await people.person(service, member_realm(other.partner), "amina@example.org", "owner")
    one = browser()
    await signed_in(one, home)
    [cookie] = [name for name in one.cookies if "member" in name]
    for name, place in ((cookie.replace(home[9:], there[9:]), there), ("__Host-operator", "/operator")):
        stolen = browser()
        stolen.cookies[name] = one.cookies[cookie]
        answer = await stolen.get(place)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{place}/sign-in")


async def test_the_same_answer_whether_or_not_a_name_is_known(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "known@example.org")
    await people.person(service, realm, "invited@example.org", password=None)
    texts: set[str] = set()
    for name in ("known@example.org", "invited@example.org", "nobody@example.org"):
        one = browser(address="198.51.100." + str(len(texts)))
        await one.get(f"{home}/sign-in")
        answer = await one.post(f"{home}/sign-in", user_name=name, password="not the password")
        assert answer.status_code == 422
        texts.add(re.sub(r'value="[^"]*"|nonce[^;]*|data-options="[^"]*"', "", answer.text))
        await one.get(f"{home}/forgotten")
        answer = await one.post(f"{home}/forgotten", user_name=name)
        assert answer.status_code == 200
        texts.add(answer.text)
    assert len(texts) == 2


async def test_who_is_deactivated_is_out_with_the_next_click(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    person = await people.person(service, realm, "amina@example.org")
    one = browser()
    await signed_in(one, home)
    assert (await one.get(home)).status_code == 200
    async with service.db.write() as tx:
        locked = await all_people.get_for_update(tx, realm, person.id)
        await all_people.update_profile(tx, locked, {**locked.profile, "active": False})
    assert (await one.get(home)).status_code == 303
    await one.get(f"{home}/sign-in")
    answer = await one.post(f"{home}/sign-in", user_name="amina@example.org", password=PASSWORD)
    assert answer.status_code == 422


async def test_wrong_tries_slow_the_next_one_and_the_page_says_for_how_long(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser(address="203.0.113.77")
    await one.get(f"{home}/sign-in")
    wrong = {"user_name": "amina@example.org", "password": "wrong wrong wrong"}
    answers = [await one.post(f"{home}/sign-in", wrong) for _ in range(12)]
    assert answers[0].text.count("Incorrect username or password.") == 1
    assert answers[0].text.count('aria-invalid="true"') == 2, "it may be either"
    assert [answer.status_code for answer in answers[:5]] == [422] * 5
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert re.search(r"Try again in \d+ seconds?\.", answers[-1].text)
    service.clock.advance_wall(minutes=2)
    await signed_in(one, home)


async def test_signing_out_ends_the_sign_in_for_good(service: Service, browser: Open, realm: Realm, home: str) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    await signed_in(one, home)
    stored = dict(one.cookies)
    await one.get(home)
    answer = await one.post(f"{home}/sign-out")
    assert answer.headers["location"] == f"{home}/sign-in?done=out"
    assert not [name for name in one.cookies if "member" in name]
    one.cookies.update(stored)
    assert (await one.get(home)).status_code == 303
    await signed_in(one, home)
    assert (await one.get(f"{home}/sign-out")).headers["location"] == home
    assert (await one.get(home)).status_code == 200


async def test_signing_in_again_ends_what_was_there_before(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one, copy = browser(), browser()
    await one.get(f"{home}/sign-in")
    form = {"user_name": "amina@example.org", "password": PASSWORD}
    await one.post(f"{home}/sign-in", form)
    copy.cookies.update(one.cookies)
    assert (await copy.get(home)).status_code == 200
    await one.post(f"{home}/sign-in", form)
    assert (await one.get(home)).status_code == 200
    assert (await copy.get(home)).status_code == 303


async def test_v8_what_happened_lately_is_told_to_its_person_alone(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    for name in ("amina@example.org", "noor@example.org"):
        await people.person(service, realm, name)
    one, other = browser("203.0.113.5"), browser("203.0.113.6")
    await one.get(f"{home}/sign-in")
    await one.post(f"{home}/sign-in", user_name="amina@example.org", password="wrong wrong wrong")
    await signed_in(one, home)
    await one.get(f"{home}/password")
    chosen = "purple monkeys read dishwashers"
    await one.post(f"{home}/password", password=chosen, again=chosen)
    page = await one.get(home)
    reported = re.findall(r"<li><div><p>([^<]+)</p><p class=\"small\">[^<]+, from <bdi>203.0.113.5</bdi>", page.text)
    assert reported == ["Password changed", "Signed in", "Sign-in attempt failed"]
    await signed_in(other, home, "noor@example.org")
    page = await other.get(home)
    assert "203.0.113.5" not in page.text
    assert "203.0.113.6" in page.text


async def test_a_cookie_that_was_there_before_is_worth_nothing_after(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    await signed_in(one, home)
    [cookie] = [name for name in one.cookies if "member" in name]
    planted = browser()
    planted.cookies[cookie] = "A" * 43
    await signed_in(planted, home)
    assert planted.cookies[cookie] not in ("A" * 43, one.cookies[cookie])
    planted.cookies[cookie] = "A" * 43
    assert (await planted.get(home)).status_code == 303


async def test_sign_ins_end_by_themselves_sooner_for_operators(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    name = f"idle-{service.clock.real_now().timestamp()}@example.org"
    operator = await people.person(service, OPERATORS, name, "reviewer")
    await people.person(service, realm, name)
    member, one = browser(), browser()
    await signed_in(member, home, name)
    await signed_in(one, "/operator", name)
    await people.authenticator(service, operator)
    service.clock.advance_wall(minutes=29)
    assert (await one.get("/operator")).status_code == 200
    service.clock.advance_wall(minutes=31)
    answer = await one.get("/operator/tokens?page=2")
    assert answer.headers["location"] == "/operator/sign-in?next=/operator/tokens%3Fpage%3D2"
    assert (await member.get(home)).status_code == 200
    service.clock.advance_wall(hours=13)
    assert (await member.get(home)).status_code == 303


async def test_v7_no_log_line_holds_what_was_typed_or_a_cookie(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    name = "canary.amina@example.org"
    await people.person(service, realm, name)
    one = browser()
    await one.get(f"{home}/sign-in?next={home}/canary-page")
    await one.post(f"{home}/sign-in", user_name="canary.nobody", password="canary password")
    await signed_in(one, home, name)
    await one.get(home)
    secrets = [value for cookie, value in one.cookies.items() if "member" in cookie or "known" in cookie]
    assert len(secrets) == 2
    written = b"".join(service.lines)
    assert b"canary" not in written
    assert not [secret for secret in secrets if secret.encode() in written]


@pytest.mark.parametrize("page", ["password", "recovery-codes", "authenticator", "passkeys"])
async def test_a_proof_is_asked_for_before_what_is_sensitive(
    service: Service, browser: Open, realm: Realm, home: str, page: str
) -> None:
    await people.person(service, realm, "amina@example.org")
    one = browser()
    await signed_in(one, home)
    assert (await one.get(f"{home}/{page}")).status_code == 200
    service.clock.advance_wall(minutes=11)
    answer = await one.post(f"{home}/{page}", do="begin")  # a button alone: nothing is lost
    assert answer.headers["location"] == f"{home}/prove?next={home}/{page}"
    answer = await one.post(f"{home}/{page}", do="begin", password="another long password", again="x")
    assert answer.headers["location"] == f"{home}/prove?next={home}/{page}&typed=lost"
    answer = await one.get(answer.headers["location"])
    assert answer.status_code == 200
    wrong = await one.post(f"{home}/prove", password="wrong wrong wrong", next=f"{home}/{page}", typed="lost")
    assert wrong.status_code == 422
    for shown in (answer, wrong):
        assert "Your changes have not been saved" in shown.text
        assert "another long password" not in shown.text
    answer = await one.post(f"{home}/prove", password=PASSWORD, next=f"{home}/{page}")
    assert answer.headers["location"] == f"{home}/{page}"
    assert (await one.get(f"{home}/{page}")).status_code == 200
    answer = await one.post(f"{home}/prove", password=PASSWORD, next="https://evil.example/")
    assert answer.headers["location"] == home


async def test_operators_set_up_a_second_factor_before_anything_else(service: Service, browser: Open) -> None:
    name = f"op-{service.clock.real_now().timestamp()}@example.org"
    person = await people.person(service, OPERATORS, name, "finance")
    one = browser()
    await signed_in(one, "/operator", name)
    for page in ("/operator", "/operator/password", "/operator/sign-ins", "/operator/recovery-codes"):
        assert (await one.get(page)).headers["location"] == "/operator/second-factor", page
    assert (await one.get("/operator/second-factor")).status_code == 200
    assert (await one.get("/operator/authenticator")).status_code == 200
    secret = await people.authenticator(service, person)
    assert (await one.get("/operator")).status_code == 200
    await one.get("/operator")
    await one.post("/operator/sign-out")
    await one.get("/operator/sign-in")
    answer = await one.post("/operator/sign-in", user_name=name, password=PASSWORD)
    assert answer.headers["location"] == "/operator/sign-in/second?next=/operator"
    assert (await one.get("/operator")).status_code == 303
    await one.get(answer.headers["location"])
    answer = await one.post("/operator/sign-in/second", code=people.wrong_code(service, secret))
    assert answer.status_code == 422
    answer = await one.post("/operator/sign-in/second", code=people.code(service, secret))
    assert answer.headers["location"] == "/operator/desk"
    assert (await one.get("/operator")).status_code == 200


async def test_what_is_beside_the_pages_is_a_page(browser: Open, home: str) -> None:
    one = browser()
    for path in (
        "/account/partner_x",
        "/account/partner_x/sign-in",
        f"{home}/none",
        "/operator/none",
        "/account/x/y/z",
    ):
        answer = await one.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-store"
    answer = await one.request("PUT", f"{home}/sign-in")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    for path in (home, f"{home}/sign-in", "/account", "/operator/forgotten"):
        answer = await one.request("HEAD", path)
        assert answer.status_code in (200, 303)
        assert answer.text == ""
