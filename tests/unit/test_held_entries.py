"""Watchlist entries as they are held in memory: packed texts, and lists of numbers by hashed keys."""

from bisect import bisect_left

from hypothesis import given
from hypothesis.strategies import integers, lists, text, tuples

from almoner.screening.matching.domain import Party, PreparedEntry
from almoner.screening.matching.posting_lists import PostingLists

pairs = lists(tuples(text("abc", max_size=4), integers(0, 70_000)), max_size=300)


@given(pairs, text("abcd", max_size=4), integers(0, 70_000), integers(0, 70_000))
def test_posting_lists_return_what_they_were_given(
    given_pairs: list[tuple[str, int]], missing: str, lower: int, upper: int
) -> None:
    given_pairs.sort(key=lambda pair: pair[1])
    expected: dict[str, list[int]] = {}
    for key, number in given_pairs:
        expected.setdefault(key, []).append(number)
    held = PostingLists(given_pairs)
    for key in (*expected, missing):
        numbers = expected.get(key, [])
        assert [*held[key]] == numbers
        assert held.count_positions(key) == len(numbers)
        assert (key in held) is (key in expected)
        between = numbers[bisect_left(numbers, lower) : max(bisect_left(numbers, upper), bisect_left(numbers, lower))]
        assert [*held.find_positions_in_range(key, lower, upper)] == between


class _Word(str):
    """A word with a hash of its own."""

    __slots__ = ("hashed",)
    hashed: int

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


def test_keys_whose_hashes_agree_in_the_stored_bits_share_their_numbers() -> None:
    one, other, third = _Word("one"), _Word("other"), _Word("third")
    one.hashed, other.hashed, third.hashed = 5, 5 + (1 << 60), 6
    held = PostingLists([(one, 1), (other, 2), (third, 3), (one, 4)])
    assert [*held[one]] == [*held[other]] == [1, 2, 4]
    assert ([*held[third]], held.count_positions(other)) == ([3], 3)


def test_an_entry_keeps_its_texts() -> None:
    entry = PreparedEntry(
        "list/7",
        ("AL-ONE", "وحيد", "TWO"),
        frozenset(("IRN",)),
        ("A123", "B456"),
        [Party((), "12 High Street", "Beirut", country="LBN"), Party((), postcode="1103")],
        frozenset(("SYR",)),
        ("TWO",),
    )
    assert (entry.id, entry.names) == ("list/7", ("AL-ONE", "وحيد", "TWO"))
    assert (entry.countries, entry.concerns) == (frozenset(("IRN",)), frozenset(("SYR",)))
    assert entry.identifiers == ("A123", "B456")
    assert [(at.street, at.city, at.postcode, at.country) for at in entry.address_parties] == [
        ("12 High Street", "Beirut", "", "LBN"),
        ("", "", "1103", ""),
    ]
    assert entry.weak_names == ("TWO",)
    assert [entry.is_weak_name(place) for place in range(3)] == [False, False, True]


def test_an_entry_may_have_nothing_but_a_name() -> None:
    entry = PreparedEntry("list/7", ("ONE",))
    assert (entry.names, entry.identifiers, [*entry.address_parties], entry.weak_names) == (("ONE",), (), [], ())
