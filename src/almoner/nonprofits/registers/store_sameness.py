"""SQL that tells whether two records of one number say the same of the body, but for what its source calls quiet."""

from typing import Final

_BESIDE: Final = "array['facts', 'prominence']"
"""Members that say nothing of the body itself: facts are compared apart, and prominence orders results."""


def same_but_quiet(one: str, other: str, quiet: str) -> str:
    """A condition. ``one``, ``other``: jsonb, as stored; ``quiet``: text[] of the facts that do not count.

    Where several rows tell of a number, quiet facts are quiet in each of them.
    """
    return f"({_loud(one, quiet)}) = ({_loud(other, quiet)})"


def _loud(record: str, quiet: str) -> str:
    rows = f"""
        select jsonb_agg({_loud_row("told.row", quiet)} order by told.nth)
        from jsonb_array_elements({record} -> 'rows') with ordinality told (row, nth)
    """
    return f"case when {record} ? 'rows' then ({rows}) else {_loud_row(record, quiet)} end"


def _loud_row(row: str, quiet: str) -> str:
    return f"({row} - {_BESIDE}) || jsonb_build_object('facts', coalesce({row} -> 'facts', '{{}}') - {quiet})"
