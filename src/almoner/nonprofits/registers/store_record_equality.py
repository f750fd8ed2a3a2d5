"""SQL that compares two records of one number, except for the facts that its source ignores."""

from typing import Final

_BESIDE: Final = "array['facts', 'prominence']"
"""Members compared differently or not at all: facts are compared separately, and prominence only orders results."""


def record_equality_condition(one: str, other: str, ignored: str) -> str:
    """The SQL condition.

    ``one``, ``other``: stored jsonb; ``ignored``: text[] of the ignored facts. If a number has several rows, ignored
    facts are ignored in each of them.
    """
    return f"({_compared_record(one, ignored)}) = ({_compared_record(other, ignored)})"


def _compared_record(record: str, ignored: str) -> str:
    rows = f"""
        select jsonb_agg({_compared_row("told.row", ignored)} order by told.nth)
        from jsonb_array_elements({record} -> 'rows') with ordinality told (row, nth)
    """
    return f"case when {record} ? 'rows' then ({rows}) else {_compared_row(record, ignored)} end"


def _compared_row(row: str, ignored: str) -> str:
    return f"({row} - {_BESIDE}) || jsonb_build_object('facts', coalesce({row} -> 'facts', '{{}}') - {ignored})"
