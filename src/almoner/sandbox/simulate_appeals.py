"""Simulated operators: they decide about appeals. Settled 9 lists none for these; they are added to it."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions
from almoner.validation.applications.submissions.domain import InvalidState
from almoner.validation.decisions.appeals import service as appeals
from almoner.validation.decisions.appeals.domain import Appeal
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewRefused

ERRORS: Final = (InvalidState,)
_NOTE: Final = "Simulated by the partner."
_Decide = Callable[[Tx, Partner, UUID, ReviewDecision], Awaitable[Appeal]]


def simulated_appeal_actions(db: Database) -> SimulatedActions:
    """Simulated decisions on an appeal."""

    async def decided(partner: Partner, appeal_id: UUID, decide: _Decide, decision: ReviewDecision) -> ResponseRecord:
        try:
            async with db.write() as tx:
                return appeals.serialise_for_api(tx, await decide(tx, partner, appeal_id, decision))
        except ReviewRefused as refused:
            raise InvalidState(str(refused)) from None

    async def uphold(partner: Partner, appeal_id: UUID, _body: SimulateBody) -> ResponseRecord:
        return await decided(
            partner,
            appeal_id,
            appeals.uphold_original_decision,
            ReviewDecision("rejected", "decision_stands", "sandbox", _NOTE),
        )

    async def reverse(partner: Partner, appeal_id: UUID, _body: SimulateBody) -> ResponseRecord:
        return await decided(
            partner, appeal_id, appeals.reverse_original_decision, ReviewDecision("accepted", None, "sandbox", _NOTE)
        )

    return {("appeal", "uphold"): uphold, ("appeal", "reverse"): reverse}
