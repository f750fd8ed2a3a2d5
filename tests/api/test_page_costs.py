"""What a page, a form, a header, a callback or a SCIM call may cost at its worst input: 50 ms of the processor."""

import json
from typing import Final
from urllib.parse import urlencode

import pytest

from almoner.access.accounts.domain import LONG_FORM_LIMITS
from almoner.access.people.domain import OPERATORS
from almoner.scim import PREFIX
from almoner.validation.applications.configurations.domain import MAX_ANSWER_LENGTHS, MAX_FIELDS
from tests.support import costs, factories, hostile_forms, people
from tests.support.applications import PERSON, Form, configured, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.costs import PAGE_SECONDS, SEARCH_SECONDS, Request
from tests.support.hostile_text import SHAPES
from tests.support.members import desk
from tests.support.service import Service, Tenant

LONGEST_HEADER: Final = 8_000
HEADERS: Final = (
    "accept",
    "accept-language",
    "authorization",
    "content-type",
    "cookie",
    "idempotency-key",
    "if-none-match",
    "origin",
    "referer",
    "user-agent",
    "x-forwarded-for",
    "x-request-id",
)


async def test_the_form_of_a_gift(service: Service, api: Client) -> None:
    session = await factories.session(service, api, currency="GBP", language="ar")
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    page = await browser.open(session["url"])
    texts = hostile_forms.texts(page.text)
    assert {"typed", "first_name", "email", "message"} <= set(texts)
    path = f"/give/{session['id']}"
    assert (
        await hostile_forms.above(
            service.app, dict(hostile_forms.posts(browser, path, texts, amount="other", gift_aid="yes"))
        )
        == {}
    )
    await browser.close()


@pytest.mark.parametrize("step", ["nonprofit/other", "person", "colleague"])
async def test_a_step_of_an_application(service: Service, api: Client, step: str) -> None:
    made = await configured(api, name=f"Costly {step}", checks=["validation_request", "agent_verification"])
    form = Form(service, await invited(api, hostedConfigId=made["id"]))
    await form.open()
    texts = hostile_forms.texts(await form.page(f"/{step}" + "?country=USA" * (step == "nonprofit/other")))
    assert (
        await hostile_forms.above(service.app, dict(hostile_forms.posts(form.browser, f"{form.home}/{step}", texts)))
        == {}
    )


async def test_the_search_of_an_application(service: Service, api: Client) -> None:
    form = Form(service, await invited(api))
    await form.open()
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in form.browser.cookies.items())}
    path = f"{form.home}/nonprofit/results"
    asked = {
        shape: Request("GET", path, urlencode({"q": make(4000)}, errors="replace").encode()[:16_000], b"", cookie)
        for shape, make in SHAPES.items()
    }
    assert await hostile_forms.above(service.app, asked, SEARCH_SECONDS) == {}


async def test_all_questions_answered_at_their_longest(service: Service, api: Client) -> None:
    fields = [
        {"id": f"q{place}", "type": "long_text", "required": True, "labels": {"en": "Why?"}}
        for place in range(MAX_FIELDS)
    ]
    made = await configured(api, name="Costly", checks=["compliance"], partnerFields=fields)
    form = Form(service, await invited(api, hostedConfigId=made["id"]))
    await form.open()
    texts = hostile_forms.texts(await form.page("/questions"))
    assert len(texts) == MAX_FIELDS
    _, sent = next(hostile_forms.posts(form.browser, f"{form.home}/questions", texts))
    answers = dict.fromkeys(texts, "\U0001f600" * (MAX_ANSWER_LENGTHS["long_text"] + 1))
    body = urlencode({"csrf": form.browser.csrf, **answers}).encode()
    request = Request("POST", sent.path, b"", body, sent.headers)
    cost = await costs.least_cost(service.app, request, enough=PAGE_SECONDS)
    assert (cost.status, cost.seconds <= PAGE_SECONDS) == (422, True), cost
    assert await costs.peak_bytes(service.app, request) - len(body) <= costs.MOST_BYTES


async def test_a_question_at_its_longest(service: Service, tenant: Tenant, api: Client) -> None:
    member, made = await desk(service, tenant, "reviewer"), await configured(api, name="Long", checks=["compliance"])
    page = f"{member.home}/application-forms/{made['id']}/questions/new"
    await member.get(page)
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in member.cookies.items())}
    headers = {**cookie, "sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
    tags = [f"{first}{second}" for first in "abcde" for second in "abcdefghij"]
    for lines in ("a\n", "質\n"):
        share = (LONG_FORM_LIMITS.max_bytes - 10_000) // len(urlencode({"": lines})) // 51
        fields = {"csrf": member.csrf, "id": "q", "type": "choice", "tag": tags, "values": lines * share}
        typed = {f"answers-{tag}": lines * share for tag in tags}
        body = urlencode({**fields, **typed}, doseq=True).encode()
        cost = await costs.least_cost(service.app, Request("POST", page, b"", body, headers), enough=PAGE_SECONDS)
        assert (cost.status, cost.seconds <= PAGE_SECONDS) == (422, True), cost
    await member.close()


async def test_the_page_of_an_application(service: Service, api: Client) -> None:
    form = Form(service, await invited(api))
    await form.open()
    await form.fill(**PERSON)
    home = await form.send()
    await form.browser.open(home)
    sent: dict[str, Request] = {}
    for part, texts in (("appeal", ["text"]), ("email", ["email"]), ("number", ["registry", "number"])):
        for name, request in hostile_forms.posts(form.browser, f"{home}/{part}", texts):
            sent[f"{part}, {name}"] = request
    assert await hostile_forms.above(service.app, sent) == {}


async def test_the_forms_of_who_signs_in(service: Service) -> None:
    await people.person(service, OPERATORS, "costly@example.org", "administrator")
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    page = await browser.open("/operator/sign-in")
    sent = dict(hostile_forms.posts(browser, "/operator/sign-in", hostile_forms.texts(page.text)))
    assert await hostile_forms.above(service.app, sent) == {}
    await browser.close()


@pytest.mark.parametrize("path", ["/v1/organisations", "/give", "/operator/sign-in", "/docs/", "/healthz"])
async def test_no_header_costs_much(service: Service, tenant: Tenant, path: str) -> None:
    sent = {}
    for header in HEADERS:
        for shape, make in SHAPES.items():
            text = make(LONGEST_HEADER).encode().decode("latin-1").replace("\n", " ")[:LONGEST_HEADER]
            given = {"authorization": f"Bearer {tenant.secret}", header: text}
            sent[f"{header}, {shape}"] = Request("GET", path, b"query=relief&token=" + b"a" * 4000, b"", given)
    for name, escape in (("quotes", '\\"'), ("octal", "\\101")):
        cookie = f'a="{escape * (30_000 // len(escape))}"'
        sent[f"cookie, escaped {name}"] = Request("GET", path, b"", b"", {"cookie": cookie})
    assert await hostile_forms.above(service.app, sent) == {}


async def test_no_callback_or_report_costs_much(service: Service) -> None:
    sent = {}
    for path in ("/callbacks/test", "/callbacks/stripe", "/pages/csp-reports"):
        for name, body in {
            "lists": "[" * hostile_forms.LONGEST_FORM,
            "objects": '{"a":' * (hostile_forms.LONGEST_FORM // 5),
            "digits": '{"created":' + "9" * (hostile_forms.LONGEST_FORM - 12) + "}",
            "empty": "[" + "{}," * (hostile_forms.LONGEST_FORM // 3) + "{}]",
        }.items():
            headers = {"content-type": "application/json", "stripe-signature": "t=1" + ",v1=aa" * 1300}
            sent[f"{path}, {name}"] = Request("POST", path, b"", body.encode()[:16_000], headers)
            sent[f"{path}, longer, {name}"] = Request("POST", path, b"", body.encode(), headers)
    assert await hostile_forms.above(service.app, sent) == {}


async def test_no_scim_call_costs_much(service: Service, tenant: Tenant, api: Client) -> None:
    key = await service.key(tenant.partner, "scim")
    headers = {"authorization": f"Bearer {key}", "content-type": "application/scim+json"}
    sent = {}
    for shape, make in SHAPES.items():
        for name in ("filter", "attributes", "sortBy", "cursor", "startIndex", "count"):
            query = urlencode({name: make(4000)}, errors="replace").encode()[:16_000]
            sent[f"{name}, {shape}"] = Request("GET", f"{PREFIX}/Users", query, b"", headers)
        body = {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [{"op": "replace", "path": make(1000), "value": make(1000)} for _ in range(5)],
        }
        raw = json.dumps(body).encode(errors="replace")
        sent[f"patch, {shape}"] = Request("PATCH", f"{PREFIX}/Users/x", b"", raw, headers)
        user = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": make(2000), "title": make(2000)}
        raw = json.dumps(user).encode(errors="replace")
        sent[f"user, {shape}"] = Request("POST", f"{PREFIX}/Users", b"", raw, headers)
    await costs.least_cost(service.app, sent["filter, brackets"])  # the protocol is loaded by its first call
    assert await hostile_forms.above(service.app, sent) == {}
    assert data(await api.get("/v1/categories")) == []
