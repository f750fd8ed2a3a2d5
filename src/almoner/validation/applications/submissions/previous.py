"""Finds earlier applications of the same nonprofit (settled 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.applications.submissions import search_text, store_previous

_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class PreviousApplication:
    """An earlier application of a nonprofit."""

    name: str
    organisation_id: UUID | None
    validation_submission_id: UUID
    validation_request_id: UUID | None


@dataclass(frozen=True, slots=True)
class PreviousApplicationPage:
    """The newest earlier applications, and whether there are more."""

    results: list[PreviousApplication]
    has_more: bool


async def find_previous_applications(
    tx: Tx, partner: Partner, query: str | None, organisation_ids: Sequence[str], request_ids: Sequence[str]
) -> PreviousApplicationPage:
    """Find earlier applications of the partner's applicants, newest first. Raises IncorrectParams for malformed IDs."""
    wrong: list[str] = []
    organisations = search_text.parse_id_parameter(tx.ids, "organisationIds[]", organisation_ids, "organisation", wrong)
    requests = search_text.parse_id_parameter(tx.ids, "validationRequestIds[]", request_ids, "validationrequest", wrong)
    if wrong:
        raise IncorrectParams(*wrong)
    words = search_text.parse_search_words(query)
    rows = await store_previous.list_previous_applications(tx, partner, organisations, requests, words, _MOST + 1)
    return PreviousApplicationPage([PreviousApplication(*row) for row in rows[:_MOST]], len(rows) > _MOST)
