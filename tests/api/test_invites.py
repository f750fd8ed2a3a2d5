"""Validation invites (spec 2.6, 4.6; settled 1, 3, 4, 5, 8)."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from almoner.kit.errors import Problem
from almoner.platform.database.transactions import Partner
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.invites.domain import (
    INVITE,
    PAGE,
    InviteExpired,
    InviteInvalidState,
    InviteNotFound,
)
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

PATH = "/v1/validation-invites"
FIELDS = {"id", "status", "hostedConfigId", "redirectUrl", "language", "url", "metadata", "createdAt", "expiresAt"}


async def invited(api: Client, **body: Any) -> dict[str, Any]:
    """A new invite."""
    made: dict[str, Any] = data(await api.post(PATH, body))
    return made


async def refused(api: Client, **body: Any) -> tuple[int, str, list[str]]:
    """Status, code and reasons of a creation that is refused."""
    answer = await api.post(PATH, body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["reasons"]


def id_of(service: Service, made: dict[str, Any]) -> UUID:
    """The id of an invite."""
    found = service.db.deployment.ids.decode("validationinvite", made["id"])
    assert found is not None
    return found


async def test_an_invite_is_answered_as_it_was_made(api: Client) -> None:
    answer = await api.post(PATH, {"redirectUrl": "https://app.example/back", "metadata": {"campaign": "winter"}})
    assert answer.status_code == 200
    assert answer.json()["object"] == "validation_invite"
    made = answer.json()["data"]
    assert set(made) == FIELDS
    assert (made["status"], made["language"], made["hostedConfigId"]) == ("open", "en-GB", None)
    assert (made["redirectUrl"], made["metadata"]) == ("https://app.example/back", {"campaign": "winter"})
    assert made["id"].startswith("sandbox_validationinvite_")
    assert data(await api.get(f"{PATH}/{made['id']}")) == made


async def test_nothing_need_be_given(api: Client) -> None:
    made = data(await api.post(PATH))
    assert (made["redirectUrl"], made["metadata"], made["language"]) == (None, None, "en-GB")


async def test_a_configuration_of_ones_own_may_be_named(api: Client, other: Client) -> None:
    mine = data(await api.get("/v1/validation-submission-configurations"))[0]["id"]
    assert (await invited(api, hostedConfigId=mine))["hostedConfigId"] == mine
    theirs = data(await other.get("/v1/validation-submission-configurations"))[0]["id"]
    for wrong in (theirs, "sandbox_hostedconfiguration_x", mine.replace("sandbox_", "")):
        status, code, reasons = await refused(api, hostedConfigId=wrong)
        assert (status, code) == (400, "validation_invite/invalid_configuration_id")
        assert wrong in reasons[0]


async def test_the_address_holds_a_token_of_this_invite_and_never_changes(service: Service, api: Client) -> None:
    made, second = await invited(api), await invited(api)
    address, _, token = made["url"].partition("?token=")
    assert address == service.db.deployment.base_urls.pages + "/apply"
    assert service.db.deployment.vault.read_page_token(PAGE, token) == id_of(service, made)
    assert second["url"] != made["url"]
    assert data(await api.get(f"{PATH}/{made['id']}"))["url"] == made["url"]


@pytest.mark.parametrize(
    ("after", "status"),
    [
        (timedelta(days=7) - timedelta(milliseconds=1), "open"),
        (timedelta(days=7), "expired"),
        (timedelta(days=7) + timedelta(milliseconds=1), "expired"),
    ],
)
async def test_expiry_is_true_on_read_to_the_millisecond_with_the_sweeper_stopped(
    service: Service, api: Client, tenant: Tenant, after: timedelta, status: str
) -> None:
    made = await invited(api)
    service.clock.advance(after)
    assert data(await api.get(f"{PATH}/{made['id']}"))["status"] == status
    assert data(await api.get(PATH))[0]["status"] == status
    async with service.db.write() as tx:
        stored = await tx.fetchval("select status from validation_invite where id = $1", id_of(service, made))
        if status == "expired":
            with pytest.raises(InviteExpired):
                await invites.lock_open_invite(tx, tenant.partner, id_of(service, made))
    assert stored == "open"


async def test_the_sweep_records_what_has_expired_in_batches(service: Service, api: Client) -> None:
    early = [await invited(api) for _ in range(3)]
    service.clock.advance(hours=1)
    late = await invited(api)
    service.clock.advance(timedelta(days=7) - timedelta(hours=1))
    async with service.db.write() as tx:
        while await invites.expire_overdue_invites(tx, 2):
            pass
        due = await invites.next_expiry_at(tx)
        assert due is not None
        assert due > tx.now
        stored = [
            await tx.fetchval("select status from validation_invite where id = $1", id_of(service, one))
            for one in (*early, late)
        ]
    assert stored == ["expired"] * 3 + ["open"]
    service.clock.advance(hours=1)
    await service.drain()
    async with service.db.read() as tx:
        assert (
            await tx.fetchval("select status from validation_invite where id = $1", id_of(service, late)) == "expired"
        )


async def use(service: Service, partner: Partner, invite_id: UUID) -> Problem | None:
    """Use an invite as a submission does; what it is refused with."""
    try:
        async with service.db.write() as tx:
            await invites.mark_completed(tx, await invites.lock_open_invite(tx, partner, invite_id))
    except Problem as problem:
        return problem
    return None


async def test_an_invite_is_used_once_and_by_its_partner_alone(service: Service, api: Client, tenant: Tenant) -> None:
    made = await invited(api)
    stranger = await service.tenant()
    assert isinstance(await use(service, stranger.partner, id_of(service, made)), InviteNotFound)
    assert await use(service, tenant.partner, id_of(service, made)) is None
    assert isinstance(await use(service, tenant.partner, id_of(service, made)), InviteInvalidState)
    assert data(await api.get(f"{PATH}/{made['id']}"))["status"] == "complete"
    service.clock.advance(days=8)
    await service.drain()
    assert data(await api.get(f"{PATH}/{made['id']}"))["status"] == "complete", "what was used does not expire"


async def test_the_list_is_paged_both_ways_with_an_exact_total(api: Client, other: Client) -> None:
    made = [(await invited(api))["id"] for _ in range(5)]
    await invited(other)
    answer = (await api.get(PATH, pageSize=2)).json()
    assert (answer["totalResults"], answer["pageSize"]) == (5, 2)
    seen = [row["id"] for row in answer["data"]]
    while answer["_links"]["next"]:
        answer = (await api.request("GET", answer["_links"]["next"])).json()
        seen += [row["id"] for row in answer["data"]]
    assert seen == made[::-1]
    assert [row["id"] for row in data(await api.get(PATH, direction="ASC"))] == made


async def test_an_invite_of_another_partner_is_not_found(api: Client, other: Client) -> None:
    made = await invited(api)
    assert (await other.get(f"{PATH}/{made['id']}")).status_code == 404


async def test_every_problem_is_told_at_once(api: Client) -> None:
    status, code, reasons = await refused(
        api, redirectUrl="ftp://example.org", language="not a tag!", metadata={"a": 1}, hostedConfigId=3
    )
    assert (status, code) == (400, "bad_request")
    assert [reason.split()[0] for reason in reasons] == [
        "body.redirectUrl",
        "body.metadata.a",
        "body.language",
        "body.hostedConfigId",
    ]
    metadata = {f"key{n}": "x" for n in range(21)} | {"long": "y" * 251}
    assert len((await refused(api, metadata=metadata))[2]) == 2


async def test_addresses_to_return_to_are_those_of_the_account(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await tx.execute("update partner set redirect_hosts = '{app.example}' where id = $1", tenant.partner.id)
    await invited(api, redirectUrl="https://app.example/x")
    status, code, reasons = await refused(api, redirectUrl="https://elsewhere.example/x", metadata={"": "x"})
    assert (status, code, len(reasons)) == (400, "bad_request", 2)


async def test_the_same_key_makes_one_invite(api: Client) -> None:
    body = {"metadata": {"n": "1"}}
    first = await api.post(PATH, body, idempotency_key="invite-1")
    again = await api.post(PATH, body, idempotency_key="invite-1")
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert (await api.get(PATH)).json()["totalResults"] == 1
    answer = await api.post(PATH, {"metadata": {"n": "2"}}, idempotency_key="invite-1")
    assert answer.json()["error"]["code"] == "idempotency/same_key_different_data"


async def test_publishable_keys_make_and_read_none(api: Client, publishable: Client) -> None:
    made = await invited(api)
    assert (await publishable.post(PATH)).status_code == 403
    assert (await publishable.get(PATH)).status_code == 403
    assert (await publishable.get(f"{PATH}/{made['id']}")).status_code == 403


def test_the_states_are_those_of_the_interface() -> None:
    assert set(INVITE.transitions()) == {("open", "complete"), ("open", "expired")}
