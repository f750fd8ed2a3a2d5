"""Pages about periodic jobs: the frequency, the last result and the next run of each job."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS, EVERYBODY
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import schedules
from almoner.platform.jobs.schedules import PeriodicJob

PATH: Final = "/health/periodic"
_LATE: Final = timedelta(minutes=2)
_UNITS: Final = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))


class PeriodicJobPages:
    """Pages about periodic jobs."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        return [
            *action_pages.routes(self._run_action()),
            self._context.route(PATH, self.list_periodic_jobs, *sorted(EVERYBODY), methods=["GET"]),
        ]

    async def list_periodic_jobs(self, visitor: SignedInRequest) -> Response:
        """List all periodic jobs. Those that failed or are late come first."""
        async with self._context.db.read() as tx:
            now = tx.now
            jobs = await self._context.services.periodic_jobs(tx)
        return await self._context.render_console_page(
            visitor,
            "health_periodic.html",
            jobs=sorted(((one, _status(one, now)) for one in jobs), key=lambda row: row[1] not in ("failed", "late")),
            frequency=_frequency,
            now=now,
            may_run=visitor.person.has_role(*ADMINISTRATORS),
            own=PATH,
            message="A background worker runs the job within seconds."
            if visitor.query.get("done") == "requested"
            else "",
        )

    def _run_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            job = await self._job(tx, visitor)
            waits = job.next_run_at is not None
            return ActionPage(
                f"Run {job.name} now",
                "Run now",
                PATH,
                "Periodic jobs",
                [
                    "A background worker runs the job within seconds. The job processes only items that are due now.",
                    "A failed job is also retried automatically every 5 seconds.",
                ],
                closed=None if waits else "This job has no work to do.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            job = await self._job(tx, visitor)
            await schedules.request_schedule_run(tx, job.name)
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "periodic_job.run_requested", job.name)
            return f"{PATH}?done=requested"

        return ConsoleAction(f"{PATH}/{{name}}/run", ADMINISTRATORS, describe, perform)

    async def _job(self, tx: Tx, visitor: SignedInRequest) -> PeriodicJob:
        name = visitor.path.split("/")[-2]
        found = next((one for one in await self._context.services.periodic_jobs(tx) if one.name == name), None)
        if found is None:
            raise NotFound
        return found


def _status(one: PeriodicJob, now: datetime) -> str:
    """The status of a periodic job: failed, late, never run or succeeded."""
    if one.failed_at is not None:
        return "failed"
    if one.next_run_at is not None and one.next_run_at < now - _LATE:
        return "late"
    return "never run" if one.last_run_at is None else "succeeded"


def _frequency(every: timedelta | None) -> str:
    """The maximum frequency of a periodic job, such as "every 2 hours"."""
    if every is None:
        return "when there is work to do"
    length, words = next(unit for unit in _UNITS if every >= unit[0])
    count = every // length
    return f"every {words}" if count == 1 else f"every {count} {words}s"
