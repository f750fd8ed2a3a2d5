"""Which record answers for a body in several registers, and what a body became."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from almoner.nonprofits.merges.domain import (
    PrimaryRecordCandidate,
    Succession,
    Successor,
    choose_primary_record_ids_by_duplicate_id,
    resolve_final_successors_by_organisation,
)

DAY = datetime(2020, 1, 1, tzinfo=UTC)
A, B, C, D, E = (UUID(int=nth) for nth in range(1, 6))
ids = st.integers(1, 9).map(lambda nth: UUID(int=nth))


def merged(one: UUID, other: UUID, days: int | None = None) -> Succession:
    return Succession(one, other, "merged", None if days is None else DAY + timedelta(days))


def test_chains_are_followed_to_their_end() -> None:
    steps = [merged(A, B), Succession(B, C, "reregistered"), merged(C, D)]
    assert resolve_final_successors_by_organisation(steps) == {
        A: Successor(D, "merged"),
        B: Successor(D, "reregistered"),
        C: Successor(D, "merged"),
    }


def test_circles_end_nobody() -> None:
    assert resolve_final_successors_by_organisation([merged(A, B), merged(B, A)]) == {}
    assert resolve_final_successors_by_organisation([merged(A, A)]) == {}
    # What went into a circle is known; what became of the circle is not.
    assert resolve_final_successors_by_organisation([merged(A, B), merged(B, C), merged(C, D), merged(D, C)]) == {
        A: Successor(C, "merged"),
        B: Successor(C, "merged"),
    }


def test_the_newest_step_of_a_body_counts() -> None:
    assert resolve_final_successors_by_organisation([merged(A, B, 1), merged(A, C, 2), merged(A, D)]) == {
        A: Successor(C, "merged")
    }
    assert resolve_final_successors_by_organisation([merged(A, C), merged(A, B)]) == {A: Successor(B, "merged")}


steps = st.lists(st.builds(merged, ids, ids, st.none() | st.integers(0, 9)), max_size=12)


@given(steps, st.randoms())
def test_successors_never_depend_on_the_order_and_are_nobodys_predecessors(made: list[Succession], random: Any) -> None:
    found = resolve_final_successors_by_organisation(made)
    shuffled = made.copy()
    random.shuffle(shuffled)
    assert resolve_final_successors_by_organisation(shuffled) == found
    for body, (last, _) in found.items():
        assert last != body
        assert last not in found


def body(
    of: UUID, registry: str = "CCEW", *, active: bool = True, days: int | None = 0, number: str | None = None
) -> PrimaryRecordCandidate:
    return PrimaryRecordCandidate(
        of, active, None if days is None else DAY + timedelta(days), registry, number or str(of.int)
    )


def test_the_earlier_registration_of_the_listed_ones_answers() -> None:
    assert choose_primary_record_ids_by_duplicate_id([(A, B)], {A: body(A, days=5), B: body(B, "OSCR")}) == {A: B}
    assert choose_primary_record_ids_by_duplicate_id(
        [(A, B)], {A: body(A, days=5), B: body(B, "OSCR", active=False)}
    ) == {B: A}
    assert choose_primary_record_ids_by_duplicate_id([(A, B)], {A: body(A, "OSCR"), B: body(B, "CCEW")}) == {A: B}
    assert choose_primary_record_ids_by_duplicate_id([(A, B)], {A: body(A, days=None), B: body(B, "OSCR", days=9)}) == {
        A: B
    }
    assert choose_primary_record_ids_by_duplicate_id([(A, B)], {A: body(A)}) == {}


def test_what_is_the_same_as_a_third_is_the_same() -> None:
    organisations = {of: body(of, f"REGISTER {of.int}", days=of.int) for of in (A, B, C, D, E)}
    assert choose_primary_record_ids_by_duplicate_id([(A, B), (D, E), (C, B), (E, C)], organisations) == {
        B: A,
        C: A,
        D: A,
        E: A,
    }


def test_two_numbers_of_one_register_are_never_one_body() -> None:
    organisations = {A: body(A), B: body(B, "OSCR"), C: body(C, "ACNC"), D: body(D)}
    assert choose_primary_record_ids_by_duplicate_id([(A, B), (B, C)], organisations) == {A: C, B: C}
    assert choose_primary_record_ids_by_duplicate_id([(A, B), (B, C), (C, D)], organisations) == {}


@given(st.lists(st.tuples(ids, ids), max_size=12), st.randoms())
def test_one_record_answers_and_none_for_the_one_that_does(pairs: list[tuple[UUID, UUID]], random: Any) -> None:
    def made(nth: int) -> PrimaryRecordCandidate:
        return body(UUID(int=nth), f"REGISTER {nth % 6}", days=nth % 4, active=nth % 3 > 0)

    organisations = {UUID(int=nth): made(nth) for nth in range(1, 9)}
    found = choose_primary_record_ids_by_duplicate_id(pairs, organisations)
    shuffled = [(other, one) for one, other in pairs]
    random.shuffle(shuffled)
    assert choose_primary_record_ids_by_duplicate_id(shuffled, organisations) == found
    assert not set(found) & set(found.values())
    groups: dict[UUID, list[str]] = {}
    for nth, of in organisations.items():
        groups.setdefault(found.get(nth, nth), []).append(of.registry_code)
    assert all(len(set(codes)) == len(codes) for codes in groups.values())
    for one, other in pairs:
        if (
            one in organisations
            and other in organisations
            and not {one, other}.isdisjoint(found.keys() | set(found.values()))
        ):
            assert found.get(one, one) == found.get(other, other)
