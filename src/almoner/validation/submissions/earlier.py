"""To find earlier applications of the same nonprofit (settled 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.nonprofits.organisations.domain import sought
from almoner.platform.db import Partner, Tx
from almoner.validation.submissions import store_earlier

_MOST: Final = 100
_NEVER: Final = "?"
"""In no searched text: what a query without any word finds."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A nonprofit that was applied for, with the submission."""

    name: str
    organisation_id: UUID | None
    validation_submission_id: UUID
    validation_request_id: UUID | None


async def find(
    tx: Tx, partner: Partner, query: str | None, organisation_ids: Sequence[str], request_ids: Sequence[str]
) -> list[Earlier]:
    """What the partner's applicants applied for, newest first. Raises IncorrectParams for malformed ids."""
    wrong: list[str] = []

    def ids(name: str, texts: Sequence[str], type_: str) -> list[UUID] | None:
        found = [tx.ids.parse(type_, text) for text in texts]
        if None in found:
            wrong.append(f"query.{name} must hold ids of type {type_}")
        return [one for one in found if one] if texts else None

    organisations = ids("organisationIds[]", organisation_ids, "organisation")
    requests = ids("validationRequestIds[]", request_ids, "validationrequest")
    if wrong:
        raise IncorrectParams(*wrong)
    words = (sought(query) or (_NEVER,)) if query else ()
    rows = await store_earlier.earlier(tx, partner, organisations, requests, words, _MOST)
    return [Earlier(*row) for row in rows]
