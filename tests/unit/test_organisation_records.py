"""What the history of a record says happened, and the record as it stood, against a replay of the loads."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.nonprofits.organisations.domain import (
    Organisation,
    OrganisationChange,
    OrganisationSource,
    organisation_as_of,
)

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
FIELDS = ("name", "city", "active", "types", "succeeded_by")


def record(**members: Any) -> Organisation:
    usual: dict[str, Any] = {
        **dict.fromkeys(Organisation.__dataclass_fields__),
        "id": UUID(int=1),
        "name": "A",
        "types": ("nonprofit",),
        "other_names": (),
        "active": True,
        "sources": (),
        "first_seen": FIRST,
        "created_at": FIRST,
    }
    return Organisation(**{**usual, **members})


def change(field: str, before: object, after: object, *, days: int = 1, **more: Any) -> OrganisationChange:
    return OrganisationChange(more.pop("id", 1), FIRST + timedelta(days), field, before, after, "IRS", **more)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (change("name", "A", "B"), "renamed"),
        (change("other_names", [], ["B"]), "renamed"),
        (change("city", "A", "B"), "moved"),
        (change("part", "WY", "NE"), "moved"),
        (change("active", True, False), "removed"),
        (change("active", False, True), "listed_again"),
        (change("active", True, False, recorded_kind="revoked"), "revoked"),
        (change("active", False, True, recorded_kind="reinstated"), "reinstated"),
        (change("succeeded_by", None, "x", recorded_kind="merged"), "merged"),
        (change("succeeded_by", None, "x", recorded_kind="reregistered"), "reregistered"),
        (change("registration_date", None, "2001-05-01"), "changed"),
        (change("name", "B", "A", rolled_back=True), "taken_back"),
    ],
)
def test_what_happened_is_told_apart(told: OrganisationChange, kind: str) -> None:
    assert told.kind == kind


def test_why_a_record_is_inactive() -> None:
    assert record().inactive_reason is None
    assert record(active=False).inactive_reason == "removed"
    assert record(active=False, status_override="revoked").inactive_reason == "revoked"


@pytest.mark.parametrize(
    ("city", "shown"),
    [
        ("ST. JOHN'S", "St. John's"),
        ("ISLE OF MAN", "Isle of Man"),
        ("COEUR D'ALENE", "Coeur D'Alene"),
        ("BRONX", "Bronx"),
        ("St. John's", "St. John's"),
        (None, None),
    ],
)
def test_a_city_in_capitals_is_shown_as_people_write_it(city: str | None, shown: str | None) -> None:
    assert record(city=city).display_city == shown


def test_data_are_stale_beyond_the_greatest_age() -> None:
    source = OrganisationSource("IRS", "530196605", "irs-bmf", is_format_unverified=False, data_as_of=FIRST)
    now = FIRST + timedelta(days=40)
    assert source.is_stale(now, timedelta(days=39))
    assert not source.is_stale(now, timedelta(days=40))
    assert not source.is_stale(now, None)
    assert not OrganisationSource("IRS", "1", None, is_format_unverified=False, data_as_of=None).is_stale(
        now, timedelta(days=1)
    )


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from("ABC"),
    "city": st.none() | st.sampled_from("XYZ"),
    "active": st.booleans(),
    "types": st.sampled_from([["nonprofit"], ["nonprofit", "education"], []]),
    "succeeded_by": st.none() | st.sampled_from([str(UUID(int=7)), str(UUID(int=8))]),
}
states = st.fixed_dictionaries(_VALUES)
loads = st.lists(st.tuples(states, st.integers(0, 3), st.booleans()), min_size=1, max_size=7)


@given(loads)
def test_the_record_as_it_stood_is_what_a_replay_of_the_loads_gives(
    made: list[tuple[dict[str, Any], int, bool]],
) -> None:
    """Each load comes some days after the one before; some are taken back at once."""
    stored = [(FIRST, made[0][0])]
    changes: list[OrganisationChange] = []
    day = FIRST
    for state, days, undone in made[1:]:
        day += timedelta(days)
        reported = [
            (field, stored[-1][1][field], state[field]) for field in FIELDS if stored[-1][1][field] != state[field]
        ]
        for field, before, after in reported:
            changes.append(OrganisationChange(len(changes), day, field, before, after, "IRS", None, undone))
        if undone:
            for field, before, after in reported:
                changes.append(
                    OrganisationChange(len(changes), day, field, after, before, "IRS", None, rolled_back=True)
                )
        else:
            stored.append((day, state))
    now = record(**_members(stored[-1][1]), data_as_of=day)
    for offset in range((day - FIRST).days + 3):
        asked = FIRST + timedelta(offset)
        expected = next(state for loaded, state in reversed(stored) if loaded <= asked)
        stood = organisation_as_of(now, changes[::-1], asked)
        assert stood is not None
        assert {field: getattr(stood, field) for field in FIELDS} == _members(expected)
    assert organisation_as_of(now, changes[::-1], FIRST - timedelta(days=1)) is None


def _members(state: dict[str, Any]) -> dict[str, Any]:
    successor = state["succeeded_by"]
    return {**state, "types": tuple(state["types"]), "succeeded_by": UUID(successor) if successor else None}


def test_a_field_that_is_no_member_changes_nothing() -> None:
    stood = organisation_as_of(record(), [change("part", "WY", "NE")], FIRST)
    assert stood == record(data_as_of=None)
