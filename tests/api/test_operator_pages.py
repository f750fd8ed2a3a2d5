"""Pages of operators: who may open which, and what administrators and operators do there."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from functools import partial

import pytest

from almoner.access.operators import service as operators
from almoner.access.operators.domain import InvalidOperatorToken
from almoner.access.people.domain import OPERATOR_ROLES, OPERATORS, OperatorRole, Person
from tests.support import people
from tests.support.browsing import Browser
from tests.support.eventually import eventually
from tests.support.factories import unique
from tests.support.locking import waits_for_lock
from tests.support.members import desk
from tests.support.operators import ADDRESS, operator, signed_in
from tests.support.service import Service, Tenant
from tests.support.terminal import BY

START = "/operator/operators"
WHO_MAY: dict[str, frozenset[OperatorRole]] = {
    START: frozenset({"administrator"}),
    f"{START}/invite": frozenset({"administrator"}),
    f"{START}/{{id}}": frozenset({"administrator"}),
    "/operator/tokens": frozenset(OPERATOR_ROLES),
}


@pytest.fixture
async def ada(service: Service) -> Person:
    """An administrator."""
    return await operator(service, "administrator")


@pytest.fixture
async def hers(service: Service, ada: Person) -> AsyncIterator[Browser]:
    """Her browser."""
    browser = await signed_in(service, ada)
    yield browser
    await browser.close()


def address(service: Service, person: Person) -> str:
    return f"{START}/{service.db.deployment.ids.encode('operator', person.id)}"


def words(browser: Browser) -> str:
    """What the last page says."""
    assert browser.page is not None
    whole = re.sub(r"</?(bdi|span|code|time)[^>]*>", "", browser.page.text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", whole)).split())


@pytest.mark.parametrize("path", WHO_MAY)
@pytest.mark.parametrize("role", OPERATOR_ROLES)
async def test_each_page_opens_for_its_roles_alone(path: str, role: OperatorRole, service: Service) -> None:
    person = await operator(service, role)
    browser = await signed_in(service, person)
    path = address(service, person) if "{id}" in path else path
    allowed = role in WHO_MAY.get(path, frozenset({"administrator"}))
    assert (await browser.get(path)).status_code == (200 if allowed else 403), words(browser)
    async with service.db.write() as tx:
        await tx.execute(
            "update sign_in set authenticated_at = authenticated_at - interval '11 minutes' where person_id = $1",
            person.id,
        )
    answer = await browser.get(path)
    if allowed and path != START:
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/operator/prove")
    await browser.close()


@pytest.mark.parametrize("path", [START, "/operator/tokens"])
async def test_a_partners_owner_is_no_operator(path: str, service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    forged = Browser(service.app, service.db.deployment.base_urls.pages, ADDRESS)
    forged.cookies["__Host-operator"] = next(iter(owner.cookies.values()))
    for browser in (owner, forged):
        answer = await browser.get(path)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/operator/sign-in")
        await browser.close()


async def test_an_administrator_invites_changes_and_deactivates(service: Service, hers: Browser, ada: Person) -> None:
    page = f"{START}/invite"
    await hers.get(page)
    assert (await hers.post(page, email="bo@", name="", role="finance")).status_code == 422
    assert "is not a valid email address" in words(hers)
    email = f"{unique('bo').replace(' ', '')}@example.org"
    assert (await hers.post(page, email=email, name="Bo Okafor")).status_code == 422
    assert "Select at least one role" in words(hers)
    assert (await hers.post(page, email=email, name="Bo Okafor", role="finance")).headers[
        "location"
    ] == f"{START}?done=invited"
    await hers.get(page)
    assert (await hers.post(page, email=email, name="", role="finance")).status_code == 422
    await hers.open(START)
    assert f"Bo Okafor {email}; finance; invited" in words(hers)
    async with service.db.write() as tx:
        bo = next(one.person for one in await operators.list_operators(tx) if one.person.user_name == email)
        _, secret = await operators.create_token(tx, BY, bo, "first")
    his = address(service, bo)
    await hers.get(his)
    assert (await hers.post(his, do="invite")).status_code == 303
    for _ in range(2):
        await hers.open(his)
        assert (await hers.post(his, {"do": "roles", "role": "reviewer"})).status_code == 303
    stale = {"stored.roles": "finance", "do": "roles", "role": "administrator"}
    assert (await hers.post(his, stale)).status_code == 422
    assert "They are now: reviewer" in words(hers)
    assert (await hers.post(his, do="roles")).status_code == 422
    assert (await hers.post(his, do="deactivate")).status_code == 303
    async with service.db.write() as tx:
        with pytest.raises(InvalidOperatorToken):
            await operators.authenticate(tx, secret)
        rows = await tx.fetch(
            "select action from audit_entry where subject = $1 and actor_id = $2 order by position",
            tx.ids.encode("operator", bo.id),
            tx.ids.encode("operator", ada.id),
        )
    assert [row[0] for row in rows] == [
        "operator.invited", "operator.invited_again", "operator.roles_changed", "operator.deactivated",
    ]  # fmt: skip
    await hers.open(his)
    assert "Deactivated" in words(hers)
    assert (await hers.post(his, do="invite")).status_code == 422
    assert (await hers.get(f"{START}/nobody")).status_code == 404
    assert (await hers.get(f"{START}/{service.db.deployment.ids.example_id('operator')}")).status_code == 404


async def test_roles_that_another_administrator_is_saving_are_not_undone(service: Service, hers: Browser) -> None:
    bo = await operator(service, "finance")
    his = address(service, bo)
    await hers.open(his)
    form = {"stored.roles": "finance", "do": "roles", "role": "administrator"}
    async with service.db.write() as tx:
        await operators.set_roles(tx, BY, bo.id, ["reviewer"])
        pressed = asyncio.create_task(hers.post(his, form))
        await eventually(partial(waits_for_lock, service))
    assert ((await pressed).status_code, "They are now: reviewer" in words(hers)) == (422, True)


async def test_an_administrator_changes_a_name_and_an_address_and_resets_a_second_factor(
    service: Service, hers: Browser, ada: Person
) -> None:
    bo = await operator(service, "finance")
    his, email = address(service, bo), f"{unique('bo').replace(' ', '')}@example.org"
    await hers.open(his)
    for typed, wrong in (({"name": ""}, "enter a value"), ({"email": "bo@"}, "is not a valid email address")):
        assert (await hers.post(his, {"do": "details", "name": "Bo", "email": email, **typed})).status_code == 422
        assert wrong in words(hers).lower()
    assert (await hers.post(his, do="details", name="", email="")).text.count('class="problem"') == 2
    taken = await hers.post(his, do="details", name="Bo", email=ada.user_name)
    assert (taken.status_code, "already exists" in words(hers)) == (422, True)
    assert (await hers.post(his, do="details", name="Bo Okafor", email=email)).status_code == 303
    await hers.open(START)
    assert f"Bo Okafor {email}" in words(hers)
    old = {"stored.name": "Bo Okafor", "stored.email": bo.user_name, "email": bo.user_name, "do": "details"}
    assert (await hers.post(his, {**old, "name": "Bo Okafor Ray"})).status_code == 303
    await hers.open(START)
    assert f"Bo Okafor Ray {email}" in words(hers), "the address that was not touched stays"
    own = address(service, ada)
    await hers.open(own)
    assert (await hers.post(own, do="details", name="Ada Byron", email=ada.user_name)).status_code == 303
    assert (await hers.post(own, do="reset")).status_code == 422
    await hers.open(his)
    assert (await hers.post(his, do="reset")).status_code == 303
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action, subject from audit_entry where actor_id = $1 order by position",
            tx.ids.encode("operator", ada.id),
        )
    of = [(action, subject == his.rpartition("/")[2]) for action, subject in rows if action != "signed_in"]
    assert [one for one in of if one[0] == "operator.changed"] == [
        ("operator.changed", True),
        ("operator.changed", True),
        ("operator.changed", False),
    ]
    assert ("second_factor.reset", True) in of


async def test_v8_two_administrators_enter_the_new_address_of_somebody_who_signs_in(
    service: Service, hers: Browser, ada: Person
) -> None:
    bo = await people.person(service, OPERATORS, f"{unique('bo').replace(' ', '')}@example.org", "finance")
    his, email = address(service, bo), f"{unique('bo').replace(' ', '')}@example.org"
    await hers.open(his)
    answer = await hers.post(his, do="details", name="Bo Okafor", email=email)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{his}?done=entered")
    await hers.open(answer.headers["location"])
    shown = words(hers)
    assert "It is used once another administrator enters it here, too" in shown
    assert f"{ada.display_name} entered a new email address on" in shown
    assert (f"Username {bo.user_name}" in shown, email in shown, "Bo Okafor" in shown) == (True, False, True)
    assert (await hers.post(his, do="details", name="Bo Okafor", email=email)).status_code == 422
    assert "has already confirmed this (1 of 2)" in words(hers)
    other = await signed_in(service, await operator(service, "administrator"))
    await other.open(START)
    assert f"Bo Okafor {bo.user_name}; finance; active, new email address to confirm" in words(other)
    await other.open(his)
    answer = await other.post(his, do="details", name="Bo Okafor", email=email)
    assert answer.headers["location"] == f"{his}?done=details"
    await other.open(his)
    assert (f"Username {email}" in words(other), "entered a new email" in words(other)) == (True, False)
    await other.close()


async def test_an_administrator_does_not_change_their_own_address(service: Service) -> None:
    eve = await people.person(service, OPERATORS, f"{unique('eve').replace(' ', '')}@example.org", "administrator")
    await people.authenticator(service, eve)
    browser, own = await signed_in(service, eve), address(service, eve)
    await browser.open(own)
    assert (await browser.post(own, do="details", name="Eve", email=f"new.{eve.user_name}")).status_code == 422
    assert "You cannot change your own email address" in words(browser)
    await browser.close()


async def test_a_token_is_made_shown_once_and_revoked_by_its_operator_alone(service: Service, hers: Browser) -> None:
    page = "/operator/tokens"
    bo = await operator(service, "finance")
    his = await signed_in(service, bo)
    await his.get(page)
    for days in ("0", "366", "x", "9999"):
        assert (await his.post(page, do="make", name="laptop", days=days)).status_code == 422
    assert (await his.post(page, do="make", name=" ", days="30")).status_code == 422
    answer = await his.post(page, do="make", name="laptop", days="30")
    found = re.search(r'id="secret">([^<]+)<', answer.text)
    assert found is not None
    async with service.db.write() as tx:
        person, token = await operators.authenticate(tx, found[1])
        named = tx.ids.encode("operatortoken", token.id)
    assert (person.id, token.name) == (bo.id, "laptop")
    assert found[1] not in (await his.get(page)).text
    await hers.get(page)
    assert (await hers.post(page, do="revoke", token=named)).status_code == 404
    await his.get(page)
    assert (await his.post(page, {"csrf": "wrong", "do": "revoke", "token": named})).status_code == 403
    assert (await his.post(page, do="revoke", token=named)).headers["location"] == f"{page}?done=revoked"
    async with service.db.write() as tx:
        with pytest.raises(InvalidOperatorToken, match="revoked"):
            await operators.authenticate(tx, found[1])
    await his.close()


async def test_all_tokens_are_revoked_at_once_by_their_operator_or_an_administrator(
    service: Service, hers: Browser
) -> None:
    bo = await operator(service, "finance")
    his = await signed_in(service, bo)
    for browser, page in ((his, "/operator/tokens"), (hers, address(service, bo))):
        async with service.db.write() as tx:
            made = [(await operators.create_token(tx, BY, bo, name))[1] for name in ("laptop", "till")]
        assert "Revoke all tokens" in (await browser.get(page)).text
        assert (await browser.post(page, do="revoke_all")).headers["location"] == f"{page}?done=revoked_all"
        assert "Revoke all tokens" not in (await browser.get(page)).text
        for secret in made:
            async with service.db.write() as tx:
                with pytest.raises(InvalidOperatorToken, match="revoked"):
                    await operators.authenticate(tx, secret)
    await his.close()


async def test_an_administrator_is_offered_no_roles_of_their_own(service: Service, hers: Browser, ada: Person) -> None:
    page = address(service, ada)
    assert 'type="checkbox"' not in (await hers.get(page)).text
    assert (await hers.post(page, {"do": "roles", "role": "finance"})).status_code == 422
    assert "Another administrator can change them" in words(hers)


async def test_what_is_wrong_stands_at_its_field_whatever_was_typed(service: Service, hers: Browser) -> None:
    page = f"{START}/invite"
    await hers.get(page)
    answer = await hers.post(page, email="petrole@", name="", role="finance")
    assert (answer.status_code, 'href="#email"' in answer.text, 'href="#roles"' in answer.text) == (422, True, False)
    bo = await operator(service, "finance")
    his = await signed_in(service, bo)
    await his.get("/operator/tokens")
    answer = await his.post("/operator/tokens", do="make", name="seven days " * 10, days="30")
    assert (answer.status_code, 'href="#name"' in answer.text, 'href="#days"' in answer.text) == (422, True, False)
    await his.close()
