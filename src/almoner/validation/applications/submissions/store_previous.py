"""SQL for previous applications."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import MAX_INDEX_PATTERNS
from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.applications.submissions.store import UNINDEXED, search_column_for

_EARLIER: Final = """
select coalesce(o.name, s.organisation_name) as name, s.organisation_id, s.id, s.validation_request_id
from (
    select id, organisation_id, validation_request_id, organisation_name from validation_submission
    where {where} order by id desc limit $2
) s left join organisation o on o.id = s.organisation_id
order by s.id desc
"""


async def list_previous_applications(
    tx: Tx,
    partner: Partner,
    organisation_ids: Sequence[UUID] | None,
    request_ids: Sequence[UUID] | None,
    words: Sequence[str],
    limit: int,
) -> list[Record]:
    """Earlier applications with name, organisation, submission and request, newest first; filters combine.

    Each word is a condition of its own, so that the index is used; a list of patterns would scan every row.
    """
    conditions, values = ["partner_id = $1"], list[object]()
    for column, ids in (("organisation_id", organisation_ids), ("validation_request_id", request_ids)):
        if ids is not None:
            values.append(list(ids))
            conditions.append(f"{column} = any(${len(values) + 2}::uuid[])")
    for word in words[:MAX_INDEX_PATTERNS]:
        values.append(f"%{word}%")
        conditions.append(f"{search_column_for(word)} like ${len(values) + 2}")
    if further := words[MAX_INDEX_PATTERNS:]:
        values.append([f"%{word}%" for word in further])
        conditions.append(f"{UNINDEXED} like all(${len(values) + 2}::text[])")
    statement = _EARLIER.format(where=" and ".join(conditions))
    return await tx.fetch(statement, partner.id, limit, *values)
