"""The nightly self-check: when it runs, what it says, and that traffic gives no false alarm."""

import asyncio
from datetime import datetime, timedelta

from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from almoner.platform.observability import selfcheck
from almoner.platform.observability.selfcheck import EXAMPLES, ConsistencyCheck
from tests.worker.conftest import Ground

FINE = ConsistencyCheck("toy.fine", "Nothing", "Nothing", "select 'x' where false")
BROKEN = ConsistencyCheck(
    "toy.broken", "No number is above 3", "Take smaller ones", "select 'n' || n from generate_series(4, 99) n"
)
TIMES = ConsistencyCheck(
    "toy.times",
    "Both times are known",
    "Look at the clock",
    "select 'late' where (select at from moment) is null or (select wall from moment) is null",
)


def background(ground: Ground, *checks: ConsistencyCheck) -> BackgroundWorker:
    """What one process does at night."""
    duties = merge_background_tasks(
        [selfcheck.tasks, selfcheck.run_tasks.bind(selfcheck.SelfcheckJobDependencies(checks, ground.telemetry))]
    )
    return BackgroundWorker(ground.db, duties, ground.telemetry)


def said(ground: Ground) -> list[dict[str, object]]:
    """The lines of self-checks."""
    return [line for line in ground.log if line["event"] == "selfcheck"]


async def test_it_runs_at_once_the_first_time_and_then_every_night_at_three(ground: Ground) -> None:
    night = background(ground, FINE)
    for _ in range(2):
        await night.drain()
    assert len(said(ground)) == 1
    three = ground.clock.now().replace(hour=3, minute=0, second=0, microsecond=0)
    three += timedelta(days=1) if three <= ground.clock.now() else timedelta()
    ground.clock.advance(three - ground.clock.now() - timedelta(milliseconds=1))
    await night.drain()
    assert len(said(ground)) == 1
    for number in range(2, 5):
        ground.clock.advance(timedelta(milliseconds=1) if number == 2 else timedelta(days=1))
        await asyncio.gather(night.drain(), background(ground, FINE).drain())
        await night.drain()
        assert len(said(ground)) == number


async def test_what_is_found_is_one_line_of_level_error_and_a_metric(ground: Ground) -> None:
    await background(ground, FINE, BROKEN, TIMES).drain()
    (line,) = said(ground)
    assert (line["level"], line["checks"]) == ("error", 3)
    examples = sorted(f"n{number}" for number in range(4, 100))[:EXAMPLES]
    assert line["findings"] == [
        {"check": "toy.broken", "count": 96, "examples": examples, "advice": "Take smaller ones"}
    ]
    shown = ground.telemetry.render_metrics().decode()
    assert 'almoner_selfcheck_findings{check="toy.broken"} 96.0' in shown
    assert 'almoner_selfcheck_findings{check="toy.fine"} 0.0' in shown
    at = next(line for line in shown.splitlines() if line.startswith("almoner_selfcheck_timestamp_seconds"))
    assert datetime.fromtimestamp(float(at.split()[1]), ground.clock.now().tzinfo) == ground.clock.now()


async def test_a_night_without_findings_is_a_line_of_level_info(ground: Ground) -> None:
    await background(ground, FINE).drain()
    (line,) = said(ground)
    assert (line["level"], line["findings"]) == ("info", [])


async def test_all_checks_see_one_moment_whatever_is_committed_meanwhile(ground: Ground) -> None:
    count = "select 'row' from job"
    checks = [ConsistencyCheck(f"toy.{number}", "Nothing", "Nothing", count) for number in range(4)]
    async with ground.db.snapshot() as tx:
        seen = []
        for check in checks:
            seen.append(len((await selfcheck.run_consistency_checks(tx, [check])).findings))
            async with ground.another() as other, other.write() as writing:
                await selfcheck.enqueue_selfcheck(writing)
    assert seen == [0, 0, 0, 0]
