"""Forms that a browser sends again, after a double click or a reload: nothing is created twice."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import httpx
import pytest

from almoner.access.keys import service as keys
from almoner.access.operators import service as operators
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.platform.audit import log as audit
from almoner.platform.crypto import DecryptionFailed
from almoner.platform.observability import incidents
from almoner.webhooks.subscriptions import service as webhook_subscriptions
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import entries, upload
from tests.support.members import Desk, desk
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant
from tests.support.validation import UNHEARD_OF, decided

INCIDENT = {"affected": "webhooks", "status": "investigating", "text": "We are looking into it."}
HOOK = {"url": "http://127.0.0.1:9/hooks", "event": "validation_invite.expired"}
SECRET = re.compile(r"\b(?:(?:sk|pk|op)_sandbox_|whsec_)[\w+/=]{20,}")


@pytest.fixture
async def admin(service: Service) -> AsyncIterator[Browser]:
    """An administrator's browser."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield browser
    await browser.close()


@pytest.fixture
async def owner(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """An owner's browser."""
    browser = await desk(service, tenant, "owner")
    yield browser
    await browser.close()


@pytest.fixture
def name(service: Service, tenant: Tenant) -> str:
    """The partner's identifier."""
    return service.db.deployment.ids.encode("partner", tenant.partner.id)


async def filled(browser: Browser, path: str, **typed: str) -> dict[str, str]:
    """Open a page; its form with these entries."""
    page = (await browser.get(path)).text
    [key] = set(re.findall(r'name="form_key" value="([^"]+)"', page))
    return {"csrf": browser.csrf, "form_key": key, **typed}


async def send_twice(browser: Browser, path: str, **typed: str) -> Sequence[httpx.Response]:
    """Open a page and send its form twice, one after the other."""
    form = await filled(browser, path, **typed)
    return [await browser.post(path, form), await browser.post(path, form)]


def secrets(answers: Sequence[httpx.Response]) -> list[str]:
    """The secrets that each of the pages shows, which must be the same."""
    shown = [list(dict.fromkeys(SECRET.findall(answer.text))) for answer in answers]
    assert shown[0]
    assert shown == [shown[0]] * len(shown)
    return shown[0]


async def told(service: Service, action: str, scope: UUID, actor: str | None = None) -> list[tuple[str, bool]]:
    """The subject of each entry with this action, sorted, and whether it says that a secret was shown again."""
    async with service.db.read() as tx:
        found = await audit.list_entries(tx, scope, action=action, actor=actor)
    return sorted((one.subject, (one.details or {}).get("shown_again", False) is True) for one in found)


async def count_keys(service: Service, tenant: Tenant) -> int:
    """The number of the partner's API keys."""
    async with service.db.read() as tx:
        return len(await keys.list_by_partner(tx, tenant.partner))


async def test_an_incident_is_reported_once_for_each_form(service: Service, admin: Browser) -> None:
    path, title = "/operator/health/incidents/new", factories.unique("Webhooks are delayed")
    first, again = await send_twice(admin, path, title=title, **INCIDENT)
    assert first.headers["location"] == again.headers["location"]
    form = await filled(admin, path, title=title, **INCIDENT)
    at_once = await asyncio.gather(*(admin.post(path, form) for _ in range(3)))
    assert len({answer.headers["location"] for answer in at_once} - {first.headers["location"]}) == 1
    async with service.db.read() as tx:
        assert [one.title for one in await incidents.list_incidents(tx, None, 50)].count(title) == 2


async def test_a_form_with_other_entries_or_a_refused_form_is_applied(admin: Browser) -> None:
    path, title = "/operator/health/incidents/new", factories.unique("Mails are late")
    form = await filled(admin, path, title=title, **INCIDENT)
    assert (await admin.post(path, {**form, "affected": "nothing"})).status_code == 422
    assert (await admin.post(path, {**form, "affected": "nothing"})).status_code == 422
    made = [await admin.post(path, {**form, "text": text}) for text in ("We look.", "We look.", "We found it.")]
    assert [made.index(one) for one in made] == [0, 1, 2]
    assert made[0].headers["location"] == made[1].headers["location"] != made[2].headers["location"]


async def test_a_partner_and_its_keys_are_created_once(service: Service, tenant: Tenant, admin: Browser) -> None:
    made = await send_twice(admin, "/operator/partners/new", name=factories.unique("Clear Bank"))
    assert len(secrets(made)) == 2
    partner = re.search(r"sandbox_partner_\w+", made[1].text)
    assert partner is not None
    assert partner[0] in made[0].text
    assert await entries(service, "partner.added", partner[0]) == 1
    partner_id = service.db.deployment.ids.decode("partner", partner[0])
    assert partner_id is not None
    (key, _), *others = shown = await told(service, "key.created", partner_id)
    assert [again for _, again in shown] == [False, True] * 2
    assert [name for name, _ in others].count(key) == 1


async def test_an_administrator_creates_and_rotates_a_key_once(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    page, before = f"/operator/partners/{name}", await count_keys(service, tenant)
    [secret] = secrets(await send_twice(admin, f"{page}/keys/new", name="shop", kind="secret", scopes=""))
    assert (await service.client(secret).get("/v1/categories")).status_code == 200
    newest = re.search(r"/keys/(\w+)/rotate", (await admin.get(page)).text)
    assert newest is not None
    secrets(await send_twice(admin, f"{page}/keys/{newest[1]}/rotate", overlap="0"))
    assert await count_keys(service, tenant) == before + 2
    for action in ("key.created", "key.rotated"):
        assert await told(service, action, tenant.partner.id) == [(newest[1], False), (newest[1], True)]


async def test_a_member_creates_and_rotates_a_key_once(service: Service, tenant: Tenant, owner: Desk) -> None:
    before = await count_keys(service, tenant)
    form = await filled(owner, f"{owner.home}/keys/new", name="shop", kind="secret", scopes="", expires="")
    [secret] = secrets(await asyncio.gather(*(owner.post(f"{owner.home}/keys/new", form) for _ in range(2))))
    async with service.db.read() as tx:
        key = await keys.find_by_secret(tx, secret)
    assert key is not None
    name = service.db.deployment.ids.encode("apikey", key.id)
    page = f"{owner.home}/keys/{name}"
    [rotated] = secrets(await send_twice(owner, page, do="rotate", overlap="0"))
    assert (await service.client(secret).get("/v1/categories")).status_code == 401
    assert (await service.client(rotated).get("/v1/categories")).status_code == 200
    assert await count_keys(service, tenant) == before + 2
    for action in ("key.created", "key.rotated"):
        assert await told(service, action, tenant.partner.id) == [(name, False), (name, True)]


async def test_a_secret_that_is_shown_again_cannot_be_read_in_the_database(
    service: Service, tenant: Tenant, owner: Desk
) -> None:
    form = await filled(owner, f"{owner.home}/keys/new", name="shop", kind="secret", scopes="", expires="")
    [secret] = secrets([await owner.post(f"{owner.home}/keys/new", form)])
    async with service.db.read() as tx:
        [row] = await tx.fetch(
            "select a::text as text, key_hash, response from idempotency_response a where partner_id = $1",
            tenant.partner.id,
        )
    assert form["form_key"] not in row["text"]
    assert secret.encode() not in row["response"]
    with pytest.raises(DecryptionFailed):
        service.db.deployment.vault.decrypt(row["response"], context="form", associated_data=row["key_hash"])
    other = await desk(service, tenant, "owner")
    await other.get(f"{other.home}/keys/new")
    assert secret not in (await other.post(f"{other.home}/keys/new", {**form, "csrf": other.csrf})).text
    await other.close()


async def test_an_operator_creates_a_token_once(service: Service) -> None:
    person = await operator(service, "finance")
    browser = await signed_in(service, person)
    secrets(await send_twice(browser, "/operator/tokens", do="make", name="laptop", days="90"))
    async with service.db.read() as tx:
        [token] = await operators.list_tokens(tx, person.id)
        name, actor = tx.ids.encode(operators.TOKEN_ID, token.id), tx.ids.encode(operators.ID, person.id)
    assert await told(service, "operator_token.created", audit.DEPLOYMENT, actor) == [(name, False), (name, True)]
    await browser.close()


async def test_a_webhook_is_added_tested_and_rotated_once(
    service: Service, tenant: Tenant, api: Client, owner: Desk
) -> None:
    path = f"{owner.home}/webhooks"
    form = await filled(owner, f"{path}/new", **HOOK)
    [secret] = secrets(await asyncio.gather(*(owner.post(f"{path}/new", form) for _ in range(2))))
    [hook] = data(await api.get("/v1/webhook-subscriptions"))
    page = f"{path}/{hook['id']}"
    await send_twice(owner, page, do="test")
    assert len(data(await api.get(f"/v1/webhook-subscriptions/{hook['id']}/deliveries"))) == 1
    [rotated] = secrets(await send_twice(owner, f"{page}/rotate-secret"))
    hook_id = service.db.deployment.ids.decode("webhooksubscription", hook["id"])
    assert hook_id is not None
    async with service.db.read() as tx:
        stored = await webhook_subscriptions.get(tx, tenant.partner, hook_id)
    assert stored.secret == rotated
    assert [one.secret for one in stored.previous_secrets] == [secret]


async def test_a_reviewer_claims_one_case(service: Service, api: Client) -> None:
    cases = {(await decided(service, api, **UNHEARD_OF, name=f"Аid for {one}"))["id"] for one in ("Rivers", "Lakes")}
    reviewer = await signed_in(service, await operator(service, "reviewer"))
    form = await filled(reviewer, "/operator/reviews")
    answers = [await reviewer.post("/operator/reviews/next", form) for _ in range(2)]
    assert len(cases) == 2
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert (await reviewer.get("/operator/reviews.csv?holder=mine")).text.count("\n") <= 2
    await reviewer.close()


async def test_people_are_invited_once_and_told_so_again(owner: Desk, admin: Browser) -> None:
    email = f"{factories.unique('bo').replace(' ', '')}@example.org"
    invited = await send_twice(owner, f"{owner.home}/members/invite", email=email, role="developer")
    assert {answer.headers["location"] for answer in invited} == {f"{owner.home}/members?done=invited"}
    invited = await send_twice(admin, "/operator/operators/invite", email=email, name="Bo", role="finance")
    assert {answer.headers["location"] for answer in invited} == {"/operator/operators?done=invited"}


async def test_a_partner_is_viewed_and_its_owners_are_emailed_once(
    service: Service, tenant: Tenant, admin: Browser, name: str
) -> None:
    viewed = await send_twice(admin, f"/operator/partners/{name}/view", reason="A member called about a refund.")
    assert [answer.status_code for answer in viewed] == [303, 303]
    assert await entries(service, "partner.viewed", tenant.partner) == 1


async def test_a_bank_statement_is_uploaded_once(service: Service) -> None:
    browser = await signed_in(service, await operator(service, "finance"))
    path, form = "/operator/bank-statements/upload", {"form_key": factories.unique("form")}
    first, again, other = [
        await upload(browser, path, "may.xml", content, **form) for content in (b"<May/>", b"<May/>", b"<June/>")
    ]
    assert first == again != other
    for page in (first, other):
        upload_id = service.db.deployment.ids.decode("bankupload", page.rpartition("/")[2])
        assert upload_id is not None
        async with service.db.write() as tx:
            await bank_statements.delete_upload(tx, upload_id)
    await browser.close()


async def test_a_csv_file_is_requested_once(service: Service, tenant: Tenant, owner: Desk) -> None:
    path = f"{owner.home}/exports"
    form = await filled(owner, f"{path}?list=/donations", list="/donations", query="")
    answers = [await owner.post(path, form) for _ in range(2)]
    assert {answer.headers["location"] for answer in answers} == {f"{path}?done=requested"}
    assert await entries(service, "csv_export.requested", tenant.partner) == 1
