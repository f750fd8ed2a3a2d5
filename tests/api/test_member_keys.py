"""Keys and the audit log on the pages of members."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from almoner.access.keys import service as keys
from almoner.access.keys.domain import ApiKey
from almoner.access.people import service as people
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, AuditEntry
from almoner.platform.pages.csv_files import csv_line
from tests.support.members import ADDRESS, Desk, desk, member
from tests.support.service import Service, Tenant

SECRET = re.compile(r"\b(?:sk|pk|scim)_sandbox_[0-9A-Za-z]{38}\b")


@pytest.fixture
async def developer(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """A developer at a browser."""
    made = await desk(service, tenant, "developer")
    yield made
    await made.close()


async def stored(service: Service, tenant: Tenant) -> list[ApiKey]:
    """The partner's keys, newest first."""
    async with service.db.read() as tx:
        return await keys.list_by_partner(tx, tenant.partner)


async def of_keys(service: Service, tenant: Tenant) -> list[AuditEntry]:
    """What the audit log says about keys, oldest first."""
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id, limit=1000)
    return [entry for entry in reversed(entries) if entry.action.startswith("key.")]


async def make(browser: Desk, **form: str) -> str:
    """Make a key and answer its secret."""
    await browser.get(f"{browser.home}/keys/new")
    answer = await browser.post(f"{browser.home}/keys/new", {"name": "shop", "scopes": "", **form})
    assert answer.status_code == 200, browser.text()
    assert answer.headers["cache-control"] == "no-store"
    found = SECRET.search(answer.text)
    assert found, browser.text()
    return found[0]


async def test_k1_a_developer_makes_a_key_and_sees_its_secret_this_once(
    developer: Desk, service: Service, tenant: Tenant
) -> None:
    secret = await make(developer, kind="secret", scopes="categories:read users:write")
    assert (await service.client(secret).get("/v1/categories")).status_code == 200
    assert (await service.client(secret).get("/v1/donations")).status_code == 403
    await developer.get(f"{developer.home}/keys")
    assert developer.page is not None
    assert SECRET.search(developer.page.text) is None
    assert f"shop ...{secret[-4:]} Secret key; active" in developer.text()
    newest = (await stored(service, tenant))[0]
    made = (await of_keys(service, tenant))[-1]
    ids = service.db.deployment.ids
    assert developer.person is not None
    assert (made.actor, made.action, made.subject, made.ip_address, made.details) == (
        Actor("member", ids.encode("member", developer.person.id)), "key.created", ids.encode("apikey", newest.id),
        ADDRESS,
        {"kind": "secret", "scopes": ["categories:read", "users:write"]},
    )  # fmt: skip
    assert (await make(developer, kind="publishable")).startswith("pk_")


async def test_scopes_are_ticked_and_only_an_owner_is_offered_the_one_that_shows_donors(
    developer: Desk, owner: Desk, service: Service, tenant: Tenant
) -> None:
    for browser, offered in ((developer, False), (owner, True)):
        page = (await browser.get(f"{browser.home}/keys/new")).text
        assert ('value="donations:personal"' in page, 'value="users:read"' in page) == (offered, True)
        assert ("scim_api" in page, "sandbox_clock" in page) == (False, False)
    form = {"name": "donors", "kind": "secret", "scopes": ["donations:read", "donations:personal"], "expires": "30"}
    refused = await developer.post(f"{developer.home}/keys/new", form)
    assert (refused.status_code, "Only an owner can grant" in developer.text()) == (422, True)
    assert (await owner.post(f"{owner.home}/keys/new", form)).status_code == 200
    made = (await stored(service, tenant))[0]
    assert made.scopes == {"donations:read", "donations:personal"}
    assert made.expires_at == made.created_at + timedelta(days=30)


async def test_a_key_that_expires_is_followed_by_one_that_lives_as_long(
    developer: Desk, service: Service, tenant: Tenant
) -> None:
    await make(developer, kind="secret", expires="90")
    old = (await stored(service, tenant))[0]
    page = f"{developer.home}/keys/{service.db.deployment.ids.encode('apikey', old.id)}"
    await developer.get(page)
    await developer.post(page, do="rotate", overlap="2")
    new = (await stored(service, tenant))[0]
    assert new.id != old.id
    assert new.expires_at == new.created_at + timedelta(days=90)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "", "kind": "secret"}, "1 to 100 characters"),
        ({"name": "x", "kind": "master"}, "Select a key type"),
        ({"name": "x", "kind": "scim"}, "Select a key type"),  # for owners
        ({"name": "x", "kind": "secret", "scopes": "* sandbox_clock"}, "scopes are not available: sandbox_clock"),
        ({"name": "x", "kind": "secret", "scopes": "scim_api"}, "scopes are not available: scim_api"),
        (
            {"name": "x", "kind": "secret", "scopes": "a;b users:read c:read"},
            "Unknown scope: a;b, c:read. Choose from: *, ",
        ),
        ({"name": "x", "kind": "publishable", "scopes": "donations:read"}, "cannot have donations:read"),
    ],
)
async def test_a_key_that_cannot_be_is_refused_with_a_reason(
    form: dict[str, str], said: str, developer: Desk, service: Service, tenant: Tenant
) -> None:
    before = len(await stored(service, tenant))
    await developer.get(f"{developer.home}/keys/new")
    answer = await developer.post(f"{developer.home}/keys/new", form)
    assert (answer.status_code, said in developer.text()) == (422, True), developer.text()
    assert len(await stored(service, tenant)) == before


async def test_a_secret_is_shown_to_who_has_just_proved_who_they_are(
    developer: Desk, service: Service, tenant: Tenant
) -> None:
    await developer.get(f"{developer.home}/keys/new")
    before = len(await stored(service, tenant))
    await developer.wait()
    answer = await developer.post(f"{developer.home}/keys/new", name="late", kind="secret", scopes="")
    assert (answer.status_code, answer.headers["location"]) == (
        303, f"{developer.home}/prove?next={developer.home}/keys/new&typed=lost",
    )  # fmt: skip
    assert len(await stored(service, tenant)) == before


async def test_k4_a_key_is_replaced_with_an_overlap_and_ended(
    developer: Desk, service: Service, tenant: Tenant
) -> None:
    secret = await make(developer, kind="secret")
    old, ids = (await stored(service, tenant))[0], service.db.deployment.ids
    page = f"{developer.home}/keys/{ids.encode('apikey', old.id)}"
    for wrong in ("x", "-1", "169", "9999999999999999999"):
        await developer.get(page)
        assert (await developer.post(page, do="rotate", overlap=wrong)).status_code == 422, wrong
    await developer.get(page)
    found = SECRET.search((await developer.post(page, do="rotate", overlap="2")).text)
    assert found
    new = (await stored(service, tenant))[0]
    assert (await stored(service, tenant))[1].expires_at == new.created_at + timedelta(hours=2)
    for works in (secret, found[0]):
        assert (await service.client(works).get("/v1/categories")).status_code == 200
    page = f"{developer.home}/keys/{ids.encode('apikey', new.id)}"
    await developer.get(page)
    assert (await developer.post(page, do="revoke")).status_code == 422
    await developer.get(page)
    assert (await developer.post(page, do="revoke", sure="yes")).headers["location"].endswith("/keys?done=revoked")
    service.clock.advance_wall(seconds=1)
    assert (await service.client(found[0]).get("/v1/categories")).status_code == 401
    entries = await of_keys(service, tenant)
    assert [entry.action for entry in entries] == ["key.created", "key.rotated", "key.revoked"]
    assert entries[1].details is not None
    assert entries[1].details["successor"] == ids.encode("apikey", new.id)
    await developer.get(page)
    assert (await developer.post(page, do="rotate", overlap="2")).status_code == 422  # what has ended has no successor


async def test_directory_keys_are_for_owners(owner: Desk, developer: Desk, service: Service, tenant: Tenant) -> None:
    secret = await make(owner, kind="scim")
    answer = await service.client(secret).get("/scim/v2/Users")
    assert answer.status_code == 200
    key = (await stored(service, tenant))[0]
    page = f"{owner.home}/keys/{service.db.deployment.ids.encode('apikey', key.id)}"
    await developer.get(f"{developer.home}/keys/new")
    assert "Directory key" not in developer.text()
    assert (await developer.post(page, do="rotate", overlap="2")).status_code == 403
    assert (await developer.post(page, do="revoke", sure="yes")).status_code == 403
    assert (await stored(service, tenant))[0] == key


async def test_v8_the_audit_log_is_read_by_person_and_action_page_by_page(
    owner: Desk, service: Service, tenant: Tenant
) -> None:
    other = await member(service, tenant, "owner", name="bo")
    theirs = await desk(service, tenant, person=other)
    for browser in (owner, theirs):
        await make(browser, kind="publishable")
    api = service.client(tenant.secret)
    for number in range(60):
        assert (await api.post("/v1/categories", {"name": f"Audited {number}"})).status_code == 200
    await owner.get(f"{owner.home}/audit")
    assert "API key “tests”: Category created" in owner.text()
    assert owner.page is not None
    onward = re.search(r'href="([^"]+before=[^"]+)"', owner.page.text)
    assert onward
    await owner.get(onward[1].replace("&amp;", "&"))
    assert ": API key created ( “shop” )" in owner.text()
    name = service.db.deployment.ids.encode("member", other.id)
    await owner.get(f"{owner.home}/audit?who={name}&action=key.created")
    assert owner.text().count("Bo: API key created ( “shop” )") == 1
    assert f'<option value="{name}" selected>Bo</option>' in owner.page.text
    assert '<option value="key.created" selected>API key created</option>' in owner.page.text
    assert f"from {ADDRESS}" in owner.text()
    await owner.get(f"{owner.home}/audit?who=nobody")
    assert "No results match your filters." in owner.text()
    async with service.db.write() as tx:
        await people.delete(tx, other.realm, other.id)
    await owner.get(f"{owner.home}/audit?who={name}")
    assert "A member: API key created ( “shop” )" in owner.text()  # what is done stays, the name is gone
    assert f'<option value="{name}" selected>A member (…{name[-8:]})</option>' in owner.page.text
    await theirs.close()


async def test_v8_the_audit_log_is_read_from_a_day_to_a_day(owner: Desk, service: Service) -> None:
    service.clock.advance_to_newest_id()
    await make(owner, kind="publishable")
    today = service.clock.now().date()
    for first, last, found in (
        (today, today, 1),
        (today, None, 1),
        (today + timedelta(days=1), None, 0),
        (None, today - timedelta(days=1), 0),
    ):
        days = urlencode({name: day for name, day in (("first", first), ("last", last)) if day})
        await owner.get(f"{owner.home}/audit?action=key.created&{days}")
        assert owner.text().count(": API key created") == found, days
    for wrong in ("first=never", "last=9999-12-31&first=0001-01-01", "last=2026-02-30"):
        answer = await owner.get(f"{owner.home}/audit?{wrong}")
        assert answer.status_code == 422, wrong
        assert f"Enter a date in this format: {today}" in owner.text()
    answer = await owner.get(f"{owner.home}/audit?action=key.created&first=never&last=2026-02-30")
    assert re.findall(r'<a href="#(\w+)">', answer.text) == ["first", "last"]
    for kept in ('value="never"', 'value="2026-02-30"', 'value="key.created" selected'):
        assert kept in answer.text


async def test_v8_the_page_says_how_far_the_chain_has_come(owner: Desk, service: Service) -> None:
    await service.drain()
    await owner.get(f"{owner.home}/audit")
    assert re.search(r"Entries in the chain [1-9]", owner.text())


async def test_v8_the_log_is_downloaded_whole_and_that_is_recorded(
    owner: Desk, service: Service, tenant: Tenant
) -> None:
    async with service.db.write() as tx:  # more than is read at once
        for number in range(1001):
            await audit.record_entry(tx, tenant.partner.id, Actor("system", "tests"), "tested", f"entry {number}")
    answer = await owner.get(f"{owner.home}/audit.jsonl")
    assert answer.headers["content-type"] == "application/jsonl"
    lines: list[dict[str, Any]] = [json.loads(line) for line in answer.text.splitlines()]
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id, limit=2000)
    assert [line["id"] for line in lines] == [str(entry.id) for entry in entries]
    assert (lines[0]["action"], lines[0]["details"]) == ("audit.downloaded", {"format": "jsonl"})
    answer = await owner.get(f"{owner.home}/audit.csv")
    assert answer.headers["content-disposition"].startswith('attachment; filename="audit-sandbox_partner_')
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row["id"] for row in rows[1:]] == [line["id"] for line in lines]
    assert rows[0]["action"] == "audit.downloaded"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\uff1d", "\uff0d", "|"])
def test_v8_no_cell_of_the_file_begins_as_a_formula_does(begin: str) -> None:
    line = csv_line([f"{begin}HYPERLINK(1)", 'a "quoted", cell', "plain"])
    first, second, third = next(csv.reader(io.StringIO(line.decode(), newline="")))
    assert first == f"'{begin}HYPERLINK(1)"
    assert (second, third) == ('a "quoted", cell', "plain")


@pytest.mark.parametrize("cell", ["-20.00", "-1300", "0.00"])
def test_a_negative_amount_of_a_file_stays_a_number(cell: str) -> None:
    assert csv_line([cell, f"{cell}+1", f"{cell}\n"]).startswith(f"{cell},".encode())
    assert csv_line([f"-{cell}+1", f"-{cell}\n"]).startswith(b"'-")
