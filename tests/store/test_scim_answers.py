"""Our answers are those of scim2-server's own storage: random users, random filters, orders and pages."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scim2_models import UniquenessException
from scim2_server.memory import InMemoryStorage

from almoner.platform.database.postgres import PostgresServer
from almoner.scim.storage import PostgresStorage
from tests.support import database, scim_filters, scim_rows
from tests.support.scim_rows import TYPES, asking

RELAXED = settings(suppress_health_check=list(HealthCheck))
EXAMPLES = RELAXED.max_examples  # fewer in short
OF_FILTERS = settings(RELAXED, max_examples=2 * EXAMPLES)
FEWER = settings(RELAXED, max_examples=EXAMPLES // 2)
USERS = 40


@dataclass(slots=True)
class Both:
    """The same resources in both storages."""

    ours: PostgresStorage
    theirs: InMemoryStorage
    filters: st.SearchStrategy[str]

    async def agree(self, *kinds: str, **asked: Any) -> None:
        """One search answers the same, in the same order; equal ones of two kinds may come in any."""
        try:
            request = asking(*kinds, **{"sort_by": "id", **asked})
        except ValidationError:
            assume(condition=False)
        types = [TYPES[kind] for kind in kinds]
        expected = self.theirs.search(types, request)
        found = await self.ours.search(types, request)
        assert found.total == expected.total
        answers = [[str(one.id) for one in page.resources] for page in (found, expected)]
        if len(kinds) > 1:
            values = [[request.sort_value(one) for one in page.resources] for page in (found, expected)]
            assert values[0] == values[1], asked
            answers = [sorted(ids) for ids in answers]
        assert answers[0] == answers[1], asked

    async def walk(self, **asked: Any) -> None:
        """The pages of a cursor are the same, forwards and back."""
        request = asking("User", cursor="", **asked)
        types = [TYPES["User"]]
        expected, found = self.theirs.search(types, request), await self.ours.search(types, request)
        way = [(expected, found)]
        while expected.next is not None:
            assert found.next is not None
            expected = self.theirs.search(types, request, position=expected.next)
            found = await self.ours.search(types, request, position=found.next)
            way.append((expected, found))
        assert found.next is None
        while expected.previous is not None:
            assert found.previous is not None
            expected = self.theirs.search(types, request, position=expected.previous)
            found = await self.ours.search(types, request, position=found.previous)
            way.append((expected, found))
        assert found.previous is None
        for other, ours in way:
            assert [one.id for one in ours.resources] == [one.id for one in other.resources], asked


def drawn() -> list[dict[str, Any]]:
    """Profiles of users, some of them no good and some alike, and more than are wanted: an end to the trying."""
    found: list[dict[str, Any]] = []

    @settings(RELAXED, max_examples=5 * USERS, database=None, phases=[Phase.generate])
    @given(scim_filters.USERS)
    def draw(value: dict[str, Any]) -> None:
        found.append(value)

    draw()
    return found


@pytest.fixture(scope="module")
async def both(postgres_server: PostgresServer) -> AsyncIterator[Both]:
    """Forty random users, some of them in three groups; another partner has the same."""
    async with database.copied(postgres_server) as made, scim_rows.opened(made) as db, db.write() as tx:
        ours = scim_rows.storage(tx, await scim_rows.partner(tx, "Large", 0))
        others = scim_rows.storage(tx, await scim_rows.partner(tx, "Other", 0))
        ids: list[str] = []
        for value in drawn():
            if len(ids) == USERS:
                break
            try:
                user = scim_rows.model("User").model_validate(value)
                ids.append(str((await ours.create(TYPES["User"], user)).id))
                await others.create(TYPES["User"], user)
            except (ValidationError, UniquenessException):
                continue
        for name, members in (("a", ids[:9]), ("B%", ids[5:20]), ("é", [])):
            group = {"displayName": name, "members": [{"value": one} for one in members]}
            await ours.create(TYPES["Group"], scim_rows.model("Group").model_validate(group))
        other = InMemoryStorage()
        everything = [(await ours.search([type_], asking(kind))).resources for kind, type_ in TYPES.items()]
        other.resources = [one for found in everything for one in found]
        assert len(other.resources) == USERS + 3
        known = [str(one.id) for one in other.resources]
        also = [known[0][:-3], known[1][-4:], 'W/"1"', scim_filters.CORE]
        yield Both(ours, other, scim_filters.filters([*known, *also]))


@OF_FILTERS
@given(data=st.data())
async def test_a_filter_finds_what_the_evaluator_of_the_package_finds(both: Both, data: st.DataObject) -> None:
    await both.agree("User", filter=data.draw(both.filters))


@FEWER
@given(
    sort_by=st.sampled_from(scim_filters.SORTS),
    sort_order=st.sampled_from(["ascending", "descending"]),
    start_index=st.integers(1, 50),
    count=st.integers(0, 50),
)
async def test_an_order_and_a_page_are_those_of_the_package(
    both: Both, sort_by: str, sort_order: str, start_index: int, count: int
) -> None:
    await both.agree("User", sort_by=sort_by, sort_order=sort_order, start_index=start_index, count=count)


@FEWER
@given(
    sort_by=st.sampled_from(scim_filters.SORTS),
    sort_order=st.sampled_from(["ascending", "descending"]),
    count=st.integers(1, 15),
    filtered=st.sampled_from([None, "title pr", "not (emails pr)"]),
)
async def test_a_walk_by_cursor_is_that_of_the_package(
    both: Both, sort_by: str, sort_order: str, count: int, filtered: str | None
) -> None:
    await both.walk(sort_by=sort_by, sort_order=sort_order, count=count, filter=filtered)


@FEWER
@given(
    filtered=st.sampled_from([None, 'displayName co "a"', "members pr", 'userName sw "a" or displayName sw "B"']),
    sort_by=st.sampled_from(["id", "displayName", "userName", "meta.created", "members", "externalId"]),
    sort_order=st.sampled_from(["ascending", "descending"]),
)
async def test_both_kinds_are_one_collection(both: Both, filtered: str | None, sort_by: str, sort_order: str) -> None:
    await both.agree("User", "Group", filter=filtered, sort_by=sort_by, sort_order=sort_order)
