"""Metadata rules of spec 2.1."""

from almoner.kit import metadata


def test_the_limits_themselves_are_allowed() -> None:
    most = {f"{n:02}".ljust(40, "k"): "v" * 250 for n in range(20)}
    assert metadata.problems(most) == []


def test_every_broken_rule_is_told_at_once() -> None:
    found = metadata.problems({f"k{n}": "" for n in range(20)} | {"": "v", "x" * 41: "v", "long": "v" * 251})
    assert len(found) == 4
    assert "23" in found[0]


def test_merging_overwrites_removes_and_keeps() -> None:
    assert metadata.merge({"a": "1", "b": "2", "c": "3"}, {"b": "two", "c": None, "d": "4"}) == {
        "a": "1",
        "b": "two",
        "d": "4",
    }
