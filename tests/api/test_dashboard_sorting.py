"""Lists in another order than newest first: where an index has it, with the same filters, pages and files."""

import re

from almoner.dashboard.record_lists import LISTS
from tests.support import factories, submissions
from tests.support.client import Client, data
from tests.support.members import Desk
from tests.support.regular_gifts import begin_plan
from tests.support.requests import asked
from tests.support.service import Service


def shown(page: str, ids: list[str]) -> list[str]:
    """Those of the records that a page lists, in its order."""
    found = re.findall(r'/([a-z_]+_[0-9a-z]{26})"', page.partition("<tbody>")[2])
    return [one for one in dict.fromkeys(found) if one in ids]


async def test_a_list_is_turned_round_with_its_filters_in_pages_and_files(
    service: Service, api: Client, owner: Desk
) -> None:
    organisation = await factories.nonprofit(service)
    made = [(await factories.direct(service, api, organisation=organisation))["id"] for _ in range(3)]
    other = await factories.direct(service, api)
    data(await api.post(f"/v1/donations/{other['id']}/cancel"))
    path = f"{owner.home}/donations?status=ACTIVE&"
    usual = await owner.get(path)
    assert shown(usual.text, [*made, other["id"]]) == made[::-1]
    assert 'aria-sort="descending"' in usual.text
    head = re.search(r'class="sort" href="([^"]+)"', usual.text)
    assert head
    turned = await owner.get(head[1].replace("&amp;", "&"))
    assert shown(turned.text, [*made, other["id"]]) == made
    assert 'aria-sort="ascending"' in turned.text
    assert "oldest first" in owner.text()
    file = await owner.get(f"{owner.home}/donations.csv?status=ACTIVE&sort=createdAt&direction=ASC")
    assert [line.rpartition(",")[2] for line in file.text.splitlines()[1:]] == made


async def test_names_sort_a_list_without_filters_alone(service: Service, api: Client, owner: Desk) -> None:
    for name in ("Casper Relief", "Aspen Trust", "Boulder Aid"):
        about = {"registryName": "IRS", "registryId": "85-0196605", "website": "https://example.org"}
        await api.post("/v1/validation-requests", {"name": name, "countryCode": "USA", **about})
    page = await owner.get(f"{owner.home}/validation-requests?sort=name&direction=ASC")
    names = re.findall(r">(?:<bdi>)?(Casper Relief|Aspen Trust|Boulder Aid)<", page.text)
    assert names == ["Aspen Trust", "Boulder Aid", "Casper Relief"]
    filtered = await owner.get(f"{owner.home}/validation-requests?status=pending&sort=name&direction=ASC")
    assert "sort=name" not in filtered.text
    assert "newest first" in owner.text()


async def test_each_order_that_is_offered_opens_and_no_other_is_taken(service: Service, owner: Desk) -> None:
    offered = {one.path: [column.member for column in one.sortable_columns(())] for one in LISTS}
    assert offered["/donations"] == ["amount", "status", "createdAt"]
    assert offered["/donation-requests"] == ["dueAt", "createdAt"]
    for path, members in offered.items():
        for member in [*members, "amount", "nothing"]:
            for direction in ("ASC", "DESC", "sideways"):
                answer = await owner.get(f"{owner.home}{path}?sort={member}&direction={direction}")
                assert answer.status_code == 200, (path, member, owner.text())


async def walked(api: Client, path: str, direction: str, sort: str) -> list[str]:
    """The identifiers of a list, two on a page; each page leads back to the one before it."""
    page = (await api.get(path, direction=direction, pageSize=2, sort=sort)).json()
    seen = [one["id"] for one in page["data"]]
    while following := page["_links"]["next"]:
        before, page = page, (await api.get(following)).json()
        seen += [one["id"] for one in page["data"]]
        assert (await api.get(page["_links"]["prev"])).json()["data"] == before["data"]
    assert page["totalResults"] == len(seen)
    return seen


async def test_amounts_sort_donations_by_currency_and_equal_ones_by_identifier(
    service: Service, api: Client, owner: Desk
) -> None:
    organisation = await factories.nonprofit(service)
    made = {
        (await factories.direct(service, api, organisation=organisation, amount=amount))["id"]: amount
        for amount in (700, 500, 500, 900, 500, 900)
    }
    expected = [one for _, one in sorted((amount, one) for one, amount in made.items())]
    for direction, order in (("ASC", expected), ("DESC", expected[::-1])):
        assert await walked(api, "/v1/donations", direction, "amount") == order
        page = await owner.get(f"{owner.home}/donations?sort=amount&direction={direction}")
        assert shown(page.text, expected) == order
        assert "6 results, sorted by currency and amount" in owner.text()
    assert 'sort=amount&amp;direction=DESC"' in (await owner.get(f"{owner.home}/donations")).text
    filtered = await owner.get(f"{owner.home}/donations?status=ACTIVE&sort=amount")
    assert "sort=amount" not in filtered.text
    refused = await api.get("/v1/donations", sort="amount", status="ACTIVE")
    assert refused.json()["error"]["reasons"] == ["query.sort can only be amount without filters"]


async def test_days_that_are_expected_sort_requests_and_regular_donations(
    service: Service, api: Client, owner: Desk
) -> None:
    requests = [(await asked(service, api, 1000))["id"] for _ in range(3)]
    plans = [await begin_plan(service, api, frequency) for frequency in ("yearly", "weekly", "weekly")]
    pending = [await begin_plan(service, api, pays=False) for _ in range(2)]
    ids = [plans[1].id, plans[2].id, plans[0].id, *(one.id for one in pending)]
    for path, sort, expected in (("requests", "dueAt", requests), ("subscriptions", "nextDonationAt", ids)):
        for direction, order in (("ASC", expected), ("DESC", expected[::-1])):
            assert await walked(api, f"/v1/donation-{path}", direction, sort) == order
    for path, day, ids_ in (("donation-requests", "dueAt", requests), ("regular-donations", "nextDonationAt", ids)):
        page = await owner.get(f"{owner.home}/{path}?sort={day}&direction=ASC")
        assert shown(page.text, ids_) == ids_
    assert "5 results, sorted by next donation" in owner.text()
    refused = await api.get("/v1/donation-subscriptions", sort="nextDonationAt", status="active")
    assert refused.json()["error"]["reasons"] == ["query.sort can only be nextDonationAt without filters"]


async def test_a_view_keeps_its_order(service: Service, api: Client, owner: Desk) -> None:
    await submissions.applied(api)
    ordered = "status=pending&sort=createdAt&direction=ASC"
    page = await owner.get(f"{owner.home}/validation-submissions?{ordered}")
    fields = dict(re.findall(r'<input type="hidden" name="(filter_[a-z]+)" value="([^"]*)"', page.text))
    saved = await owner.post(f"{owner.home}/views", fields, list="/validation-submissions", name="Oldest")
    assert saved.headers["location"] == f"{owner.home}/validation-submissions?{ordered}"


async def test_statuses_follow_each_other_over_pages_and_in_files(service: Service, api: Client, owner: Desk) -> None:
    organisation = await factories.nonprofit(service)
    active = [(await factories.direct(service, api, organisation=organisation))["id"] for _ in range(52)]
    ended = active[::20]
    for one in ended:
        data(await api.post(f"/v1/donations/{one}/cancel"))
    paid = (await factories.donation(service, api, organisation=organisation))["id"]
    await factories.direct(service, api)
    active = [one for one in active[::-1] if one not in ended]
    every = [*active, paid, *ended[::-1]]
    path = f"{owner.home}/donations?organisationId={organisation}"
    for direction, expected in (("ASC", every), ("DESC", [*ended[::-1], paid, *active])):
        first = await owner.get(f"{path}&sort=status&direction={direction}")
        assert "53 results, sorted by status" in owner.text()
        following = re.search(r'href="([^"]+)"[^>]* rel="next"', first.text)
        assert following
        second = await owner.get(following[1].replace("&amp;", "&"))
        assert 'rel="next"' not in second.text
        assert (shown(first.text, every), shown(second.text, every)) == (expected[:50], expected[50:])
    file = await owner.get(f"{owner.home}/donations.csv?organisationId={organisation}&sort=status&direction=ASC")
    assert [line.rpartition(",")[2] for line in file.text.splitlines()[1:]] == every
    filtered = await owner.get(f"{path}&status=ACTIVE&sort=status&direction=ASC")
    assert "sort=status" not in filtered.text
    wrong = await owner.get(f"{path}&sort=status&direction=ASC&cursor=GONE")
    assert wrong.status_code == 422


async def test_a_page_that_ends_with_a_status_leads_on_where_another_has_records(
    service: Service, api: Client, owner: Desk
) -> None:
    organisation = await factories.nonprofit(service)
    for _ in range(50):
        await factories.direct(service, api, organisation=organisation)
    path = f"{owner.home}/donations?organisationId={organisation}&sort=status&direction=ASC"
    assert 'rel="next"' not in (await owner.get(path)).text
    paid = (await factories.donation(service, api, organisation=organisation))["id"]
    following = re.search(r'href="([^"]+)"[^>]* rel="next"', (await owner.get(path)).text)
    assert following
    assert shown((await owner.get(following[1].replace("&amp;", "&"))).text, [paid]) == [paid]
