"""Mailed links: each once, the token out of the address and out of the logs, for its own people alone (H1)."""

import itertools
import re
from collections.abc import AsyncIterator, Callable

import pytest

from almoner.access.people.domain import OPERATORS, Person, Realm, member_realm
from almoner.access.sign_ins.service import links
from tests.support import people
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.people import PASSWORD
from tests.support.production import PRODUCTION
from tests.support.service import Service, Tenant, serving

NEW = "purple monkeys read dishwashers"
Open = Callable[..., Browser]
_networks = itertools.count(1)


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Open]:
    """Makes browsers, each in a network of its own."""
    made: list[Browser] = []

    def another() -> Browser:
        made.append(Browser(service.app, service.db.deployment.base_urls.pages, f"198.{next(_networks)}.100.1"))
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


async def token(service: Service, person: Person) -> str:
    """Of a new invitation."""
    async with service.db.write() as tx:
        return links.create_link_token(tx, await links.send_invitation(tx, person))


def chosen(password: str = NEW) -> dict[str, str]:
    """The form of a new password."""
    return {"password": password, "again": password}


async def test_h1_the_token_of_a_link_leaves_the_address_and_is_in_no_log_line(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    secret = await token(service, await people.person(service, realm, "amina@example.org", password=None))
    one = browser()
    first = await one.get(f"{home}/invitation?token={secret}")
    assert (first.status_code, first.headers["location"], first.text) == (303, f"{home}/invitation", "")
    assert first.headers["cache-control"] == "no-store"
    assert "HttpOnly" in first.headers["set-cookie"]
    page = await one.get(f"{home}/invitation")
    assert secret not in page.text
    assert page.headers["referrer-policy"] == "same-origin"
    assert not [line for line in service.lines if secret.encode() in line]


async def test_an_invitation_leads_in_once(service: Service, browser: Open, realm: Realm, home: str) -> None:
    secret = await token(service, await people.person(service, realm, "amina@example.org", password=None))
    one, late = browser(), browser()
    for each in (one, late):
        assert (await each.open(f"{home}/invitation?token={secret}")).status_code == 200
    wrong = {"": "Enter a password.", "short": "at least", "amina@example.org": "your username"}
    for password, reason in wrong.items():
        answer = await one.post(f"{home}/invitation", chosen(password))
        assert answer.status_code == 422
        assert reason in answer.text
    answer = await one.post(f"{home}/invitation", {**chosen(), "again": "another"})
    assert "The passwords do not match." in answer.text
    assert NEW not in answer.text
    answer = await one.post(f"{home}/invitation", chosen())
    assert (answer.status_code, answer.headers["location"]) == (303, home)
    assert (await one.get(home)).status_code == 200
    assert (await late.post(f"{home}/invitation", chosen("another long password"))).status_code == 410
    assert (await one.open(f"{home}/invitation?token={secret}")).status_code == 410


async def test_looking_at_a_link_uses_nothing_up(service: Service, browser: Open, realm: Realm, home: str) -> None:
    secret = await token(service, await people.person(service, realm, "amina@example.org", password=None))
    for _ in range(2):
        scanner = browser()
        assert (await scanner.request("HEAD", f"{home}/invitation?token={secret}")).status_code == 303
        assert (await scanner.open(f"{home}/invitation?token={secret}")).status_code == 200


async def test_a_link_of_other_people_opens_nothing(service: Service, browser: Open, realm: Realm, home: str) -> None:
    other = member_realm((await service.tenant()).partner)
    name = f"op-{service.clock.real_now().timestamp()}@example.org"
    secrets = [
        await token(service, await people.person(service, other, "amina@example.org", password=None)),
        await token(service, await people.person(service, OPERATORS, name, password=None)),
        "cut-off",
        "",
    ]
    for secret in secrets:
        one = browser()
        await one.get(f"{home}/sign-in")
        csrf = one.csrf
        answer = await one.open(f"{home}/invitation?token={secret}")
        assert answer.status_code == 410
        assert (await one.post(f"{home}/invitation", chosen(), csrf=csrf)).status_code == 410
        answer = await one.post(f"{home}/invitation/passkey", csrf=csrf, credential="{}")
        assert answer.status_code == 410
        assert (await one.post(f"{home}/invitation", chosen(), csrf="x")).status_code == 410


async def test_a_newer_invitation_replaces_the_older_one_and_both_end_in_time(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    person = await people.person(service, realm, "amina@example.org", password=None)
    older, newer = await token(service, person), await token(service, person)
    assert "We have sent you a newer link." in (await browser().open(f"{home}/invitation?token={older}")).text
    assert (await browser().open(f"{home}/invitation?token={newer}")).status_code == 200
    service.clock.advance(days=7)
    assert "The link has expired." in (await browser().open(f"{home}/invitation?token={newer}")).text


async def test_an_invitation_does_not_go_round_a_second_factor(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    person = await people.person(service, realm, "amina@example.org")
    await people.authenticator(service, person)
    one = browser()
    page = await one.open(f"{home}/invitation?token={await token(service, person)}")
    assert "Use a passkey instead" not in page.text
    answer = await one.post(f"{home}/invitation/passkey", credential="{}")
    assert answer.headers["location"] == f"{home}/sign-in"
    answer = await one.post(f"{home}/invitation", chosen(), csrf=one.csrf)
    assert answer.headers["location"] == f"{home}/sign-in?done=reset"
    assert (await one.get(home)).status_code == 303


async def test_a_broken_passkey_accepts_no_invitation_and_leaves_the_link(
    service: Service, browser: Open, realm: Realm, home: str
) -> None:
    secret = await token(service, await people.person(service, realm, "amina@example.org", password=None))
    one = browser()
    await one.open(f"{home}/invitation?token={secret}")
    for broken in ("", "{}", "[]", '{"id": "x"}', "\x01"):
        answer = await one.post(f"{home}/invitation/passkey", credential=broken)
        assert answer.status_code == 422
        assert "We could not add this passkey." in answer.text
    assert (await one.post(f"{home}/invitation", chosen())).status_code == 303


async def test_the_addresses_of_sign_in_pages_go_to_the_mailbox_alone(
    service: Service, browser: Open, realm: Realm, home: str, tenant: Tenant, api: Client
) -> None:
    await people.person(service, realm, "amina", email="Amina.K@Example.org")
    other = member_realm((await service.tenant()).partner)
    await people.person(service, other, "amina", email="amina.k@example.org")
    texts = set()
    for email in ("amina.k@example.ORG", "nobody@example.org"):
        one = browser()
        await one.get("/account")
        answer = await one.post("/account", email=email)
        assert answer.status_code == 200
        texts.add(re.sub(r"nonce-[^']*", "", answer.text))
    assert len(texts) == 1
    await service.drain()
    async with service.db.read() as tx:
        mails = await tx.fetch("select recipient, text from sandbox_mail where subject = 'Your sign-in pages'")
    [mail] = [mail for mail in mails if mail["recipient"].lower() == "amina.k@example.org"]
    assert f"{home}/sign-in" in mail["text"]
    assert len(re.findall(r"http\S+/sign-in", mail["text"])) == 2
    assert not [mail for mail in mails if mail["recipient"] == "nobody@example.org"]
    assert data(await api.get("/v1/sandbox/mailbox", to="amina.k@example.org")) == []


async def test_one_mailbox_gets_few_of_these_mails_and_one_network_asks_for_few(
    service: Service, browser: Open, realm: Realm
) -> None:
    await people.person(service, realm, "busy", email="busy@example.org")
    one = browser()
    await one.get("/account")
    csrf = one.csrf
    answers = [await one.post("/account", email="busy@example.org", csrf=csrf) for _ in range(22)]
    assert [answer.status_code for answer in answers[:20]] == [200] * 20
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    wrong = await one.post("/account", email="busy", csrf=csrf)
    assert wrong.status_code == 422
    await service.drain()
    async with service.db.read() as tx:
        sent = await tx.fetchval("select count(*) from sandbox_mail where recipient = 'busy@example.org'")
    assert sent == 1, "asked for again before it went out, it goes out once"


async def test_account_pages_are_there_in_production(empty_database: TestDatabase) -> None:
    async with serving(empty_database, **PRODUCTION) as live:
        one = Browser(live.app, "https://give.almoner.example")
        page = await one.get("/operator/sign-in")
        assert page.status_code == 200
        assert "max-age" in page.headers["strict-transport-security"]
        assert "Test mode" not in page.text
        person = await people.person(live, OPERATORS, "op@example.org", "finance")
        await people.authenticator(live, person)
        answer = await one.post("/operator/sign-in", user_name="op@example.org", password=PASSWORD)
        assert answer.headers["location"] == "/operator/sign-in/second?next=/operator"
        plain = Browser(live.app, "http://give.almoner.example")
        assert (await plain.get("/operator/sign-in")).status_code == 403
        await one.close()
        await plain.close()
