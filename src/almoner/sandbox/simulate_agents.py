"""Simulated applicants and reviewers of agent verifications (settled 9)."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedAction, SimulatedActions, parse_reason_code
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import REJECTIONS, AgentVerification, InvalidState
from almoner.validation.decisions.reviews.domain import ReviewDecision

ERRORS: Final = (InvalidState,)

_NOTE: Final = "Simulated by the partner."
_Step = Callable[[Tx, Partner, UUID, SimulateBody], Awaitable[AgentVerification]]


def simulated_agent_actions(db: Database) -> SimulatedActions:
    """Simulated actions on an agent verification."""
    steps: dict[str, _Step] = {"confirm_email": _confirm, "approve": _approve, "reject": _reject}
    return {("agentverification", action): _action_of(db, step) for action, step in steps.items()}


def _action_of(db: Database, step: _Step) -> SimulatedAction:
    async def move(partner: Partner, verification_id: UUID, body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            return agents.serialise_for_api(tx, await step(tx, partner, verification_id, body))

    return move


async def _confirm(tx: Tx, partner: Partner, verification_id: UUID, _body: SimulateBody) -> AgentVerification:
    return await agents.confirm_email(tx, partner, verification_id, "sandbox")


async def _approve(tx: Tx, partner: Partner, verification_id: UUID, _body: SimulateBody) -> AgentVerification:
    return await agents.approve(tx, partner, verification_id, ReviewDecision("accepted", None, "sandbox", _NOTE))


async def _reject(tx: Tx, partner: Partner, verification_id: UUID, body: SimulateBody) -> AgentVerification:
    code = parse_reason_code(REJECTIONS, body.rejection_reason_code, "other")
    return await agents.reject(tx, partner, verification_id, ReviewDecision("rejected", code, "sandbox", _NOTE))
