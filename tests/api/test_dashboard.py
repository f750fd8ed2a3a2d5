"""The partner's dashboard: what each role sees and does there, on the same records as by the API."""

import re
from datetime import date
from typing import Any

import pytest
from starlette.routing import Route

from almoner.access.partners import service as partners
from almoner.access.people.domain import MEMBER_ROLES, MemberRole
from almoner.dashboard.record_lists import LISTS
from almoner.giving.accounting.monthly_reports import service as reports
from almoner.giving.accounting.monthly_reports.domain import LAYOUTS
from tests.support import agents, factories, submissions, validation
from tests.support.client import Client, data
from tests.support.members import desk
from tests.support.regular_gifts import begin_plan
from tests.support.service import Service, Tenant

EVERYBODY = frozenset(MEMBER_ROLES)
DEVELOPERS = frozenset[MemberRole]({"owner", "developer"})
FINANCE = frozenset[MemberRole]({"owner", "finance"})
REVIEWERS = frozenset[MemberRole]({"owner", "reviewer"})
EVENTS = frozenset[MemberRole]({"owner", "developer", "support"})
_AREAS = {"Donations": FINANCE, "Nonprofits": FINANCE | REVIEWERS, "Validations": REVIEWERS, "Developers": DEVELOPERS}
WHO_MAY: dict[str, frozenset[MemberRole]] = {
    "/home": EVERYBODY,
    "/search": EVERYBODY,
    "/search/hits?q=donor": EVERYBODY,
    "/views": EVERYBODY,
    "/exports": FINANCE | REVIEWERS | DEVELOPERS,
    "/preferences": EVERYBODY,
    "/gallery": DEVELOPERS,
    **{one.path: EVERYBODY for one in LISTS},
    "/events": EVENTS,
    "/request-log": DEVELOPERS,
    "/request-log/{request}": DEVELOPERS,
    **{f"{one.path}.csv": _AREAS[one.area] for one in LISTS},
    **{
        f"{path}/dossier.{format_}": EVERYBODY
        for path in (
            "/validation-requests/{case}",
            "/agent-verifications/{agent}",
            "/monitoring-subscriptions/{monitoring}",
            "/eligibility-subscriptions/{eligibility}",
        )
        for format_ in ("json", "pdf")
    },
    "/donation-sessions/new": FINANCE,
    "/validation-invites/new": REVIEWERS,
    "/validation-requests/new": REVIEWERS,
    "/application-forms/new": REVIEWERS,
    "/application-forms/{form}/edit": REVIEWERS,
    "/application-forms/{form}/preview": REVIEWERS,
    "/application-forms/{form}/logo": REVIEWERS,
    **{f"/application-forms/{{form}}/questions{page}": REVIEWERS for page in ("", "/new", "/preview")},
    **{f"/application-forms/{{form}}/questions/{act}?question=use": REVIEWERS for act in ("edit", "remove")},
    "/agent-verifications/new": REVIEWERS,
    "/monitoring-subscriptions/new": REVIEWERS,
    "/eligibility-subscriptions/new": REVIEWERS,
    "/donations/{donation}": EVERYBODY,
    "/giving-links/new": FINANCE,
    "/giving-links/{link}": EVERYBODY,
    **{f"/giving-links/{{link}}/{action}": FINANCE for action in ("edit", "deactivate", "activate", "image")},
    "/regular-donations/{plan}": EVERYBODY,
    **{f"/regular-donations/{{plan}}/{action}": FINANCE for action in ("change", "pause", "resume", "skip", "cancel")},
    "/donations/{donation}/refund": FINANCE | {"support"},
    "/donations/{donation}/reassign": FINANCE,
    "/validation-submissions/{submission}": EVERYBODY,
    "/validation-submissions/{submission}/appeals": REVIEWERS,
    "/reports": FINANCE,
    "/reports/2025-12": FINANCE,
    "/reports/2025-12/close": FINANCE,
    **{f"/reports/2025-12/{name}.{kind}": FINANCE for name in LAYOUTS for kind in ("csv", "pdf")},
    "/support-refunds": frozenset[MemberRole]({"owner"}),
    "/donations/{donation}/cancel": FINANCE,
    "/donations/{donation}/receipt": FINANCE | {"support"},
    "/events/{event}": EVENTS,
    "/events/{event}/resend": DEVELOPERS,
    "/monitoring-subscriptions/{monitoring}/cancel": REVIEWERS,
    "/eligibility-subscriptions/{eligibility}/cancel": REVIEWERS,
    "/disbursements/{disbursement}": EVERYBODY,
    "/disbursements/{disbursement}/donations.csv": FINANCE,
    "/brand": frozenset[MemberRole]({"owner"}),
    "/brand/preview": frozenset[MemberRole]({"owner"}),
    "/limits": DEVELOPERS,
    "/webhooks": DEVELOPERS,
    "/webhooks/new": DEVELOPERS,
    "/webhooks/{hook}": DEVELOPERS,
    "/webhooks/{hook}/replay": DEVELOPERS,
    "/webhooks/{hook}/rotate-secret": DEVELOPERS,
    "/webhooks/{hook}/delete": DEVELOPERS,
}
LINK = re.compile(r'href="/account/[a-z_0-9]+(/[^"]+)"')
OF_ONE_PERSON = ("/views/{view}", "/views/{view}/delete", "/exports/{export}")


@pytest.fixture
async def records(service: Service, tenant: Tenant, api: Client) -> dict[str, str]:
    """Something of everything that has a page of its own, by the name in ``WHO_MAY``."""
    async with service.db.write() as tx:
        await reports.request_report(tx, tenant.partner, date(2025, 12, 1))
    given = await factories.donation(service, api)
    hook = await factories.subscription(api)
    await service.drain()
    answer = await api.get("/v1/events")
    event = data(answer)[0]
    await service.services.api_requests.flush()
    about = {"organisationId": given["organisationId"]}
    monitoring = data(await api.post("/v1/monitoring-subscriptions", about))
    eligibility = data(await api.post("/v1/eligibility-subscriptions", about))
    disbursement = await factories.disbursement(service, api)
    made = {
        "disbursement": disbursement,
        "donation": given,
        "hook": hook,
        "submission": await submissions.of_organisation(service, api),
        "request": {"id": answer.headers["request-id"]},
        "event": event,
        "monitoring": monitoring,
        "eligibility": eligibility,
        "link": await factories.giving_link(service, api),
        "form": {"id": await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)},
        "case": await validation.requested(api),
        "agent": await agents.create(service, api),
        "plan": {"id": (await begin_plan(service, api)).id},
    }
    return {name: record["id"] for name, record in made.items()}


def dashboard_routes(service: Service) -> list[Route]:
    """The pages of the dashboard."""
    routes = [route for route in service.services.pages if isinstance(route, Route)]
    return [route for route in routes if getattr(route.endpoint, "__module__", "").startswith("almoner.dashboard.")]


def pattern_of(path: str) -> str:
    """The path of the route that answers it."""
    return f"/account/{{partner}}{re.sub('{[a-z]+}|2025-12|[a-z]+_[0-9a-z]{26,}', '{id}', path.partition('?')[0])}"


def test_every_page_has_its_row_in_the_table(service: Service) -> None:
    named = {pattern_of(path) for path in (*WHO_MAY, *OF_ONE_PERSON)}
    own = {route.path for route in dashboard_routes(service)}
    records = {f"/account/{{partner}}{one.path}/{{id}}" for one in LISTS}  # they open as their lists do
    assert named <= own <= named | records


@pytest.mark.parametrize("role", [*MEMBER_ROLES, None])
async def test_each_page_opens_for_its_roles_alone(
    role: MemberRole | None, service: Service, tenant: Tenant, records: dict[str, str]
) -> None:
    browser, linked = await desk(service, tenant, *([role] if role else [])), set[tuple[str, str]]()
    for path, roles in WHO_MAY.items():
        answer = await browser.get(browser.home + path.format(**records))
        assert answer.status_code == (200 if role in roles else 403), (path, browser.text())
        linked |= {(path, one) for one in LINK.findall(answer.text.partition("<main")[2]) if role in roles}
    closed = {pattern_of(path) for path, roles in WHO_MAY.items() if role not in roles}
    assert not [(path, one) for path, one in linked if pattern_of(one) in closed]
    await browser.close()


@pytest.mark.parametrize("role", [*MEMBER_ROLES, None])
async def test_no_form_is_taken_from_other_roles_or_without_its_token(
    role: MemberRole | None, service: Service, tenant: Tenant, records: dict[str, str]
) -> None:
    browser = await desk(service, tenant, *([role] if role else []))
    await browser.get(browser.home)
    token, tried = browser.csrf, 0
    forms = {route.path for route in dashboard_routes(service) if "POST" in (route.methods or ())}
    for path, roles in WHO_MAY.items():
        if pattern_of(path) not in forms:
            continue
        page, tried = browser.home + path.format(**records), tried + 1
        if role not in roles:
            assert (await browser.post(page, csrf=token)).status_code == 403, path
        for given, site in (("wrong", "same-origin"), ("", "same-origin"), (token, "cross-site")):
            assert (await browser.post(page, csrf=given, site=site)).status_code == 403, path
    assert tried == len(forms - {pattern_of(path) for path in OF_ONE_PERSON})
    await browser.close()


async def test_no_role_sees_what_another_partner_has(service: Service, records: dict[str, str]) -> None:
    owner = await desk(service, await service.tenant(), "owner")
    for path in WHO_MAY:
        if "{" in path:
            assert (await owner.get(owner.home + path.format(**records))).status_code == 404, path
    await owner.get(f"{owner.home}/donations")
    assert records["donation"] not in owner.text()
    await owner.close()


@pytest.mark.parametrize("role", MEMBER_ROLES)
async def test_donors_are_masked_in_lists_pages_payloads_and_search(
    role: MemberRole, service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.donation(service, api, email="nia.masked@example.org", firstName="Niamh")
    await service.drain()
    event = data(await api.get("/v1/events"))[0]
    browser, named = await desk(service, tenant, role), role in ("owner", "finance", "support")
    for path in (f"/donations/{gift['id']}", "/donations", f"/events/{event['id']}"):
        answer = await browser.get(browser.home + path)
        if answer.status_code == 200:
            assert ("nia.masked@example.org" in answer.text) is named, path
    found = await browser.get(f"{browser.home}/search?q=nia.masked%40example.org")
    assert (gift["id"] in found.text) is named
    narrowed = await browser.get(f"{browser.home}/donations?email=nia.masked%40example.org")
    assert (narrowed.status_code == 200 and gift["id"] in narrowed.text) is named
    await browser.close()


async def test_it_is_kept_who_looked_at_which_donors_data(service: Service, tenant: Tenant, api: Client) -> None:
    gift = await factories.donation(service, api)
    support, reader = await desk(service, tenant, "support"), await desk(service, tenant, "read_only")
    await support.get(f"{support.home}/donations/{gift['id']}")
    await reader.get(f"{reader.home}/donations/{gift['id']}")
    owner = await desk(service, tenant, "owner")
    await owner.get(f"{owner.home}/donations/{gift['id']}")
    assert support.person is not None
    assert reader.person is not None
    shown = owner.text().partition("Who viewed the donor’s data")[2]
    assert support.person.display_name in shown
    assert reader.person.display_name not in shown
    for browser in (support, reader, owner):
        await browser.close()


async def test_it_is_kept_who_read_donors_data_in_an_event(service: Service, tenant: Tenant, api: Client) -> None:
    gift = await factories.donation(service, api)
    await service.drain()
    event = next(one for one in data(await api.get("/v1/events")) if one["eventData"]["id"] == gift["id"])
    support, developer = await desk(service, tenant, "support"), await desk(service, tenant, "developer")
    for browser in (support, developer):
        assert (await browser.get(f"{browser.home}/events/{event['id']}")).status_code == 200
    owner = await desk(service, tenant, "owner")
    await owner.get(f"{owner.home}/donations/{gift['id']}")
    shown = owner.text().partition("Who viewed the donor’s data")[2]
    assert support.person is not None
    assert developer.person is not None
    assert support.person.display_name in shown
    assert developer.person.display_name not in shown
    for browser in (support, developer, owner):
        await browser.close()


async def test_filters_are_chips_that_are_taken_off_one_by_one(service: Service, tenant: Tenant, api: Client) -> None:
    paid = await factories.donation(service, api, email="one@example.org")
    other = await factories.donation(service, api, email="two@example.org")
    finance = await desk(service, tenant, "finance")
    both = f"{finance.home}/donations?status=RECEIVED_PAYMENT&email=one%40example.org&utm_source=mail"
    answer = await finance.get(both)
    assert paid["id"] in answer.text
    assert other["id"] not in answer.text
    assert f'href="{finance.home}/donations?email=one%40example.org"' in answer.text
    wrong = await finance.get(f"{finance.home}/donations?startDate=yesterday")
    assert wrong.status_code == 422
    assert "From must" in finance.text()
    nothing = await finance.get(f"{finance.home}/donations?status=DISBURSED")
    assert "No results match your filters." in nothing.text
    await finance.close()


async def test_a_file_holds_exactly_what_the_list_shows(service: Service, tenant: Tenant, api: Client) -> None:
    await factories.donation(service, api, email="kept@example.org", firstName="=HYPERLINK(1)")
    await factories.donation(service, api, email="left@example.org")
    finance = await desk(service, tenant, "finance")
    answer = await finance.get(f"{finance.home}/donations.csv?email=kept%40example.org")
    head, *lines = answer.text.splitlines()
    assert head == "\ufeffamount,currencyCode,status,firstName,lastName,email,organisationId,createdAt,id"
    assert len(lines) == 1
    assert ",'=HYPERLINK(1)," in lines[0]
    assert answer.headers["content-disposition"].startswith('attachment; filename="donations-')
    await finance.close()


async def test_a_part_is_refunded_once_however_often_the_form_is_sent(
    service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.donation(service, api)
    finance = await desk(service, tenant, "finance")
    page = f"{finance.home}/donations/{gift['id']}/refund"
    form = {"amount": "1.00", "form_key": "the-same-form"}
    await finance.get(page)
    assert (await finance.post(page, form)).headers["location"].endswith("?done=refunded")
    await finance.get(page)
    assert (await finance.post(page, form)).headers["location"].endswith("?done=refunded")
    await service.drain()
    assert data(await api.get(f"/v1/donations/{gift['id']}"))["refundedAmount"] == 100
    await finance.get(page)
    for amount, problem in (("1.000.000,0", "Enter an amount"), ("99999", 'refunded: <bdi lang="en">Amount must be')):
        refused = await finance.post(page, amount=amount, form_key=amount)
        assert (refused.status_code, problem in refused.text) == (422, True)
    await finance.wait()
    await finance.get(f"{finance.home}/donations/{gift['id']}")
    assert "/prove" in (await finance.get(page)).headers["location"]
    await finance.close()


async def test_what_a_member_does_is_in_the_audit_log_by_name(service: Service, tenant: Tenant, api: Client) -> None:
    gift = await factories.direct(service, api)
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/donations/{gift['id']}/cancel"
    await owner.get(page)
    await owner.post(page)
    assert data(await api.get(f"/v1/donations/{gift['id']}"))["status"] == "CANCELLED"
    await owner.get(f"{owner.home}/audit")
    assert owner.person is not None
    assert f"{owner.person.display_name}: Donation cancelled" in owner.text()
    await owner.close()


async def test_a_developer_finds_why_a_webhook_failed_and_replays(
    service: Service, tenant: Tenant, api: Client
) -> None:
    developer = await desk(service, tenant, "developer")
    await developer.get(f"{developer.home}/webhooks/new")
    form: dict[str, Any] = {"url": "http://127.0.0.1:9/hooks", "event": "validation_invite.expired"}
    made = await developer.post(f"{developer.home}/webhooks/new", form)
    assert "whsec_" in made.text
    hook = data(await api.get("/v1/webhook-subscriptions"))[0]
    page = f"{developer.home}/webhooks/{hook['id']}"
    shown = await developer.get(page)
    assert "whsec_" not in shown.text
    assert (await developer.post(page, do="test")).status_code == 303
    invite = data(await api.post("/v1/validation-invites", {}))
    await api.post("/v1/sandbox/simulate", {"id": invite["id"], "action": "expire"})
    await service.drain()
    await developer.get(page)
    assert "Attempt 1" in developer.text()
    await developer.get(f"{page}/replay")
    await developer.post(f"{page}/replay", failed_only="yes")
    assert "There are no events to send" in developer.text(), "the event is being retried"
    await developer.post(f"{page}/replay", start=f"{service.db.deployment.clock.now():%Y-%m-%d}")
    assert "1 event again" in developer.text()
    await developer.get(f"{page}/delete")
    assert (await developer.post(f"{page}/delete")).headers["location"].endswith("?done=deleted")
    refused = await developer.get(page)
    assert refused.status_code == 404
    await developer.get(f"{developer.home}/webhooks/new")
    wrong = await developer.post(f"{developer.home}/webhooks/new", url="nothing", event="organisation.updated")
    assert wrong.status_code == 422
    assert 'value="donation_session.completed"' in wrong.text
    assert 'value="donation.created"' not in wrong.text, "who may not know donors is not offered what names them"
    assert "An owner can add an endpoint for these events" in developer.text()
    named = await developer.post(f"{developer.home}/webhooks/new", url="http://127.0.0.1:9/x", event="donation.created")
    assert named.status_code == 422, "who may not know donors makes no endpoint that is told of them"
    assert "donation.created name donors" in developer.text()
    assert 'href="#events"' in named.text
    await developer.close()


async def test_an_identifier_leads_straight_to_its_record(
    service: Service, tenant: Tenant, records: dict[str, str]
) -> None:
    owner = await desk(service, tenant, "owner")
    answer = await owner.get(f"{owner.home}/search?q={records['donation']}")
    assert answer.headers["location"] == f"{owner.home}/donations/{records['donation']}"
    await owner.get(f"{owner.home}/search?q=nothing+of+this+name")
    assert "No results for" in owner.text()
    await owner.close()


async def test_a_reviewer_invites_a_nonprofit_once_for_each_form(service: Service, tenant: Tenant, api: Client) -> None:
    reviewer = await desk(service, tenant, "reviewer")
    page = f"{reviewer.home}/validation-invites/new"
    await reviewer.get(page)
    made = await reviewer.post(page, language="de", hostedConfigId="", redirectUrl="", form_key="the-same-form")
    await reviewer.get(page)
    again = await reviewer.post(page, language="de", hostedConfigId="", redirectUrl="", form_key="the-same-form")
    assert made.headers["location"] == again.headers["location"]
    [invite] = data(await api.get("/v1/validation-invites"))
    shown = await reviewer.get(made.headers["location"])
    assert invite["language"] == "de"
    assert "The invite has been created." in shown.text
    assert "lädt Ihre gemeinnützige Organisation zu einem Antrag ein." in reviewer.text()
    assert f"{invite['url']}" in reviewer.text()
    assert '<blockquote lang="de" dir="ltr">' in shown.text
    await reviewer.close()


async def test_a_refused_form_says_why_under_its_fields_and_keeps_what_was_typed(
    service: Service, tenant: Tenant
) -> None:
    reviewer = await desk(service, tenant, "reviewer")
    page = f"{reviewer.home}/agent-verifications/new"
    await reviewer.get(page)
    refused = await reviewer.post(page, firstName="Nia", email="nobody", organisationId="nothing")
    assert refused.status_code == 422
    shown = reviewer.text()
    assert ("Last name is required" in shown, "Email must" in shown) == (True, True), shown[:900]
    assert 'value="Nia"' in refused.text
    await reviewer.close()


async def test_an_event_is_sent_again(service: Service, tenant: Tenant, api: Client, records: dict[str, str]) -> None:
    developer = await desk(service, tenant, "developer")
    page = f"{developer.home}/events/{records['event']}/resend"
    await developer.get(page)
    answer = await developer.post(page, form_key="once")
    assert answer.headers["location"].endswith("?done=resend")
    sent = data(await api.get(f"/v1/webhook-subscriptions/{records['hook']}/deliveries"))
    assert [one["eventId"] for one in sent if one["reason"] == "resend"] == [records["event"]]
    await developer.close()


async def test_finance_reconciles_a_disbursement_to_its_donations(
    service: Service, tenant: Tenant, api: Client
) -> None:
    disbursement = await factories.disbursement(service, api)
    finance = await desk(service, tenant, "finance")
    shown = await finance.get(f"{finance.home}/disbursements/{disbursement['id']}")
    assert "Donations in this disbursement" in shown.text
    assert f"${disbursement['amount'] / 100:.2f} API response" in finance.text()
    file = await finance.get(f"{finance.home}/disbursements/{disbursement['id']}/donations.csv")
    head, *lines = file.text.splitlines()
    assert head == "id,createdAt,amount,currencyCode,paidAmount"
    assert sum(int(line.rpartition(",")[2]) for line in lines) == disbursement["amount"]
    await finance.close()


async def test_an_owner_sets_colour_and_links_with_all_problems_at_once(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/brand"
    await owner.get(page)
    wrong = await owner.post(page, colour="greenish", website="http://insecure.example", contact="nobody")
    assert wrong.status_code == 422
    assert "There are 3 problems" in owner.text()
    saved = await owner.post(page, colour="#0d5c4a", privacy="https://partner.example/privacy", contact="")
    assert saved.headers["location"].endswith("?done=saved")
    async with service.db.read() as tx:
        account = await partners.get(tx, tenant.partner)
    assert (account.brand_colour, account.public_links.privacy) == ("#0d5c4a", "https://partner.example/privacy")
    assert "#0d5c4a" in (await owner.get(f"{page}/preview")).text
    await owner.get(page)
    typed = await owner.post(f"{page}/preview", colour="#7a1f5c")
    assert ("#7a1f5c" in typed.text, "#0d5c4a" in typed.text) == (True, False)
    await owner.get(page)
    assert (await owner.post(f"{page}/preview", colour="greenish")).status_code == 200
    await owner.get(page)
    await owner.post(page, colour="", privacy="")
    async with service.db.read() as tx:
        account = await partners.get(tx, tenant.partner)
    assert (account.brand_colour, account.public_links.privacy) == (None, None)
    await owner.close()


async def test_an_owner_who_saves_the_branding_undoes_nothing_of_another(service: Service, tenant: Tenant) -> None:
    first, second = await desk(service, tenant, "owner"), await desk(service, tenant, "owner")
    page = f"{first.home}/brand"
    shown = re.findall(r'name="(stored\.\w+)" value="([^"]*)"', (await first.get(page)).text)
    assert len(shown) == 5
    await second.get(page)
    await second.post(page, colour="#0d5c4a")
    form = {**dict(shown), **{name.removeprefix("stored."): value for name, value in shown}}
    refused = await first.post(page, **{**form, "privacy": "no address"})
    assert refused.status_code == 422
    assert re.search(r'name="colour"[^>]*value="#0d5c4a"', refused.text), "what nobody touched is shown as it is now"
    answer = await first.post(page, **{**form, "privacy": "https://partner.example/privacy"})
    assert answer.status_code == 303
    async with service.db.read() as tx:
        account = await partners.get(tx, tenant.partner)
    assert (account.brand_colour, account.public_links.privacy) == ("#0d5c4a", "https://partner.example/privacy")
    await first.close()
    await second.close()


async def test_home_counts_donations_and_says_what_is_left_before_going_live(
    service: Service, tenant: Tenant, api: Client
) -> None:
    owner = await desk(service, tenant, "owner")
    await factories.donation(service, api)
    await owner.get(f"{owner.home}/home")
    shown = owner.text()
    assert "Donations received: 1 in the last 30 days, 0 in the previous 30 days" in shown
    assert "Receive a donation Done" in shown
    assert "Add a second owner To do" in shown
    reader = await desk(service, tenant, "read_only")
    await reader.get(f"{reader.home}/home")
    assert "Before you go live" not in reader.text()
    await owner.close()
    await reader.close()


async def test_support_sends_a_receipt_again_but_not_while_it_is_on_its_way(
    service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.donation(service, api, email="again@example.org")
    await service.drain()
    support = await desk(service, tenant, "support")
    page = f"{support.home}/donations/{gift['id']}/receipt"
    await support.get(page)
    for _ in range(2):
        assert (await support.post(page)).headers["location"].endswith("?done=receipt")
        await support.get(page)
        await support.get(f"{support.home}/donations/{gift['id']}")
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to="again@example.org"))
    assert len([mail for mail in mails if "receipt" in mail["subject"].lower()]) == 2
    await support.close()
