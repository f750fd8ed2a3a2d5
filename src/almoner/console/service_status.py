"""The data of the public status page: parts of the service, registers and incidents. It contains no partner data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import Tx
from almoner.platform.events import dispatcher
from almoner.platform.jobs import dead_jobs, processes
from almoner.platform.observability import incidents
from almoner.platform.observability.incidents import AFFECTED, EVERYTHING, Incident

PartState = Literal["operational", "delayed", "outage"]

_SHOWN_FOR: Final = timedelta(days=14)
"""How long a resolved incident stays on the status page."""
_MOST_INCIDENTS: Final = 20
_MAX_WAIT: Final = timedelta(minutes=5)
_MAX_EVENT_LAG: Final = timedelta(seconds=30)
_PARTS_OF_JOBS: Final[Mapping[str, str]] = {
    "webhooks": "webhooks",
    "donations": "payments",
    "donation_subscriptions": "payments",
    "refunds": "payments",
    "suspense": "payments",
    "disbursements": "disbursements",
    "verifications": "disbursements",
    "validation_requests": "validation",
    "validation_submissions": "validation",
    "agent_verifications": "validation",
    "monitoring_subscriptions": "validation",
    "eligibility_subscriptions": "validation",
}
"""The part of the service that depends on a kind of background job, by the first word of the job kind."""
_PARTS_OF_CHECKS: Final = {"mail server": "emails", "payment provider": "payments"}
"""The part of the service that is affected if a worker's check of an external service fails."""


@dataclass(frozen=True, slots=True)
class ServiceComponent:
    """A part of the service. ``found``: a sentence about its status."""

    key: str
    state: PartState
    found: str

    @property
    def name(self) -> str:
        """The display name of the part."""
        return AFFECTED[self.key]


@dataclass(frozen=True, slots=True)
class RegisterFreshness:
    """The date of a register's newest data. ``late``: whether the data exceeds the maximum age."""

    code: str
    name: str
    data_as_of: datetime
    late: bool


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The status of the service.

    ``made_at``: when the status was generated, by the real clock. ``now``: the reference time for ages.
    """

    made_at: datetime
    now: datetime
    parts: Sequence[ServiceComponent]
    registers: Sequence[RegisterFreshness]
    incidents: Sequence[Incident]

    @property
    def state(self) -> Literal["operational", "delayed", "incident", "outage"]:
        """The most serious status of all parts."""
        states = {one.state for one in self.parts}
        if "outage" in states:
            return "outage"
        if any(one.resolved_at is None for one in self.incidents):
            return "incident"
        return "delayed" if "delayed" in states or any(one.late for one in self.registers) else "operational"


async def load_status(tx: Tx, email_kinds: frozenset[str]) -> ServiceStatus:
    """Load the status of the service. ``email_kinds``: the kinds of jobs that send an email."""
    alive = [one for one in await processes.list_processes(tx) if one.is_alive(tx.real_now)]
    failed = {_PARTS_OF_CHECKS.get(check.name) for one in alive for check in one.checks if check.status == "failed"}
    lags = _lags(await dead_jobs.load_oldest_due_times_by_kind(tx), email_kinds, tx.now)
    event_lag = timedelta(seconds=await dispatcher.dispatch_lag_seconds(tx))
    if event_lag > _MAX_EVENT_LAG:
        lags["webhooks"] = max(event_lag, lags.get("webhooks", timedelta()))
    works = any(one.role != "server" for one in alive)
    answers = any(one.role != "worker" for one in alive)
    found = "Servers are responding." if answers else "No server is running."
    parts = [ServiceComponent("api", "operational" if answers else "outage", found)]
    parts += [
        _part(key, works=works and key not in failed, lag=lags.get(key, timedelta()))
        for key in AFFECTED
        if key not in (EVERYTHING, "api", "registers")
    ]
    return ServiceStatus(
        tx.real_now,
        tx.now,
        parts,
        await _register_ages(tx),
        await incidents.list_public_incidents(tx, tx.now - _SHOWN_FOR, _MOST_INCIDENTS),
    )


def _lags(oldest: Mapping[str, datetime], email_kinds: Iterable[str], now: datetime) -> dict[str, timedelta]:
    """The delay of each part that is delayed."""
    found: dict[str, timedelta] = {}
    for kind, due_at in oldest.items():
        key = "emails" if kind in email_kinds else _PARTS_OF_JOBS.get(kind.partition(".")[0])
        if key is not None and now - due_at > _MAX_WAIT:
            found[key] = max(now - due_at, found.get(key, timedelta()))
    return found


def _part(key: str, *, works: bool, lag: timedelta) -> ServiceComponent:
    if not works:
        return ServiceComponent(
            key,
            "outage",
            "This part of the service is not working at the moment. Pending items will be processed later.",
        )
    if lag:
        minutes = -(-lag // timedelta(minutes=1))
        return ServiceComponent(key, "delayed", f"Delayed by up to {minutes:,} minutes.")
    return ServiceComponent(key, "operational", "On time.")


async def _register_ages(tx: Tx) -> list[RegisterFreshness]:
    late = {one.registry_code for one in await registers.list_source_freshness(tx) if one.is_stale(tx.now)}
    return [
        RegisterFreshness(one.code, one.english_name, one.data_as_of, one.code in late)
        for one in await registries.list_registries(tx)
        if one.data_as_of is not None
    ]
