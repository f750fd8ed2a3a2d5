"""Simulated reviewers: they decide about validation requests (settled 9)."""

from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions, parse_reason_code
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import REJECTION_REASONS, InvalidState

ERRORS: Final = (InvalidState,)
_NOTE: Final = "Simulated by the partner."


def simulated_validation_request_actions(db: Database) -> SimulatedActions:
    """Simulated decisions on a validation request."""

    async def accept(partner: Partner, request_id: UUID, _body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            decision = ReviewDecision("accepted", None, "sandbox", _NOTE)
            return validation_requests.serialise_for_api(
                tx, await validation_requests.accept(tx, partner, request_id, decision)
            )

    async def reject(partner: Partner, request_id: UUID, body: SimulateBody) -> ResponseRecord:
        reason = parse_reason_code(REJECTION_REASONS, body.rejection_reason_code, "other")
        async with db.write() as tx:
            decision = ReviewDecision("rejected", reason, "sandbox", _NOTE)
            return validation_requests.serialise_for_api(
                tx, await validation_requests.reject(tx, partner, request_id, decision)
            )

    return {("validationrequest", "accept"): accept, ("validationrequest", "reject"): reject}
