"""Simulates what other people do to a partner's records (settled 9).

Each kind of record has a module of its own, ``simulate_donations`` and so on, that says what can be done to it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from pydantic import ValidationError

from almoner.kit.errors import BadRequest, IncorrectParams, NotFound
from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import Partner
from almoner.platform.http.errors import validation_error_messages
from almoner.platform.http.wire import RequestBody, ResponseRecord
from almoner.sandbox.schemas import SimulateBody

B = TypeVar("B", bound=RequestBody)
C = TypeVar("C", bound=str)

SimulatedAction = Callable[[Partner, UUID, SimulateBody], Awaitable[ResponseRecord]]
"""Performs one action on a record of the partner, in its own transactions, and returns the record. Raises NotFound."""

SimulatedActions = Mapping[tuple[str, str], SimulatedAction]
"""All actions, by ID type and action name."""


class SandboxRecordNotFound(BadRequest):
    code = "sandbox/record_not_found"
    message = "None of your records that support this action has this ID"


class Simulation:
    """All simulated actions by record type."""

    def __init__(self, ids: RecordIdCodec, *moves: SimulatedActions) -> None:
        self._ids = ids
        self._moves = {named: move for some in moves for named, move in some.items()}

    @property
    def action_names_by_type(self) -> dict[str, list[str]]:
        """The possible actions by identifier type."""
        found: dict[str, list[str]] = {}
        for type_, action in sorted(self._moves):
            found.setdefault(type_, []).append(action)
        return found

    async def run_action(self, partner: Partner, body: SimulateBody) -> ResponseRecord:
        """Run an action; returns the changed record. Raises SandboxRecordNotFound."""
        for (type_, action), move in self._moves.items():
            if action == body.action and (record_id := self._ids.decode(type_, body.id)):
                with suppress(NotFound):
                    return await move(partner, record_id, body)
        raise SandboxRecordNotFound(f"body.id '{body.id}' names nothing that {body.action} can be done to")


def ensure_required_fields(**given: object) -> None:
    """Raises IncorrectParams naming everything that the action needs and the body lacks."""
    missing = [f"body.{name} is required for this action" for name, value in given.items() if value is None]
    if missing:
        raise IncorrectParams(*missing)


def parse_simulated_results(
    body_model: type[B], results: Mapping[str, Any], response_record: type[msgspec.Struct]
) -> B:
    """The results of a subscription. ``response_record``: as its record shows them. Raises IncorrectParams."""
    try:
        return body_model.model_validate(results)
    except ValidationError as wrong:
        raise IncorrectParams(*validation_error_messages(wrong, "body.results", body_model, response_record)) from None


def parse_reason_code(codes: Sequence[C], requested_code: str | None, default: C) -> C:
    """The given reason code, or the default. Raises IncorrectParams for an unknown code."""
    if requested_code is None:
        return default
    for code in codes:
        if code == requested_code:
            return code
    raise IncorrectParams(f"body.rejectionReasonCode must be one of {', '.join(codes)} for this record")
