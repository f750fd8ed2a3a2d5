"""Simulated results of eligibility subscriptions (settled 9)."""

from collections.abc import Sequence
from typing import Annotated, Final
from uuid import UUID

import msgspec
from pydantic import BeforeValidator, Field

from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import RequestBody, ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions, ensure_required_fields, parse_simulated_results
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.eligibility.domain import EligibilityStatus, InvalidState, InvalidSubTags

ERRORS: Final = (InvalidState, InvalidSubTags)
_MEMBERS: Final = {field.encode_name for field in msgspec.structs.fields(eligibility.EligibilityDecidedSubTagResponse)}


def _sub_tag_id(value: object) -> object:
    """The id of a sub-tag, also of one as the record shows it."""
    if isinstance(value, dict) and value.keys() <= _MEMBERS:
        return value.get("id")
    return value


_SubTags = Annotated[list[Annotated[str, BeforeValidator(_sub_tag_id)]], Field(max_length=100)]


class SimulatedEligibilityResultsBody(RequestBody):
    """The results to set: sub-tags by their ids, or as the record shows them."""

    eligibility_status: EligibilityStatus | None
    confirmed_activity_sub_tags: _SubTags = Field(default_factory=list)
    rejected_activity_sub_tags: _SubTags = Field(default_factory=list)


def simulated_eligibility_actions(db: Database) -> SimulatedActions:
    """Simulated actions on an eligibility subscription."""

    async def set_results(partner: Partner, subscription_id: UUID, body: SimulateBody) -> ResponseRecord:
        ensure_required_fields(results=body.results)
        results = parse_simulated_results(
            SimulatedEligibilityResultsBody, body.results or {}, eligibility.EligibilityResultsResponse
        )
        async with db.write() as tx:

            def codes(texts: Sequence[str]) -> tuple[str, ...]:
                return eligibility.parse_sub_tag_ids(tx, texts, "results")

            changed = await eligibility.simulate_results(
                tx,
                partner,
                subscription_id,
                results.eligibility_status,
                codes(results.confirmed_activity_sub_tags),
                codes(results.rejected_activity_sub_tags),
            )
            return eligibility.serialise_for_api(tx, changed)

    return {("eligibilitysubscription", "set_results"): set_results}
