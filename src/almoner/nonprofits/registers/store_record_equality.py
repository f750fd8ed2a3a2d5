"""SQL that tells whether two records of one number say the same of the body, but for what its source calls ignored."""

from typing import Final

_BESIDE: Final = "array['facts', 'prominence']"
"""Members that say nothing of the body itself: facts are compared apart, and prominence orders results."""


def record_equality_condition(one: str, other: str, ignored: str) -> str:
    """A condition. ``one``, ``other``: jsonb, as stored; ``ignored``: text[] of the facts that do not count.

    Where several rows tell of a number, ignored facts are ignored in each of them.
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
