"""What a quarantined load would change, so that an operator can see it before the load is released or refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.registers import store_merge, store_staging
from almoner.nonprofits.registers.domain import DifferingRow, QuarantinedDifferences
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.database.transactions import Tx

_MAX_ROWS: Final = 50
"""Stored numbers of each kind: added, changed and removed."""
_MAX_COLUMNS: Final = 12
_MAX_LENGTH: Final = 200
"""Stored characters of a value."""


async def find_quarantined_differences(
    tx: Tx,
    source: RegisterSource,
    staging_id: UUID,
    data_date: datetime,
    complete_parts: Sequence[str],
    unchanged_parts: Sequence[str],
) -> QuarantinedDifferences:
    """Compare the staged rows with the current entries, as a merge does."""
    staged = store_staging.staging_table_name(staging_id)
    if source.has_repeated_numbers:
        staged = await store_merge.create_rows_by_number_table(tx, staging_id)
    differences = await store_merge.create_and_count_differences(
        tx,
        source.code,
        staged,
        complete_parts,
        unchanged_parts,
        source.ignored_columns,
        data_date,
        store_merge.FEW_ROWS,
    )
    found = await store_merge.list_staged_differences(tx, staged, _MAX_ROWS)
    rows = [
        DifferingRow(row["number_key"], row["fate"], differing_columns(row["old"] or {}, row["new"] or {}))
        for row in found
    ]
    counts = differences.counts
    return QuarantinedDifferences(counts.added, counts.changed, counts.removed, rows)


def differing_columns(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """The columns in which two records of a number differ, with both values; the name comes first."""
    before, after = dict(_columns(old)), dict(_columns(new))
    different = [one for one in {**before, **after} if before.get(one) != after.get(one)]
    ordered = sorted(different, key=lambda one: (one.rpartition(". ")[2] != "name", one))[:_MAX_COLUMNS]
    return [(one, before.get(one), after.get(one)) for one in ordered]


def _columns(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The columns and facts of a record that have a value; several rows of a number are numbered."""
    for nth, row in enumerate(record.get("rows", ()), 1):
        yield from _columns(row, f"{nth}. ")
    for name, value in {**record, **(record.get("facts") or {})}.items():
        if name not in ("rows", "facts", "prominence") and value not in (None, "", [], {}):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield prefix + name, text[:_MAX_LENGTH]
