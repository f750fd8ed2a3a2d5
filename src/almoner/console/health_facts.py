"""The data of the health overview: one line for each part of the service, with advice on how to fix problems."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from almoner.access.keys import service as keys
from almoner.access.notifications import service as notifications
from almoner.access.operators import service as operators
from almoner.console.context import MOST_COUNTED
from almoner.platform.audit import chain as audit_chain
from almoner.platform.database.transactions import Tx
from almoner.platform.events import dispatcher
from almoner.platform.jobs import dead_jobs, processes
from almoner.platform.jobs.dead_jobs import JobKindStatus
from almoner.platform.jobs.processes import RegisteredProcess
from almoner.platform.observability import backups, selfcheck
from almoner.platform.observability.backups import BackupReport
from almoner.platform.observability.selfcheck import StoredCheckResult
from almoner.webhooks.subscriptions import service as subscriptions

EXPIRY_NOTICE: Final = timedelta(days=30)
"""Keys and tokens are listed this long before they expire."""

_MAX_EVENT_LAG: Final = 30.0
_MAX_AUDIT_LAG: Final = 600.0
_MAX_WAIT: Final = timedelta(minutes=15)
_SELFCHECK_AGE: Final = timedelta(hours=50)

HealthState = Literal["healthy", "attention", "failing"]


@dataclass(frozen=True, slots=True)
class HealthCheckResult:
    """A line of the health overview.

    ``advice``: how to fix the problem. ``path``: a page with details, below ``/operator``.
    """

    name: str
    state: HealthState
    found: str
    advice: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ExpiringCredential:
    """A key or token that expires soon.

    ``owner``: the ID of the partner or the name of the operator that it belongs to.
    """

    name: str
    owner: str
    expires_at: datetime


async def load_health_check_results(tx: Tx) -> list[HealthCheckResult]:
    """Load all lines of the health overview. A likely cause comes before its effects."""
    live = await processes.list_processes(tx)
    return [
        *_process_lines(live, tx.real_now),
        *_outside_lines(live),
        await _event_line(tx),
        *_queue_lines(await dead_jobs.list_job_kind_statuses(tx), tx.now),
        await _receiver_line(tx),
        await _email_line(tx),
        await _audit_line(tx),
        _selfcheck_line(await selfcheck.list_stored_check_results(tx), tx.now),
        *([] if tx.deployment.sandbox else _backup_lines(await backups.list_backups(tx), tx.real_now)),
        _expiry_line(await list_expiring_credentials(tx)),
    ]


def _process_lines(live: Sequence[RegisteredProcess], real_now: datetime) -> list[HealthCheckResult]:
    alive = [one for one in live if one.is_alive(real_now)]
    servers = sum(one.role != "worker" for one in alive)
    workers = sum(one.role != "server" for one in alive)
    found = f"{_counted(servers, 'server')} and {_counted(workers, 'worker')} are running"
    path = "/health/processes"
    lines = [
        HealthCheckResult("Processes", "healthy", found, path=path)
        if servers and workers
        else HealthCheckResult(
            "Processes",
            "failing",
            found,
            "Start the missing processes with `almoner serve` and `almoner worker`.",
            path,
        )
    ]
    if len(versions := sorted({one.version for one in alive})) > 1:
        advice = "Finish the upgrade. See docs/runbooks/upgrade.md."
        lines.append(
            HealthCheckResult(
                "Versions", "attention", f"Different versions are running: {', '.join(versions)}", advice, path
            )
        )
    return lines


def _outside_lines(live: Sequence[RegisteredProcess]) -> list[HealthCheckResult]:
    """The results of the workers' latest checks of external services.

    A problem that several workers report is listed once.
    """
    seen = {(check.name, check.found): check for one in live for check in one.checks}
    wrong = [check for check in seen.values() if check.status in ("failed", "warning")]
    path = "/health/processes"
    if wrong:
        return [
            HealthCheckResult(
                one.name.capitalize(), "failing" if one.status == "failed" else "attention", one.found, one.advice, path
            )
            for one in wrong
        ]
    if not seen:
        return [
            HealthCheckResult(
                "Connections",
                "attention",
                "No background worker has checked the connections yet",
                "Check that a worker is running.",
                path,
            )
        ]
    return [HealthCheckResult("Connections", "healthy", f"{_counted(len(seen), 'check')} passed", path=path)]


async def _event_line(tx: Tx) -> HealthCheckResult:
    lag = await dispatcher.dispatch_lag_seconds(tx)
    if lag <= _MAX_EVENT_LAG:
        return HealthCheckResult(
            "Events",
            "healthy",
            f"The oldest undispatched event has been waiting for {lag:.0f} s",
            path="/health/queues",
        )
    found = f"The oldest undispatched event has been waiting for {lag:.0f} s"
    return HealthCheckResult("Events", "failing", found, "See docs/runbooks/stuck-queue.md.", "/health/queues")


def _queue_lines(kinds: Sequence[JobKindStatus], now: datetime) -> list[HealthCheckResult]:
    due, running, dead = (sum(getattr(one, name) for one in kinds) for name in ("due", "running", "dead"))
    oldest = min((one.oldest_due_at for one in kinds if one.oldest_due_at), default=now)
    found = f"{_counted(due, 'job')} due, {running:,} running"
    late = now - oldest
    lines = [
        HealthCheckResult("Queue", "healthy", found, path="/health/queues")
        if late <= _MAX_WAIT
        else HealthCheckResult(
            "Queue",
            "attention",
            f"{found}; the oldest is {late.total_seconds() / 60:.0f} minutes late",
            "Check that background workers are running, and find out why the oldest jobs are being retried.",
            "/health/queues",
        )
    ]
    if dead:
        advice = "Find out why each job failed. Fix the cause and retry the job, or drop the job."
        lines.append(HealthCheckResult("Jobs", "attention", f"{_counted(dead, 'failed job')}", advice, "/health/jobs"))
    return lines


async def _receiver_line(tx: Tx) -> HealthCheckResult:
    failing, suspended = await subscriptions.count_unhealthy_receivers(tx)
    path = "/health/receivers"
    if not failing and not suspended:
        return HealthCheckResult("Webhook receivers", "healthy", "All webhook endpoints are working", path=path)
    found = f"{failing:,} failing, {suspended:,} suspended"
    return HealthCheckResult(
        "Webhook receivers",
        "attention",
        found,
        "Contact the partner. The partner can replay missed events for 90 days.",
        path,
    )


async def _email_line(tx: Tx) -> HealthCheckResult:
    count = await notifications.count_undeliverable_emails(tx, MOST_COUNTED + 1)
    path = "/health/emails"
    if not count:
        return HealthCheckResult("Emails", "healthy", "All emails were delivered", path=path)
    counted = f"More than {MOST_COUNTED:,} emails" if count > MOST_COUNTED else _counted(count, "email")
    advice = "Correct the addresses or fix the mail server, and then resend the emails."
    return HealthCheckResult("Emails", "attention", f"{counted} could not be delivered", advice, path)


async def _audit_line(tx: Tx) -> HealthCheckResult:
    lag = await audit_chain.measure_chain_lag_seconds(tx)
    if lag <= _MAX_AUDIT_LAG:
        return HealthCheckResult(
            "Audit log", "healthy", "The hash chain contains all audit log entries", path="/audit-log"
        )
    found = f"The oldest audit log entry that is missing from the hash chain is {lag:.0f} s old"
    return HealthCheckResult(
        "Audit log",
        "failing",
        found,
        "Check that a background worker is running. See docs/runbooks/audit.md.",
        "/audit-log",
    )


def _selfcheck_line(records: Sequence[StoredCheckResult], now: datetime) -> HealthCheckResult:
    name, path = "Self-check", "/health/findings"
    if not records:
        return HealthCheckResult(name, "attention", "The self-check has not run yet", "Run the self-check now.", path)
    checked_at = max(one.checked_at for one in records)
    broken = sum(one.violation_count > 0 for one in records)
    found = f"{broken:,} of {len(records):,} checks found problems" if broken else f"{len(records):,} checks passed"
    if broken:
        return HealthCheckResult(name, "failing", found, "Open the self-check to see how to fix each problem.", path)
    if now - checked_at > _SELFCHECK_AGE:
        return HealthCheckResult(
            name,
            "attention",
            f"The self-check last ran on {checked_at:%Y-%m-%d}",
            "Check that a worker is running.",
            path,
        )
    return HealthCheckResult(name, "healthy", found, path=path)


def _backup_lines(reports: Sequence[BackupReport], real_now: datetime) -> list[HealthCheckResult]:
    lines = []
    for one in reports:
        name = f"Backup of the {one.part}"
        seen = f"Last seen {one.finished_at:%Y-%m-%d %H:%M} UTC" if one.finished_at else "Never reported"
        recent = one.is_recent(real_now)
        advice = "" if recent else "Run the backup. See docs/runbooks/backup.md."
        lines.append(HealthCheckResult(name, "healthy" if recent else "attention", seen, advice, "/health/processes"))
    return lines


async def list_expiring_credentials(tx: Tx) -> list[ExpiringCredential]:
    """Keys and tokens that expire within ``EXPIRY_NOTICE``, in the order of their expiry."""
    until = tx.real_now + EXPIRY_NOTICE
    found = [
        ExpiringCredential(
            f"API key {one.name} (...{one.hint})", tx.ids.encode("partner", one.partner_id), one.expires_at
        )
        for one in await keys.list_expiring(tx, tx.real_now, until)
        if one.expires_at is not None
    ]
    people = {one.person.id: one.person for one in await operators.list_operators(tx)}
    found += [
        ExpiringCredential(
            f"Operator token {one.name} (...{one.hint})", people[one.person_id].display_name, one.expires_at
        )
        for one in await operators.list_tokens(tx)
        if one.is_valid(tx.real_now) and one.expires_at <= until and people[one.person_id].active
    ]
    return sorted(found, key=lambda one: one.expires_at)


def _expiry_line(expiries: Sequence[ExpiringCredential]) -> HealthCheckResult:
    name, path = "Keys and tokens", "/health/processes"
    if not expiries:
        return HealthCheckResult(
            name, "healthy", f"No key or token expires within {EXPIRY_NOTICE.days} days", path=path
        )
    found = f"{len(expiries):,} expire within {EXPIRY_NOTICE.days} days, the first on {expiries[0].expires_at:%Y-%m-%d}"
    return HealthCheckResult(name, "attention", found, "Rotate keys and tokens before they expire.", path)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
