"""Saved views: filters of a list by name, each person's own."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest

from almoner.dashboard import store_views
from almoner.dashboard.domain import SavedView
from almoner.dashboard.record_lists import LISTS
from almoner.dashboard.view_pages import MOST_VIEWS
from tests.support.console import entries
from tests.support.members import Desk, desk
from tests.support.service import Service, Tenant

FILTERS = "status=CANCELLED&startDate=2026-01-01"


@pytest.fixture
async def finance(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """Somebody of finance at a browser."""
    made = await desk(service, tenant, "finance")
    yield made
    await made.close()


async def save(browser: Desk, name: str, query: str = FILTERS, path: str = "/donations") -> int:
    """Save a view as the form of the list does; the status of the answer."""
    await browser.get(f"{browser.home}{path}?{query}")
    filters = {f"filter_{parameter}": value for parameter, value in parse_qsl(query, keep_blank_values=True)}
    return (await browser.post(f"{browser.home}/views", filters, list=path, name=name)).status_code


async def view_paths(browser: Desk) -> list[str]:
    """The addresses of the views that can be renamed, in their order."""
    answer = await browser.get(f"{browser.home}/views")
    parts = answer.text.split(f'href="{browser.home}/views/')[1:]
    return [f"{browser.home}/views/{part.partition(chr(34))[0]}" for part in parts if "/delete" not in part[:60]]


async def test_filters_are_saved_renamed_and_deleted_by_name(finance: Desk) -> None:
    assert await save(finance, "Cancelled this year", f"{FILTERS}&utm_source=mail") == 303
    shown = await finance.get(f"{finance.home}/donations")
    address = f"{finance.home}/donations?{FILTERS.replace('&', '&amp;')}"
    assert f'href="{address}"' in shown.text, "without what is no filter"
    opened = await finance.get(f"{finance.home}/donations?{FILTERS}")
    assert f'hx-get="{address}" aria-current="page"' in opened.text
    [path] = await view_paths(finance)
    await finance.get(path)
    assert (await finance.post(path, name="Ended")).status_code == 303
    await finance.get(f"{finance.home}/donations")
    assert "Ended" in finance.text()
    assert "Cancelled this year" not in finance.text()
    await finance.get(f"{path}/delete")
    assert (await finance.post(f"{path}/delete")).headers["location"].endswith("?done=deleted")
    assert await view_paths(finance) == []


@pytest.mark.parametrize(
    ("name", "query", "problem"),
    [
        ("", FILTERS, "Enter a name"),
        ("Mine", "unknown=1", "Set at least one filter"),
        ("TAKEN", FILTERS, "You already have a view with this name"),
    ],
)
async def test_a_view_needs_a_name_of_its_own_and_a_filter(finance: Desk, name: str, query: str, problem: str) -> None:
    assert await save(finance, "Taken") == 303
    assert await save(finance, name, query) == 422
    assert problem in finance.text()
    assert finance.page is not None
    for parameter, value in parse_qsl(query) if query == FILTERS else ():
        assert f'name="filter_{parameter}" value="{value}"' in finance.page.text, "the form can be sent again"


async def test_a_view_is_seen_and_changed_by_its_person_alone(finance: Desk, service: Service, tenant: Tenant) -> None:
    await save(finance, "Secret plan")
    [path] = await view_paths(finance)
    colleague = await desk(service, tenant, "owner")
    await colleague.get(f"{colleague.home}/donations")
    assert "Secret plan" not in colleague.text()
    assert await view_paths(colleague) == []
    for forged in (path, f"{path}/delete"):
        assert (await colleague.get(forged)).status_code == 404
        await colleague.get(f"{colleague.home}/views")
        assert (await colleague.post(forged, name="Mine")).status_code == 404
    assert await view_paths(finance) == [path]
    await colleague.close()


async def test_no_view_is_saved_of_a_list_that_the_role_does_not_see(service: Service, tenant: Tenant) -> None:
    reader = await desk(service, tenant, "read_only")
    for path in ("/events", "/keys", "//evil.example"):
        await reader.get(f"{reader.home}/views")
        refused = await reader.post(f"{reader.home}/views", list=path, filter_type="x", name="Mine")
        assert refused.status_code == 404
    await reader.close()


async def test_a_file_with_a_filter_that_cannot_be_read_is_answered_by_its_page(owner: Desk) -> None:
    seen = set()
    for declared in LISTS:
        for one in declared.filters:
            answer = await owner.get(f"{owner.home}{declared.path}.csv?{one.parameter}=no%20such%20%F0%9F%98%80")
            seen.add((answer.status_code, answer.headers["content-type"].partition(";")[0]))
    assert seen == {(422, "text/html"), (200, "text/csv")}


async def test_a_form_that_is_sent_twice_or_changes_nothing_is_recorded_once(
    finance: Desk, service: Service, tenant: Tenant
) -> None:
    for _ in range(2):
        assert await save(finance, "Sent twice") == 303
    [path] = await view_paths(finance)
    for name in ("Sent twice", "Sent once", "Sent once"):
        await finance.get(path)
        assert (await finance.post(path, name=name)).headers["location"].endswith("?done=renamed")
    for action in ("saved_view.created", "saved_view.renamed"):
        assert await entries(service, action, tenant.partner) == 1, action


async def test_the_last_view_that_is_allowed_can_be_sent_twice(finance: Desk, service: Service, tenant: Tenant) -> None:
    assert finance.person is not None
    async with service.db.write() as tx:
        for number in range(MOST_VIEWS - 1):
            view = SavedView(tx.new_id(), "/donations", f"View {number}", FILTERS)
            await store_views.insert_saved_view(tx, tenant.partner, finance.person.id, view)
    answers = [await save(finance, name) for name in ("Last", "Last", "One too many")]
    assert answers == [303, 303, 422]
    assert f"limit of {MOST_VIEWS} views" in finance.text()


async def test_a_double_click_saves_one_view(finance: Desk, service: Service, tenant: Tenant) -> None:
    await finance.get(f"{finance.home}/donations?{FILTERS}")
    form = {"list": "/donations", "name": "Twice", "filter_status": "CANCELLED"}
    both = await asyncio.gather(*(finance.post(f"{finance.home}/views", form) for _ in range(2)))
    assert [one.status_code for one in both] == [303, 303]
    assert await entries(service, "saved_view.created", tenant.partner) == 1
