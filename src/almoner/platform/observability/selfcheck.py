"""The self-check: rules between rows of different tables, checked on one snapshot of the running service.

A slice declares its rules in ``checks.py``; wiring collects them; ``almoner selfcheck`` and a nightly job run them. All
queries use one snapshot (REPEATABLE READ, read only), so that changes in progress cause no false alarm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails, Result
from almoner.platform.observability.telemetry import Telemetry

_RUN: Final = JobKind("selfcheck.run", NoDetails)
NIGHTLY: Final = "selfcheck.nightly"
_NIGHT_HOUR: Final = 3
"""UTC, by the business clock."""
EXAMPLES: Final = 10

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ConsistencyCheck:
    """One consistency check.

    ``sql`` selects one column for each row that violates it: a UUID of the type ``violating_id_type``, or a text that
    describes it. It may read ``(select at from moment)``, the business time, ``(select wall from moment)``, the real
    time, and ``(select copy from moment)``: why the database is considered an unreleased copy, or null. ``advice``:
    what to do, in one sentence.
    """

    name: str
    invariant: str
    advice: str
    sql: str
    violating_id_type: str | None = None

    @property
    def statement(self) -> str:
        """The full SQL: the number of violations and some examples."""
        return f"""
            with moment as materialized (select $1::timestamptz as at, $2::timestamptz as wall, $3::text as copy),
            found (example) as materialized ({self.sql})
            select (select count(*) from found) as count,
                   array(select example::text from found order by 1 limit {EXAMPLES}) as examples
        """


@dataclass(frozen=True, slots=True)
class Finding:
    """The violations of a check: their number and some examples."""

    check: ConsistencyCheck
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SelfcheckOutcome:
    """The result of one self-check, and how long it took."""

    findings: tuple[Finding, ...]
    check_count: int
    seconds: float


ReportCheckProgress = Callable[[int, ConsistencyCheck], None]
"""Called before each check with the number of finished checks and the next check."""


async def run_consistency_checks(
    tx: Tx, checks: Sequence[ConsistencyCheck], report_progress: ReportCheckProgress | None = None
) -> SelfcheckOutcome:
    """Run all checks in the caller's snapshot transaction."""
    started = monotonic()
    findings = []
    for asked, check in enumerate(checks):
        if report_progress:
            report_progress(asked, check)
        if (finding := await _run_check(tx, check)) is not None:
            findings.append(finding)
    return SelfcheckOutcome(tuple(findings), len(checks), monotonic() - started)


async def _run_check(tx: Tx, check: ConsistencyCheck) -> Finding | None:
    statement = check.statement
    row = await tx.fetchrow(
        statement, tx.now, tx.real_now, copy.reason if (copy := tx.deployment.identity.copy) else None
    )
    if row is None or row["count"] == 0:
        return None
    shows = check.violating_id_type
    named = (tx.ids.encode(shows, UUID(example)) if shows else example for example in row["examples"])
    return Finding(check, row["count"], tuple(named))


@dataclass(frozen=True, slots=True)
class StoredCheckResult:
    """The result of the last self-check of a running service, for one check."""

    name: str
    invariant: str
    advice: str
    violation_count: int
    examples: tuple[str, ...]
    checked_at: datetime


async def record_selfcheck_outcome(tx: Tx, checks: Sequence[ConsistencyCheck], outcome: SelfcheckOutcome) -> None:
    """Store the results of a self-check in place of earlier ones."""
    found = {finding.check.name: finding for finding in outcome.findings}
    await tx.execute("delete from selfcheck_result where name <> all($1::text[])", [check.name for check in checks])
    await tx.executemany(
        """
        insert into selfcheck_result (name, invariant, advice, found, examples, checked_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (name) do update
        set invariant = excluded.invariant, advice = excluded.advice, found = excluded.found,
            examples = excluded.examples, checked_at = excluded.checked_at
        """,
        [
            (
                check.name,
                check.invariant,
                check.advice,
                found[check.name].count if check.name in found else 0,
                list(found[check.name].examples) if check.name in found else [],
                tx.now,
            )
            for check in checks
        ],
    )


async def list_stored_check_results(tx: Tx) -> list[StoredCheckResult]:
    """The results of the last self-check, failed checks first."""
    rows = await tx.fetch(
        """
        select name, invariant, advice, found, examples, checked_at from selfcheck_result
        order by found = 0, name
        """
    )
    return [
        StoredCheckResult(
            row["name"], row["invariant"], row["advice"], row["found"], tuple(row["examples"]), row["checked_at"]
        )
        for row in rows
    ]


async def run_selfcheck(
    db: Database, checks: Sequence[ConsistencyCheck], report_progress: ReportCheckProgress | None = None
) -> SelfcheckOutcome:
    """Run all checks on one snapshot."""
    async with db.snapshot() as tx:
        return await run_consistency_checks(tx, checks, report_progress)


@dataclass(frozen=True, slots=True)
class SelfcheckJobDependencies:
    """The checks of the nightly job, and where it reports findings."""

    checks: Sequence[ConsistencyCheck]
    telemetry: Telemetry


run_tasks: Final = DependentTaskRegistry[SelfcheckJobDependencies]()


@run_tasks.job(_RUN)
async def run_nightly_selfcheck(
    dependencies: SelfcheckJobDependencies, context: JobContext, _job: DecodedJob[NoDetails]
) -> Result:
    """Run all checks; violations are counted and logged."""
    checks, telemetry = dependencies.checks, dependencies.telemetry
    outcome = await run_selfcheck(context.db, checks)
    async with context.db.write() as tx:
        await record_selfcheck_outcome(tx, checks, outcome)
    found = {finding.check.name: finding for finding in outcome.findings}
    for check in checks:
        telemetry.selfcheck_findings.labels(check.name).set(found[check.name].count if check.name in found else 0)
    telemetry.selfcheck_at.set(context.db.deployment.clock.now().timestamp())
    telemetry.log(
        "selfcheck",
        context.db.deployment.clock.real_now(),
        level="error" if found else "info",
        checks=outcome.check_count,
        seconds=round(outcome.seconds, 3),
        findings=[
            {"check": name, "count": finding.count, "examples": finding.examples, "advice": finding.check.advice}
            for name, finding in found.items()
        ],
    )
    return JobDone()


async def next_selfcheck_at(tx: Tx) -> datetime | None:
    """The night after the last self-check; now if there was none."""
    last_run_at: datetime | None = await tx.fetchval("select last_run_at from schedule where name = $1", NIGHTLY)
    if last_run_at is None:
        return tx.now
    night = last_run_at.replace(hour=_NIGHT_HOUR, minute=0, second=0, microsecond=0)
    return night if night > last_run_at else night + _DAY


async def enqueue_selfcheck(tx: Tx, _limit: int = 1) -> int:
    """Enqueue a self-check job. The sweep itself processes no record."""
    await _RUN.enqueue(tx, NoDetails(), unique_key=NIGHTLY)
    return 0


tasks: Final = TaskRegistry()
tasks.add_periodic_job(NIGHTLY, next_selfcheck_at, enqueue_selfcheck)
