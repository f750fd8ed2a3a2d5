"""Every write by a key, and every secret read with one, leaves one entry; what failed leaves none (V8)."""

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from PIL import Image

from almoner.access.keys import service as keys
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, AuditEntry
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support import agents, eligibility, factories, regular_gifts, submissions
from tests.support.client import Client, data
from tests.support.service import Service, Tenant
from tests.support.validation import BODY as REQUEST
from tests.support.validation import requested
from tests.support.webhooks import happen

ADDRESS = "203.0.113.7"


@dataclass(slots=True)
class World:
    """A partner whose calls are watched; ``names`` are the ids of its records by type."""

    service: Service
    tenant: Tenant
    api: Client
    names: dict[str, str]

    async def entries(self) -> list[AuditEntry]:
        """All of the partner's entries, the newest first."""
        async with self.service.db.read() as tx:
            return await audit.list_entries(tx, self.tenant.partner.id, limit=1000)

    async def call(self, endpoint: Endpoint, **options: Any) -> Any:
        """Call a route of its records, as somebody who means it."""
        path = endpoint.path
        for name, mark in endpoint.path_parameters.items():
            assert mark is not None
            own = self.names.get(f"{mark.type} to {endpoint.operation_id}")
            path = path.replace(f"{{{name}}}", own or self.names[mark.type])
        body = await self.body(endpoint) if endpoint.body else None
        given: dict[str, Any] = {} if body is None else {"json": body}
        if endpoint.upload:
            given = {"files": {endpoint.upload.form_field_name: ("x.png", picture(), "image/png")}, "data": body or {}}
        return await self.api.request(endpoint.method, path, **given, **options)

    async def body(self, endpoint: Endpoint) -> dict[str, Any]:
        """A body that the route takes."""
        name = endpoint.operation_id
        organisation = {"organisationId": await factories.nonprofit(self.service)}
        organisations: dict[str, dict[str, Any]] = {
            "createCategory": {"name": factories.unique("category")},
            "updateCategory": {"name": factories.unique("category")},
            "setUserOrganisation": organisation,
            "createDonationSession": organisation,
            "createMonetaryDonationVerification": organisation,
            "createMonitoringSubscription": organisation,
            "createEligibilitySubscription": organisation,
            "createValidationRequest": REQUEST,
            "createAgentVerification": {**organisation, **agents.ADA},
            "createDonation": {**organisation, **GIFT},
            "createGiftAid": DECLARATION,
            "createGivingLink": {"organisationIds": [self.names["organisation"]], "title": "Appeal"},
            "createValidationInvite": {"redirectUrl": "https://example.org/back"},
            "createValidationSubmissionConfiguration": {"checks": ["compliance"]},
            "createValidationSubmission": {**organisation, **submissions.ADA},
            "createValidationSubmissionDocument": {
                "validationSubmissionId": self.names["validationsubmission"],
                "type": "validation_request",
            },
            "createAppeal": {"text": "We are on the register."},
            "createWebhookSubscription": {"events": ["*"], "url": "http://127.0.0.1:9/hooks"},
            "replayWebhookEvents": {"startDate": self.service.clock.now().isoformat()},
            "simulate": {"id": self.names["donationsession"], "action": "donate", **DONOR},
            "advanceSandboxClock": {"advanceSeconds": 1},
        }
        return organisations.get(name, {})


GIFT = {"amount": 2500, "currencyCode": "USD"}
DECLARATION = {
    "title": "Dr",
    "firstName": "Ada",
    "lastName": "Byron",
    "buildingNameNumber": "1",
    "roadName": "Mill Lane",
    "city": "Leeds",
    "country": "United Kingdom",
    "postcode": "LS1 1AA",
}
DONOR = {
    "amount": 2500,
    "currencyCode": "USD",
    "firstName": "Ada",
    "lastName": "Byron",
    "email": "ada@example.org",
    "card": factories.CARD,
}


@pytest.fixture
async def world(service: Service, tenant: Tenant) -> AsyncIterator[World]:
    """A partner with a record of each kind."""
    api = service.client(tenant.secret, address=ADDRESS)
    organisation = await factories.nonprofit(service)
    names = {
        "organisation": organisation,
        "category": (await factories.category(api))["id"],
        "user": (await factories.user(api))["id"],
        "donation": data(await api.post("/v1/donations", {"organisationId": organisation, **GIFT}))["id"],
        "donation to refundDonation": (await factories.donation(service, api))["id"],
        "donationsession": (await factories.session(service, api))["id"],
        "monetarydonationverification": (await factories.verification(service, api))["id"],
        "webhooksubscription": (await factories.subscription(api))["id"],
        "event": (await happen(service, tenant))[0],
        "validationrequest": (await requested(api))["id"],
        "agentverification": (await agents.create(service, api))["id"],
        "monitoringsubscription": data(
            await api.post("/v1/monitoring-subscriptions", {"organisationId": organisation})
        )["id"],
        "eligibilitysubscription": (await eligibility.create(api, organisation))["id"],
        "givinglink": (await factories.giving_link(service, api))["id"],
        "hostedconfiguration": await submissions.configured(api, "compliance"),
    }
    failing = await submissions.of_organisation(
        service, api, "-complianceStatus:fail", configurationId=names["hostedconfiguration"]
    )
    for call in ("update", "pause", "resume", "skip", "cancel"):
        plan = await regular_gifts.begin_plan(service, api)
        names[f"donationsubscription to {call}DonationSubscription"] = plan.id
        if call == "resume":
            await plan.does("pause")
    names["validationsubmission"] = (await submissions.ended(service, api, failing))["id"]
    await api.put(f"/v1/categories/{names['category']}/{organisation}")
    await service.drain()
    yield World(service, tenant, api, names)
    await api.close()


def picture() -> bytes:
    """A small image."""
    made = io.BytesIO()
    Image.new("RGB", (4, 4)).save(made, "PNG")
    return made.getvalue()


def audited(service: Service) -> list[Endpoint]:
    """Routes that write or show a secret; those that remove something last, the innermost first."""
    found = [endpoint for endpoint in service.endpoints if endpoint.is_write or endpoint.shows_secret]
    return sorted(found, key=lambda endpoint: (endpoint.method == "DELETE", -len(endpoint.path)))


def test_v8_every_audited_call_has_words(service: Service) -> None:
    language = TranslationCatalogues().language("en")
    calls = {endpoint.operation_id for endpoint in audited(service)}
    assert {call for call in calls if not language.has_message(f"audit_log.action.{call}")} == set()


async def test_v8_every_writing_route_and_every_secret_read_leaves_one_entry(world: World) -> None:
    ids = world.service.db.deployment.ids
    async with world.service.db.read() as tx:
        key = await keys.find_by_secret(tx, world.tenant.secret)
    assert key is not None
    routes = audited(world.service)
    assert {"createCategory", "createDonationSession", "getWebhookSubscription", "simulate"} <= {
        endpoint.operation_id for endpoint in routes
    }
    for endpoint in routes:
        before = len(await world.entries())
        answer = await world.call(endpoint)
        assert answer.status_code in {200, 204}, (endpoint.route, answer.content)
        [entry, *others] = await world.entries()
        assert len(others) == before, endpoint.route
        assert entry.actor == Actor("key", ids.encode("apikey", key.id)), endpoint.route
        assert (entry.scope, entry.action) == (world.tenant.partner.id, endpoint.operation_id)
        assert (entry.ip_address, entry.request_id) == (ADDRESS, answer.headers["request-id"])
        assert entry.subject == subject(world, endpoint, answer), endpoint.route


def subject(world: World, endpoint: Endpoint, answer: Any) -> str:
    """The answered record, else the first that the path names, else the path."""
    answered = data(answer).get("id") if answer.content else None
    if answered:
        return str(answered)
    marks = [mark for mark in endpoint.path_ids.values() if mark is not None]
    return world.names[marks[0].type] if marks else endpoint.path


async def test_v8_calls_that_fail_leave_no_entry(world: World, publishable: Client) -> None:
    before = await world.entries()
    stranger = world.service.db.deployment.ids.example_id
    for endpoint in audited(world.service):
        path = endpoint.path
        for name, mark in endpoint.path_parameters.items():
            assert mark is not None
            path = path.replace(f"{{{name}}}", stranger(mark.type))
        broken = {"content": b"[", "headers": {"Content-Type": "application/json"}} if endpoint.is_write else {}
        for client, options in ((world.api, broken), (publishable, {})):
            answer = await client.request(endpoint.method, path, **options)
            assert answer.status_code >= 400, endpoint.route
    organisation = world.names["organisation"]
    refused = [
        await world.api.post("/v1/categories", {"name": ""}),
        await world.api.post("/v1/donation-sessions", {"organisationId": stranger("organisation")}),
        await world.api.post("/v1/donation-sessions", {"organisationId": organisation, "currency": "XXX"}),
        await world.api.post("/v1/sandbox/simulate", {"id": world.names["donationsession"], "action": "pay"}),
        await world.api.get(f"/v1/webhook-subscriptions/{stranger('webhooksubscription')}"),
    ]
    assert all(answer.status_code >= 400 for answer in refused)
    assert await world.entries() == before


@pytest.mark.parametrize("path", ["/v1/users", "/v1/donation-sessions"])
async def test_v8_an_answer_that_is_given_again_leaves_no_second_entry(world: World, path: str) -> None:
    body = {} if path == "/v1/users" else {"organisationId": world.names["organisation"]}
    before = len(await world.entries())
    first, again = [await world.api.post(path, body, idempotency_key="once") for _ in range(2)]
    assert again.headers["idempotent-replayed"] == "true"
    [entry, *others] = await world.entries()
    assert (entry.subject, len(others)) == (data(first)["id"], before)


async def test_v8_a_secret_that_is_shown_again_is_told_again(world: World) -> None:
    body = {"events": ["*"], "url": "http://127.0.0.1:9/hooks"}
    before = len(await world.entries())
    first, again = [await world.api.post("/v1/webhook-subscriptions", body, idempotency_key="once") for _ in range(2)]
    assert again.content == first.content
    [second, entry, *others] = await world.entries()
    assert len(others) == before
    for one in (second, entry):
        assert (one.action, one.subject) == ("createWebhookSubscription", data(first)["id"])
        assert one.details == {"shown": "secret"}


async def test_v8_reading_what_is_no_secret_leaves_no_entry(world: World) -> None:
    before = await world.entries()
    for endpoint in world.service.endpoints:
        if endpoint.method == "GET" and not endpoint.shows_secret and not endpoint.path_ids:
            await world.api.get(endpoint.path)
    assert await world.entries() == before


async def test_v8_an_entry_says_by_what_something_was_changed(world: World) -> None:
    category, organisation = world.names["category"], world.names["organisation"]
    await world.api.delete(f"/v1/categories/{category}/{organisation}")
    [entry, *_] = await world.entries()
    assert (entry.action, entry.subject) == ("removeOrganisationFromCategory", category)
    assert entry.details == {"organisationId": organisation}


async def test_v8_one_partner_never_sees_the_entries_of_another(world: World, other: Client) -> None:
    before = await world.entries()
    made = await factories.category(other)
    assert await world.entries() == before
    async with world.service.db.read() as tx:
        scope = await tx.fetchval("select scope from audit_entry where subject = $1", made["id"])
        assert scope != world.tenant.partner.id
        theirs = await audit.list_entries(tx, scope, limit=1000)
        assert {entry.scope for entry in theirs} == {scope}
        assert await audit.list_entries(tx, UUID(int=1)) == []


async def test_v8_the_log_is_read_page_by_page(world: World) -> None:
    everything = await world.entries()
    seen: list[AuditEntry] = []
    async with world.service.db.read() as tx:
        while page := await audit.list_entries(tx, world.tenant.partner.id, seen[-1].id if seen else None, limit=3):
            seen += page
    assert seen == everything
    assert [entry.at for entry in seen] == sorted((entry.at for entry in seen), reverse=True)
