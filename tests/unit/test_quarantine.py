"""What differs between two records of a number, as an operator sees it before a quarantined load is decided."""

from almoner.nonprofits.registers.quarantine import differing_columns


def test_names_come_first_and_equal_columns_are_left_out() -> None:
    old = {"active": True, "name": "One", "facts": {"TYPE": "03", "STATE": "WY"}, "prominence": 1}
    new = {"active": False, "name": "Two", "facts": {"TYPE": "03", "CITY": "Casper"}, "prominence": 2}
    assert differing_columns(old, new) == [
        ("name", "One", "Two"),
        ("CITY", None, "Casper"),
        ("STATE", "WY", None),
        ("active", "true", "false"),
    ]


def test_the_rows_of_a_number_are_numbered() -> None:
    old = {"rows": [{"name": "One"}, {"name": "Two"}]}
    new = {"rows": [{"name": "One"}, {"name": "Three", "aliases": ["Trois"]}]}
    assert differing_columns(old, new) == [("2. name", "Two", "Three"), ("2. aliases", None, '["Trois"]')]


def test_columns_and_values_are_bounded() -> None:
    [*columns] = differing_columns({}, {f"column {nth:02}": "x" * 1000 for nth in range(40)})
    assert len(columns) == 12
    assert {len(after or "") for _, _, after in columns} == {200}
