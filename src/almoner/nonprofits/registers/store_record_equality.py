"""SQL that compares two records of one number, except for the facts that its source ignores."""

from typing import Final

_BESIDE: Final = "array['facts', 'prominence']"
"""Members compared differently or not at all: facts are compared separately, and prominence only orders results."""


def record_equality_condition(record_sql: str, other_record_sql: str, ignored_columns_sql: str) -> str:
    """The SQL condition.

    ``record_sql``, ``other_record_sql``: stored jsonb; ``ignored_columns_sql``: text[] of the ignored facts. If a
    number has several rows, ignored facts are ignored in each of them.
    """
    one, other = (_compared_record(record, ignored_columns_sql) for record in (record_sql, other_record_sql))
    return f"({one}) = ({other})"


def _compared_record(record: str, ignored: str) -> str:
    rows = f"""
        select jsonb_agg({_compared_row("told.row", ignored)} order by told.nth)
        from jsonb_array_elements({record} -> 'rows') with ordinality told (row, nth)
    """
    return f"case when {record} ? 'rows' then ({rows}) else {_compared_row(record, ignored)} end"


def _compared_row(row: str, ignored: str) -> str:
    return f"({row} - {_BESIDE}) || jsonb_build_object('facts', coalesce({row} -> 'facts', '{{}}') - {ignored})"
