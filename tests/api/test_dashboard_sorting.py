"""Lists in another order than newest first: where an index has it, with the same filters, pages and files."""

import re

from almoner.dashboard.record_lists import LISTS
from tests.support import factories, submissions
from tests.support.client import Client, data
from tests.support.members import Desk
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
    offered = {one.path: [column.member for column in one.sortable(filtered=False)] for one in LISTS}
    assert offered["/donations"] == ["createdAt"]
    for path, members in offered.items():
        for member in [*members, "amount", "nothing"]:
            for direction in ("ASC", "DESC", "sideways"):
                answer = await owner.get(f"{owner.home}{path}?sort={member}&direction={direction}")
                assert answer.status_code == 200, (path, member, owner.text())


async def test_a_view_keeps_its_order(service: Service, api: Client, owner: Desk) -> None:
    await submissions.applied(api)
    ordered = "status=pending&sort=createdAt&direction=ASC"
    page = await owner.get(f"{owner.home}/validation-submissions?{ordered}")
    fields = dict(re.findall(r'<input type="hidden" name="(filter_[a-z]+)" value="([^"]*)"', page.text))
    saved = await owner.post(f"{owner.home}/views", fields, list="/validation-submissions", name="Oldest")
    assert saved.headers["location"] == f"{owner.home}/validation-submissions?{ordered}"
