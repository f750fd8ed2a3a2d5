"""SQL of what was applied for before."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.db import Partner, Tx

EARLIER: Final = """
select coalesce(o.display_name, o.name, s.organisation_name) as name, s.organisation_id, s.id, s.validation_request_id
from validation_submission s left join organisation o on o.id = s.organisation_id
where s.partner_id = $1
    and ($2::uuid[] is null or s.organisation_id = any($2))
    and ($3::uuid[] is null or s.validation_request_id = any($3))
    and s.search_name like all ($4::text[])
order by s.id desc limit $5
"""


async def earlier(
    tx: Tx,
    partner: Partner,
    organisation_ids: Sequence[UUID] | None,
    request_ids: Sequence[UUID] | None,
    words: Sequence[str],
    limit: int,
) -> list[Record]:
    """Name, organisation, submission and request of what was applied for, newest first: all that is given must hold."""
    patterns = [f"%{word}%" for word in words]
    return await tx.fetch(EARLIER, partner.id, organisation_ids, request_ids, patterns, limit)
