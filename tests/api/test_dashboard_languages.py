"""The dashboard in the language and the time zone of whoever reads it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from babel import Locale

from almoner.access.people import service as people_service
from almoner.giving.accounting.monthly_reports.domain import LAYOUTS
from almoner.kit.time import parse_timestamp
from almoner.platform.pages import formats
from tests.api.test_dashboard import WHO_MAY
from tests.support import factories, pseudo, submissions
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.members import Desk, desk, member
from tests.support.regular_gifts import begin_plan
from tests.support.service import Service, Tenant, serving

FILES = (".csv", ".json", ".pdf")
MONTHS = frozenset(Locale("en").months["stand-alone"]["wide"].values())
FORMS: dict[str, dict[str, str]] = {
    "/application-forms/new": {"name": "", "branding.primaryColor": "greenish"},
    "/application-forms/{form}/edit": {"branding.primaryColor": "greenish"},
    "/application-forms/{form}/questions/new": {"tag": "en", "answers-en": "One", "language": "?"},
    "/application-forms/{form}/questions/edit?question=use": {"tag": "en", "answers-en": "One"},
    "/application-forms/{form}/questions/edit?question=use&stale": {"tag": "en", "label-en": "One", "version": "0"},
    "/application-forms/{form}/questions/remove?question=use": {"version": "0"},
    "/donations/{donation}/refund": {"amount": "nothing"},
    "/donations/{donation}/reassign": {"organisationId": "nothing"},
    "/support-refunds": {"EUR": "nothing"},
    "/agent-verifications/new": {"email": "nobody"},
    "/preferences": {"zone": "Mars", "language": "tlh"},
    "/brand": {"colour": "greenish"},
    "/webhooks/new": {"url": "nothing"},
    "/validation-submissions/{submission}/appeals": {"text": ""},
    "/webhooks/{hook}/replay": {"failed_only": "yes"},
    "/webhooks/{hook}/rotate-secret": {},
}


async def one_of_everything(service: Service, api: Client) -> dict[str, str]:
    """Something of everything that has a page of its own, by the name in ``WHO_MAY``."""
    given = await factories.donation(service, api)
    hook = await factories.subscription(api, url="http://127.0.0.1:9/hooks")
    await service.drain()
    about = {"organisationId": given["organisationId"]}
    await api.post(f"/v1/webhook-subscriptions/{hook['id']}/test")
    made: dict[str, Any] = {
        "donation": given,
        "hook": hook,
        "submission": await submissions.of_organisation(service, api),
        "monitoring": data(await api.post("/v1/monitoring-subscriptions", about)),
        "eligibility": data(await api.post("/v1/eligibility-subscriptions", about)),
        "disbursement": await factories.disbursement(service, api),
        "link": await factories.giving_link(service, api),
        "form": {"id": await submissions.configured(api, "compliance", partnerFields=submissions.QUESTIONS)},
        "plan": await (await begin_plan(service, api)).record(),
    }
    await service.drain()
    answer = await api.get("/v1/events")
    await service.services.api_requests.flush()
    made |= {"event": data(answer)[0], "request": {"id": answer.headers["request-id"]}}
    return {name: record["id"] for name, record in made.items()}


@pytest.fixture
async def made_up(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Service]:
    """The service in a made-up language."""
    async with serving(empty_database, catalogues=pseudo.catalogues(tmp_path)) as service:
        yield service


async def test_no_word_of_the_dashboard_is_outside_the_catalogues(made_up: Service) -> None:
    tenant, reader = (
        await made_up.tenant(),
        pseudo.Reader(data=MONTHS | {"English", "United", "States", "KWD", "P"}),
    )  # from CLDR, and a monogram
    api = made_up.client(tenant.secret)
    records = await one_of_everything(made_up, api)
    owner = await desk(made_up, tenant, "owner")
    listed = [path for path in WHO_MAY if "{" not in path and not path.endswith(FILES)]
    for path in (*listed, *(path for path in WHO_MAY if "{" in path and not path.endswith(FILES))):
        answer = await owner.get(owner.home + path.format(**records))
        assert answer.status_code == 200, path
        reader.page(answer.text)
    for path, form in FORMS.items():
        await owner.get(owner.home + path.format(**records))
        reader.page((await owner.post(owner.home + path.format(**records), form)).text)
    month = f"/reports/{made_up.clock.now():%Y-%m}"
    await owner.get(owner.home + month)
    await owner.post(owner.home + month)
    reader.page((await owner.get(owner.home + month)).text)
    await made_up.drain()
    for name in LAYOUTS:
        reader.page((await owner.get(f"{owner.home}{month}?report={name}")).text)
    for path in ("/donations?status=CANCELLED&email=a%40b.org", "/donations?startDate=never", "/search?q=nothing"):
        reader.page((await owner.get(owner.home + path)).text)
    support = await desk(made_up, tenant, "reviewer")
    for path in ("/donations", "/brand", "/nothing"):
        reader.page((await support.get(support.home + path)).text)
    for browser in (api, owner, support):
        await browser.close()


async def choose(service: Service, tenant: Tenant, **profile: str) -> Desk:
    """An owner whose directory says something of them."""
    owner = await member(service, tenant, "owner")
    async with service.db.write() as tx:
        locked = await people_service.get_for_update(tx, owner.realm, owner.id)
        changed = await people_service.update_profile(tx, locked, {**locked.profile, **profile})
    return await desk(service, tenant, person=changed)


async def test_the_language_is_the_persons_else_the_browsers(service: Service, tenant: Tenant) -> None:
    arabic = await choose(service, tenant, preferredLanguage="ar")
    page = await arabic.get(f"{arabic.home}/donations", **{"Accept-Language": "ja"})
    assert '<html lang="ar" dir="rtl">' in page.text
    assert "التبرعات" in page.text
    plain = await desk(service, tenant, "owner")
    page = await plain.get(f"{plain.home}/donations", **{"Accept-Language": "ja,en;q=0.5"})
    assert '<html lang="ja" dir="ltr">' in page.text
    assert "寄付" in page.text
    await arabic.close()
    await plain.close()


async def test_amounts_and_moments_are_written_for_their_reader(service: Service, tenant: Tenant) -> None:
    api = service.client(tenant.secret)
    gift = await factories.donation(service, api)
    berlin = await choose(service, tenant, preferredLanguage="de", timezone="Europe/Berlin")
    await berlin.get(f"{berlin.home}/donations")
    assert "25,00" in berlin.text()
    assert "Angelegt (Berlin)" in berlin.text()
    await berlin.get(f"{berlin.home}/donations/{gift['id']}")
    zone, now = ZoneInfo("Europe/Berlin"), service.clock.now()
    assert formats.format_timestamp(now, Locale("de"), zone) in berlin.text()
    assert formats.format_timestamp(now, Locale("de")) not in berlin.text()
    await berlin.get(f"{berlin.home}/home")
    assert "vor 1 Sekunde" in berlin.text()
    odd = await choose(service, tenant, timezone="Mars/Olympus", preferredLanguage="tlh")
    await odd.get(f"{odd.home}/donations")
    assert "Created (UTC)" in odd.text()
    for browser in (api, berlin, odd):
        await browser.close()


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
async def test_days_that_filter_a_list_are_those_that_it_shows(service: Service, tenant: Tenant, zone: str) -> None:
    api = service.client(tenant.secret)
    gift = await factories.donation(service, api)
    far = await choose(service, tenant, timezone=zone)
    day = parse_timestamp(gift["createdAt"]).astimezone(ZoneInfo(zone)).date()
    for first, days, found in ((day, 1, True), (day - timedelta(1), 1, False), (day + timedelta(1), 1, False)):
        shown = await far.get(f"{far.home}/donations?startDate={first}&endDate={first + timedelta(days)}")
        assert (gift["id"] in shown.text) is found, first
    for browser in (api, far):
        await browser.close()


async def test_a_person_chooses_language_and_time_zone_and_the_next_page_has_them(
    service: Service, tenant: Tenant
) -> None:
    reader = await desk(service, tenant, "read_only")
    page = f"{reader.home}/preferences"
    await reader.get(page)
    wrong = await reader.post(page, language="tlh", zone="Mars/Olympus")
    assert wrong.status_code == 422
    assert "There are 2 problems" in reader.text()
    assert (await reader.post(page, language="fr", zone="Asia/Tokyo")).headers["location"].endswith("?done=saved")
    shown = await reader.get(page)
    assert '<html lang="fr" dir="ltr">' in shown.text
    assert 'value="Asia/Tokyo"' in shown.text
    await reader.post(page, language="", zone="")
    shown = await reader.get(page)
    assert '<html lang="en" dir="ltr">' in shown.text
    await reader.close()
