"""The signed evidence of every kind of record, where partners and reviewers look at it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from almoner.platform.evidence.dossier import name_of_record_field
from almoner.platform.files.signing import has_valid_signature
from tests.support import agents, eligibility, factories, monitoring
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.console import entries
from tests.support.members import desk
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant
from tests.support.validation import UNHEARD_OF, decided

Record = dict[str, Any]
DOGS = "AN102"


async def _request(service: Service, api: Client) -> Record:
    return await decided(service, api, **UNHEARD_OF)


async def _agent(service: Service, api: Client) -> Record:
    made = await agents.create(service, api)
    await service.drain()
    return made


async def _eligibility(service: Service, api: Client) -> Record:
    return await eligibility.evaluated(service, api, await eligibility.body_of(service, {DOGS: "ntee:D20"}))


async def _monitoring(service: Service, api: Client) -> Record:
    return await monitoring.looked(service, api)


async def _verification(service: Service, api: Client) -> Record:
    made = await factories.verification(service, api)
    await service.drain()
    return made


_MAKE: dict[str, Callable[[Service, Client], Awaitable[Record]]] = {
    "validation_request": _request,
    "agent_verification": _agent,
    "monitoring_subscription": _monitoring,
    "eligibility_subscription": _eligibility,
    "monetary_donation_verification": _verification,
}
_STEP = {
    "validation_request": ("register", "Register lookup"),
    "agent_verification": ("mailbox", "Mailbox"),
    "eligibility_subscription": (DOGS, "Rule: ntee:D20."),
    "monetary_donation_verification": ("registration", "Registration"),
}
"""A step of the JSON, and what the PDF says of it."""


_DETAIL = {
    "monitoring_subscription": "Results compliance status pass",
    "eligibility_subscription": "Results eligibility status pass",
    "monetary_donation_verification": "registration succeeded, compliance pending",
}
"""What its details say."""


async def _check(service: Service, browser: Browser, page: str, kind: str, record: Record) -> None:
    """Both files stand on the page, are signed, and say what the steps found."""
    shown = (await browser.get(page)).text
    [key] = (await service.client("").get("/.well-known/almoner-keys")).json()["keys"]
    for format_ in ("json", "pdf"):
        assert f'href="{page}/dossier.{format_}"' in shown
        answer = await browser.get(f"{page}/dossier.{format_}")
        assert answer.headers["content-disposition"] == f'attachment; filename="dossier-{record["id"]}.{format_}"'
        assert has_valid_signature(answer.content, bytes.fromhex(key["publicKey"])), format_
        name, words = _STEP.get(kind, ("", ""))
        if format_ == "json":
            stated = json.loads(answer.content)
            assert stated["object"] == f"{kind}_dossier"
            data = stated["data"]
            assert data[name_of_record_field(kind)]["id"] == record["id"]  # type: ignore[arg-type]
            assert data["evaluations"]
            assert not name or name in {step["name"] for one in data["evaluations"] for step in one["steps"]}
        else:
            text = " ".join(" ".join(one.extract_text() for one in PdfReader(BytesIO(answer.content)).pages).split())
            assert record["id"] in text.replace(" ", "")
            assert words in text
            assert _DETAIL.get(kind, "") in text


@pytest.fixture
async def reviewer(service: Service) -> AsyncIterator[Browser]:
    """Of the operator."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    yield browser
    await browser.close()


@pytest.mark.parametrize("kind", [one for one in _MAKE if not one.startswith("monetary")])
async def test_members_download_what_was_seen_of_their_records(
    service: Service, tenant: Tenant, api: Client, kind: str
) -> None:
    record = await _MAKE[kind](service, api)
    member = await desk(service, tenant, "read_only")
    page = f"{member.home}/{kind.replace('_', '-')}s/{record['id']}"
    await _check(service, member, page, kind, record)
    stranger = await desk(service, await service.tenant(), "owner")
    foreign = page.replace(member.home, stranger.home)
    assert (await stranger.get(f"{foreign}/dossier.json")).status_code == 404
    for browser in (member, stranger):
        await browser.close()


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("validation_request", "/operator/reviews"),
        ("agent_verification", "/operator/reviews"),
        ("monetary_donation_verification", "/operator/reviews/verifications"),
    ],
)
async def test_reviewers_download_it_and_the_log_has_that(
    service: Service, api: Client, reviewer: Browser, kind: str, path: str
) -> None:
    record = await _MAKE[kind](service, api)
    await _check(service, reviewer, f"{path}/{record['id']}", kind, record)
    assert await entries(service, "dossier.downloaded", record["id"]) == 2


async def test_an_applicant_who_was_erased_is_in_no_dossier(service: Service, api: Client, reviewer: Browser) -> None:
    record = await agents.create(service, api, firstName="Zinaida")
    service.clock.advance(days=31)
    await service.drain()
    service.clock.advance(days=31)
    await service.drain()
    answer = await reviewer.get(f"/operator/reviews/{record['id']}/dossier.json")
    assert "Zinaida" not in answer.text
    assert answer.json()["data"]["agentVerification"]["email"] is None
