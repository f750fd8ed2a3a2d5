"""Metadata rules of spec 2.1."""

from almoner.kit import metadata as metadata_rules


def test_the_limits_themselves_are_allowed() -> None:
    most = {f"{n:02}".ljust(40, "k"): "v" * 250 for n in range(20)}
    assert metadata_rules.find_metadata_problems(most) == []


def test_every_broken_rule_is_told_at_once() -> None:
    found = metadata_rules.find_metadata_problems(
        {f"k{n}": "" for n in range(20)} | {"": "v", "x" * 41: "v", "long": "v" * 251}
    )
    assert len(found) == 4
    assert "23" in found[0]


def test_merging_overwrites_removes_and_keeps() -> None:
    assert metadata_rules.merge_metadata({"a": "1", "b": "2", "c": "3"}, {"b": "two", "c": None, "d": "4"}) == {
        "a": "1",
        "b": "two",
        "d": "4",
    }


def test_a_value_that_is_no_string_is_told_with_the_rest() -> None:
    wrong: dict[str, object] = {"a": 1, "b": None, "x" * 41: {}}
    key = f"{'x' * 40}..."
    reported = f"body.metadata key '{key}' is longer than 40 characters"
    text = "must be a string"
    assert metadata_rules.find_metadata_problems(wrong) == [f"body.metadata.{one} {text}" for one in "ab"] + [
        reported,
        f"body.metadata.{key} {text}",
    ]
    merged = metadata_rules.find_metadata_problems(wrong, is_patch=True)
    assert merged == [f"body.metadata.a {text} or null", reported, f"body.metadata.{key} {text} or null"]
