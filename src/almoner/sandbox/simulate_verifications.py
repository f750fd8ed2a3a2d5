"""Simulated officers and nonprofits: they decide about monetary donation verifications (settled 9)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import (
    REJECTION_REASONS,
    DecisionGrounds,
    InvalidState,
    MonetaryDonationVerification,
    Outcome,
)
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedAction, SimulatedActions, ensure_required_fields, parse_reason_code

ERRORS: Final = (InvalidState,)
_EVIDENCE: Final = DecisionGrounds("sandbox", "Simulated by the partner.")

_Decide = Callable[[Tx, Partner, UUID, SimulateBody], Awaitable[MonetaryDonationVerification]]


def simulated_monetary_donation_verification_actions(db: Database) -> SimulatedActions:
    """Simulated decisions on a verification."""
    decisions: dict[str, _Decide] = {
        "approve": _approve,
        "reject": _reject,
        "expire": _expire,
        "reopen": _reopen,
        "succeed_check": partial(_end_check, "succeeded"),
        "fail_check": partial(_end_check, "failed"),
    }
    return {("monetarydonationverification", action): _action_of(db, decide) for action, decide in decisions.items()}


def _action_of(db: Database, decide: _Decide) -> SimulatedAction:
    async def move(partner: Partner, verification_id: UUID, body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            return verifications.serialise_for_api(tx, await decide(tx, partner, verification_id, body))

    return move


async def _approve(
    tx: Tx, partner: Partner, verification_id: UUID, _body: SimulateBody
) -> MonetaryDonationVerification:
    return await verifications.approve(tx, partner, verification_id, _EVIDENCE)


async def _reject(tx: Tx, partner: Partner, verification_id: UUID, body: SimulateBody) -> MonetaryDonationVerification:
    reason = parse_reason_code(REJECTION_REASONS, body.rejection_reason_code, "other")
    return await verifications.reject(tx, partner, verification_id, reason, _EVIDENCE)


async def _expire(tx: Tx, partner: Partner, verification_id: UUID, _body: SimulateBody) -> MonetaryDonationVerification:
    return await verifications.expire_verification_now(tx, partner, verification_id)


async def _reopen(tx: Tx, partner: Partner, verification_id: UUID, _body: SimulateBody) -> MonetaryDonationVerification:
    return await verifications.reopen(tx, partner, verification_id, _EVIDENCE)


async def _end_check(
    outcome: Outcome, tx: Tx, partner: Partner, verification_id: UUID, body: SimulateBody
) -> MonetaryDonationVerification:
    ensure_required_fields(type=body.type)
    assert body.type is not None, "needed says so"
    return await verifications.record_check_outcome(
        tx, partner, verification_id, body.type, outcome, decided_by=_EVIDENCE.decided_by
    )
