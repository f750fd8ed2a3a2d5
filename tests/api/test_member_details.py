"""What owners put right about members, who is in a group, and what no page takes."""

import asyncio
import json
import re
from functools import partial

import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.members.domain import MAX_DAILY_ADDRESSES
from almoner.access.members.service import member_details
from almoner.access.people import service as people
from almoner.access.people.domain import Person, build_profile, member_realm
from almoner.access.sign_ins.domain import InvalidEmailLink
from almoner.access.sign_ins.service import links
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, AuditEntry
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.members import ADDRESS, Desk, member
from tests.support.service import Service, Tenant

BY = AuditContext(Actor("machine", "tests"), None)


async def changes(service: Service, tenant: Tenant) -> list[AuditEntry]:
    """What the audit log says of changed members, oldest first."""
    async with service.db.read() as tx:
        return (await audit.list_entries(tx, tenant.partner.id, action="member.changed"))[::-1]


async def invited(service: Service, tenant: Tenant, email: str) -> tuple[Person, str]:
    """Somebody who was invited, and the token of the link."""
    async with service.db.write() as tx:
        person, link = await members.invite_member(tx, tenant.partner, BY, email)
    return person, link.partition("token=")[2]


async def known(service: Service, person: Person) -> Person:
    """The person as stored now."""
    async with service.db.read() as tx:
        return await people.get(tx, person.realm, person.id)


async def test_an_owner_puts_a_mistyped_address_right(owner: Desk, service: Service, tenant: Tenant) -> None:
    person, token = await invited(service, tenant, "typo@example.org")
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    for wrong in ("", "nobody", "a@b"):
        await owner.get(page)
        answer = await owner.post(page, do="change", name="Bo", email=wrong)
        assert (answer.status_code, "Enter an email address in the correct format" in owner.text()) == (422, True), (
            wrong
        )
    assert owner.page is not None
    assert 'value="a@b"' in owner.page.text
    await owner.get(page)
    answer = await owner.post(page, do="change", name=" Bo  Builder ", email=" Bo@example.org ")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{page}?done=changed")
    after = await known(service, person)
    assert (after.user_name, after.email, after.display_name) == ("Bo@example.org", "Bo@example.org", "Bo Builder")
    async with service.db.read() as tx:
        with pytest.raises(InvalidEmailLink):
            await links.get_valid_link(tx, token, "invitation")
    for form in ({"name": "Bo Builder", "email": "Bo@example.org"}, {"name": "Bo B.", "email": "Bo@example.org"}):
        await owner.get(page)
        assert (await owner.post(page, {"do": "change", **form})).status_code == 303
    reported = await changes(service, tenant)
    assert [entry.details for entry in reported] == [{"changed": ["name", "email"]}, {"changed": ["name"]}]
    assert owner.person is not None
    name = service.db.deployment.ids.encode("member", owner.person.id)
    assert (reported[0].actor, reported[0].ip_address) == (Actor("member", name), ADDRESS)
    await service.drain()
    mails = (await service.client(tenant.secret).get("/v1/sandbox/mailbox")).json()["data"]
    moved = [mail for mail in mails if "email address was changed" in mail["subject"]]
    assert [mail["to"] for mail in moved] == ["typo@example.org"]
    # Whoever reads a mistyped mailbox learns nothing of the right one.
    assert [word in json.dumps(moved) for word in ("Bo", "bo@", "typo@example.org")] == [False, False, True]
    taken, _ = await invited(service, tenant, "ann@example.org")
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', taken.id)}"
    await owner.get(page)
    answer = await owner.post(page, do="change", name="", email="BO@example.org")
    assert (answer.status_code, "This username is already taken" in owner.text()) == (422, True)
    assert (await known(service, taken)).email == "ann@example.org"


async def test_what_a_directory_calls_somebody_stays(service: Service, tenant: Tenant) -> None:
    emails = [{"value": "home@example.org"}, {"value": "cy@example.org", "primary": True, "type": "work"}]
    profile = {**build_profile("cy@example.org", name="Cy"), "externalId": "17", "emails": emails}
    async with service.db.write() as tx:
        person = await people.create(tx, member_realm(tenant.partner), profile)
        changed = await member_details.update_details(
            tx, tenant.partner, BY, person.id, email="new@example.org", name=""
        )
    assert changed.user_name == changed.display_name == "cy@example.org"
    assert changed.profile["emails"] == [
        {"value": "new@example.org", "primary": True, "type": "work"}, {"value": "home@example.org"},
    ]  # fmt: skip
    assert "displayName" not in changed.profile


async def test_a_partner_writes_to_so_many_new_addresses_a_day(owner: Desk, service: Service, tenant: Tenant) -> None:
    person = await member(service, tenant)
    async with service.db.write() as tx:
        for number in range(MAX_DAILY_ADDRESSES):
            action = "member.invited" if number % 2 else "member.changed"
            await audit.record_entry(tx, tenant.partner.id, Actor("member", "x"), action, "x")
    page = f"{owner.home}/members/invite"
    await owner.get(page)
    answer = await owner.post(page, email="one@example.org", name="", user_name="")
    assert (answer.status_code, "ou can invite up to 100 new email addresses a day" in owner.text()) == (422, True)
    assert 'id="email-problem"' in answer.text
    own = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await owner.get(own)
    assert (await owner.post(own, do="change", name="", email="two@example.org")).status_code == 422
    await invited(service, tenant, "three@example.org")  # by an administrator of the deployment
    service.clock.advance(days=1, seconds=1)
    await owner.sign_in(owner.person or person)
    await owner.get(page)
    assert (await owner.post(page, email="one@example.org", name="", user_name="")).status_code == 303


async def test_who_is_in_a_group_is_listed_page_by_page(owner: Desk, service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        made = [
            await people.create(tx, member_realm(tenant.partner), build_profile(f"person-{number:02}"))
            for number in range(60)
        ]
        group = await members.create_group(tx, tenant.partner, {"displayName": "All"}, [one.id for one in made])
        await members.map_group_to_role(tx, tenant.partner, group.id, "read_only", BY)
    page = f"{owner.home}/groups/{service.db.deployment.ids.encode('group', group.id)}"
    await owner.get(f"{owner.home}/groups")
    assert owner.page is not None
    assert f'href="{page}">60 members<' in owner.page.text
    await owner.get(page)
    first = owner.text()
    assert "All members of this group have this role: read only." in first
    onward = owner.page.text.partition(f'href="{page}?after=')[2].partition('"')[0]
    await owner.get(f"{page}?after={onward}")
    both = first + owner.text()
    assert all(both.count(f" person-{number:02} Edit") == 1 for number in range(60))
    assert "Next page" not in owner.text()


async def test_v8_older_entries_are_of_the_same_filter(owner: Desk, service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        for number in range(120):
            who = Actor("member", f"{'a&b' if number % 2 else 'somebody'}")
            await audit.record_entry(
                tx, tenant.partner.id, who, "key.created" if number % 3 else "key.revoked", f"n{number}"
            )
    await owner.get(f"{owner.home}/audit?who=a%26b")
    assert owner.page is not None
    onward = re.search(r'href="([^"]+before=[^"]+)"', owner.page.text)
    assert onward
    await owner.get(onward[1].replace("&amp;", "&"))
    assert '<option value="a&amp;b" selected>' in owner.page.text
    listed = re.findall(
        r'"code">([^<]*)</bdi> <bdi class="code">key\.\w+</bdi> <bdi class="code">n(\d+)<', owner.page.text
    )
    assert [int(number) for _, number in listed] == [19, 17, 15, 13, 11, 9, 7, 5, 3, 1]
    assert {who for who, _ in listed} == {"a&amp;b"}


@pytest.mark.parametrize("query", ["audit?who=%00", "audit?action=%00", "members?after=%00", "groups?after=%00"])
async def test_what_no_database_can_hold_is_no_query(query: str, owner: Desk) -> None:
    answer = await owner.get(f"{owner.home}/{query}")
    assert answer.status_code == 400, owner.text()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/members/invite", {"email": "a@example.org", "name": "a\0b", "user_name": ""}),
        ("/members/invite", {"email": "a@example.org", "name": "", "user_name": "a\0b"}),
        ("/members/{id}", {"do": "change", "name": "a\0b", "email": "a@example.org"}),
        ("/keys/new", {"name": "a\0b", "kind": "secret", "scopes": ""}),
        ("/keys/new", {"name": "a", "kind": "secret", "scopes": "a\0b"}),
        ("/groups", {"group": "\0", "role": "\0"}),
    ],
)
async def test_what_no_database_can_hold_is_refused_by_every_form(
    path: str, form: dict[str, str], owner: Desk, service: Service, tenant: Tenant
) -> None:
    person = await member(service, tenant)
    page = owner.home + path.replace("{id}", service.db.deployment.ids.encode("member", person.id))
    await owner.get(page)
    async with service.db.read() as tx:
        before = len(await audit.list_entries(tx, tenant.partner.id))
    assert (await owner.post(page, form)).status_code == 400, owner.text()
    async with service.db.read() as tx:
        assert len(await audit.list_entries(tx, tenant.partner.id)) == before


async def test_a_change_without_a_fresh_proof_is_not_done(owner: Desk, service: Service, tenant: Tenant) -> None:
    person = await member(service, tenant)
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await owner.get(page)
    await owner.wait()
    answer = await owner.post(page, do="change", name="Eve", email="eve@example.org")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{owner.home}/prove?next={page}&typed=lost")
    await owner.get(answer.headers["location"])
    assert "was not done" in owner.text().lower() or "again" in owner.text().lower()
    assert (await known(service, person)).email == person.email
    assert await changes(service, tenant) == []


@pytest.mark.parametrize(
    ("path", "label"),
    [("/members/invite", 'for="role-owner">owner'), ("/keys/new", 'for="kind-scim">Directory key (SCIM)')],
)
async def test_a_label_does_not_hold_its_hint(path: str, label: str, owner: Desk) -> None:
    answer = await owner.get(f"{owner.home}{path}")
    assert f"<label {label}</label>" in answer.text


def shown(browser: Desk) -> dict[str, str]:
    """What the page says was stored when it was shown."""
    assert browser.page is not None
    return dict(re.findall(r'name="(stored\.\w+)" value="([^"]*)"', browser.page.text))


async def test_an_owner_undoes_nothing_that_another_has_just_saved(
    owner: Desk, service: Service, tenant: Tenant
) -> None:
    person, _ = await invited(service, tenant, "two@example.org")
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await owner.get(page)
    old = shown(owner)
    assert (
        await owner.post(page, {**old, "do": "change", "name": "", "email": "two-now@example.org"})
    ).status_code == 303
    assert (await owner.post(page, {**old, "do": "roles", "role": ["finance"]})).status_code == 303
    late = {**old, "do": "change", "name": "Two Hands", "email": "two@example.org"}
    assert (await owner.post(page, late)).status_code == 303
    after = await known(service, person)
    assert (after.display_name, after.email) == ("Two Hands", "two-now@example.org")
    refused = await owner.post(page, {**old, "do": "roles", "role": ["support"]})
    assert (refused.status_code, "They are now: finance" in owner.text()) == (422, True)
    assert (await owner.post(page, {**shown(owner), "do": "roles", "role": ["support"]})).status_code == 303
    assert (await known(service, person)).roles == {"support"}


async def test_roles_that_another_owner_is_saving_are_not_undone(owner: Desk, service: Service, tenant: Tenant) -> None:
    person, _ = await invited(service, tenant, "both@example.org")
    page = f"{owner.home}/members/{service.db.deployment.ids.encode('member', person.id)}"
    await owner.get(page)
    form = {**shown(owner), "do": "roles", "role": ["support"]}
    async with service.db.write() as tx:
        await members.change_roles(tx, tenant.partner, BY, person.id, ["finance"])
        pressed = asyncio.create_task(owner.post(page, form))
        await eventually(partial(waits_for_lock, service))
    assert ((await pressed).status_code, "They are now: finance" in owner.text()) == (422, True)
    assert (await known(service, person)).roles == {"finance"}
