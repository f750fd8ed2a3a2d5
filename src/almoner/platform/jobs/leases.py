"""Work with an outside call in the middle: prepare in one transaction, call without one, record in another.

What ``prepare_call`` commits is the recovery point: our own row, whose ID is the basis of the provider's idempotency
key. The call holds a lease of 60 s (real time) on that row, under its own token. A crash leaves the lease; once it has
expired, a later call or a job prepares again, finds the row as it was and makes the same call with the same key (I5,
I6).
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

from almoner.kit.errors import ServiceUnavailable
from almoner.platform.database.transactions import AllPartners, Database, Tx

_C = TypeVar("_C", bound="LeasedExternalCall")
_R = TypeVar("_R")
_O = TypeVar("_O", covariant=True)

LEASE: Final = timedelta(seconds=60)
_MOST_ROUNDS: Final = 8
_WAIT_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 20.0  # longer than a provider's slowest response


class LeasedExternalCall(Protocol):
    """The outside call that ``prepare_call`` returns. ``leased_row_id`` is None for a read."""

    @property
    def leased_row_id(self) -> UUID | None:
        """The leased row's ID."""
        ...


@dataclass(frozen=True, slots=True)
class FlowDone(Generic[_O]):
    """The flow has ended with this outcome."""

    outcome: _O


class LeasedExternalCallFlow(Protocol[_C, _R, _O]):
    """A use case in three steps; flows with the same ``name`` lease the same kind of row."""

    @property
    def name(self) -> str:
        """The kind of row that is leased."""
        ...

    async def prepare_call(self, tx: Tx) -> _C | FlowDone[_O]:
        """Check, commit the recovery point, and return the call to make, or the outcome."""
        ...

    async def call_external_service(self, call: _C) -> _R:
        """Make the outside call; must be safe to repeat."""
        ...

    async def record_result(self, tx: Tx, call: _C, result: _R) -> FlowDone[_O] | None:
        """Store the call's result. None: prepare the next call."""
        ...


class CallInProgress(ServiceUnavailable):
    """Another call is using the same record."""

    message = "Another request is already doing this; check again in a moment"


class _LeaseLost(Exception):
    """Rolls back what was recorded after the lease was lost."""


async def run_leased_external_call_flow(db: Database, flow: LeasedExternalCallFlow[_C, _R, _O]) -> _O:
    """Run a flow to its outcome. Raises CallInProgress if another call holds the row too long.

    An unreleased copy makes no calls: it raises UnreleasedDatabaseCopy.
    """
    patience = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    rounds = 0
    while rounds < _MOST_ROUNDS and asyncio.get_running_loop().time() < patience:
        async with db.write() as tx:
            step = await flow.prepare_call(tx)
            if isinstance(step, FlowDone):
                return step.outcome
            db.deployment.identity.ensure_active()  # rolls back what was prepared: a copy leaves no work behind
            holder = tx.new_id()
            taken = step.leased_row_id is None or await acquire_lease(tx, flow.name, step.leased_row_id, holder)
        if not taken:
            await asyncio.sleep(_WAIT_SECONDS)
            continue
        rounds += 1
        try:
            result = await flow.call_external_service(step)
        except BaseException:
            if step.leased_row_id is not None:
                async with db.write() as tx:
                    await release_lease(tx, flow.name, step.leased_row_id, holder)
            raise
        try:
            async with db.write() as tx:
                done = await flow.record_result(tx, step, result)
                # Lock order: the rows first and the lease last, as when it is acquired. Otherwise two callers could
                # deadlock.
                if step.leased_row_id is not None and not await release_lease(
                    tx, flow.name, step.leased_row_id, holder
                ):
                    raise _LeaseLost
        except _LeaseLost:
            continue  # the lease expired and another caller made the call: its result counts
        if done is not None:
            return done.outcome
    raise CallInProgress


async def acquire_lease(tx: Tx, flow_name: str, row_id: UUID, holder_id: UUID) -> bool:
    """Lease the row; False if another holder has it."""
    taken = await tx.fetchval(
        """
        insert into provider_call_lease as held (flow, row_id, holder, leased_until) values ($1, $2, $3, $5)
        on conflict (flow, row_id) do update set holder = excluded.holder, leased_until = excluded.leased_until
        where held.leased_until <= $4 returning true
        """,
        flow_name,
        row_id,
        holder_id,
        tx.real_now,
        tx.real_now + LEASE,
    )
    return bool(taken)


async def release_lease(tx: Tx, flow_name: str, row_id: UUID, holder_id: UUID) -> bool:
    """Release the row; False if the lease was lost."""
    released = await tx.fetchval(
        "delete from provider_call_lease where flow = $1 and row_id = $2 and holder = $3 returning true",
        flow_name,
        row_id,
        holder_id,
    )
    return bool(released)


async def has_expired_leases(tx: Tx, _scope: AllPartners, flow_name: str) -> bool:
    """Whether leases have expired without a recorded result, after a crash."""
    return bool(
        await tx.fetchval(
            "select exists (select from provider_call_lease where flow = $1 and leased_until <= $2)",
            flow_name,
            tx.real_now,
        )
    )


async def take_over_expired_leases(tx: Tx, _scope: AllPartners, flow_name: str, limit: int) -> list[UUID]:
    """Delete expired leases and return their rows, whose flows the caller must finish."""
    rows = await tx.fetch(
        """
        with expired as materialized (
            select flow, row_id from provider_call_lease where flow = $1 and leased_until <= $2
            order by leased_until limit $3 for update skip locked
        )
        delete from provider_call_lease l using expired e where l.flow = e.flow and l.row_id = e.row_id
        returning l.row_id
        """,
        flow_name,
        tx.real_now,
        limit,
    )
    return [row["row_id"] for row in rows]
