"""Pages about failed jobs: the reason for each failure, and actions to retry or drop jobs."""

from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS, EVERYBODY
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import dead_jobs
from almoner.platform.jobs.dead_jobs import MAX_AT_ONCE, DeadJob, NoSuchDeadJob
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue

PATH: Final = "/health/jobs"
_ERROR_SHOWN: Final = 120


class FailedJobPages:
    """Pages about failed jobs."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        declared = ConsoleList(
            PATH,
            "Failed jobs",
            "A job is listed here after 20 failures in a row, or immediately if it can never succeed. The job stays "
            "in this list until an administrator retries or drops it.",
            EVERYBODY,
            [Column("Job"), Column("Kind"), Column("Failed", "moment"), Column("Failures"), Column("Error")],
            self._load,
            filters=[Filter("kind", label_member="Kind")],
            sort_order_description="newest first",
            actions=[(f"{PATH}/retry", "Retry all jobs of one kind")],
            action_roles=ADMINISTRATORS,
        )
        return [
            *list_route_builder.routes(declared),
            *action_pages.routes(self._retry_kind_action(), self._retry_action(), self._drop_action()),
            self._context.route(f"{PATH}/{{id}}", self.show_failed_job, *sorted(EVERYBODY), methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        kind = query.filters.get("kind")
        before = None if query.cursor is None else _number(query.cursor)
        async with self._context.db.read() as tx:
            found = await dead_jobs.list_dead_jobs(tx, kind, before, query.limit + 1)
            counts = await dead_jobs.count_dead_jobs_by_kind(tx)
        rows = [
            ListRow(
                f"{PATH}/{one.id}",
                (str(one.id), one.kind, one.dead_at, one.failures, (one.last_error or "")[:_ERROR_SHOWN]),
            )
            for one in found[: query.limit]
        ]
        more = len(found) > query.limit
        total = sum(counts.values()) if kind is None else counts.get(kind, 0)
        return ListPage(rows, str(found[query.limit - 1].id) if more else None, total)

    async def show_failed_job(self, visitor: SignedInRequest) -> Response:
        """Show a failed job, with its input and the reason for the failure."""
        async with self._context.db.read() as tx:
            job = await _job(tx, visitor.path.rpartition("/")[2])
        may_act = visitor.person.has_role(*ADMINISTRATORS)
        own = f"{PATH}/{job.id}"
        actions = [(f"{own}/retry", "Retry the job", "r"), (f"{own}/drop", "Drop the job", "x")] if may_act else []
        return await self._context.render_console_page(
            visitor,
            "health_record.html",
            title=f"{job.kind} {job.id}",
            list_path=PATH,
            list_words="Failed jobs",
            actions=actions,
            page_keys=[(key, words) for _, words, key in actions],
            details=_facts(job),
            advice="Follow docs/runbooks/stuck-queue.md to find the cause. Fix the cause and retry the job, or drop "
            "the job.",
            payload=msgspec.json.format(msgspec.json.encode(job.payload)).decode() if may_act else "",
        )

    def _retry_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            job = await _job(tx, visitor.path.split("/")[-2])
            told = ["A background worker runs the job again within seconds. It is safe to run a job twice."]
            return ActionPage("Retry the job", "Retry the job", f"{PATH}/{job.id}", job.kind, told, facts=_facts(job))

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            number = visitor.path.split("/")[-2]
            kind = await dead_jobs.retry_dead_job_returning_kind(tx, _number(number))
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "job.retried", number, kind=kind)
            return PATH

        return ConsoleAction(f"{PATH}/{{id}}/retry", ADMINISTRATORS, describe, perform, refusal_errors=(NoSuchDeadJob,))

    def _drop_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            job = await _job(tx, visitor.path.split("/")[-2])
            return ActionPage(
                "Drop the job",
                "Drop the job",
                f"{PATH}/{job.id}",
                job.kind,
                ["The job is deleted and will never run. Nobody is notified."],
                fields=[ActionField("note", "Why the job does not need to run", "area", maxlength=500)],
                facts=_facts(job),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            number = visitor.path.split("/")[-2]
            kind = await dead_jobs.delete_dead_job_returning_kind(tx, _number(number))
            await self._context.record_audit_entry(
                tx, visitor, DEPLOYMENT, "job.dropped", number, kind=kind, note=entered_values["note"]
            )
            return PATH

        return ConsoleAction(
            f"{PATH}/{{id}}/drop",
            ADMINISTRATORS,
            describe,
            perform,
            refusal_errors=(NoSuchDeadJob,),
            requires_reauthentication=True,
        )

    def _retry_kind_action(self) -> ConsoleAction:
        async def describe(tx: Tx, _visitor: SignedInRequest) -> ActionPage:
            counts = await dead_jobs.count_dead_jobs_by_kind(tx)
            return ActionPage(
                "Retry all jobs of one kind",
                "Retry the jobs",
                PATH,
                "Failed jobs",
                [f"Workers run up to {MAX_AT_ONCE:,} of these jobs again, oldest first. Fix the cause first."],
                fields=[
                    ActionField(
                        "kind", "Kind", "choice", choices=[(one, f"{one} ({count:,})") for one, count in counts.items()]
                    )
                ],
                closed=None if counts else "There are no failed jobs to retry.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            count = await dead_jobs.retry_dead_jobs(tx, entered_values["kind"])
            if count:  # otherwise another administrator was faster
                await self._context.record_audit_entry(
                    tx, visitor, DEPLOYMENT, "job.kind_retried", entered_values["kind"], jobs=count
                )
            return PATH

        return ConsoleAction(f"{PATH}/retry", ADMINISTRATORS, describe, perform)


def _number(text: str) -> int:
    """Parse the ID of a job. Raises NotFound."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise NotFound
    return int(text)


async def _job(tx: Tx, text: str) -> DeadJob:
    try:
        return await dead_jobs.get_dead_job(tx, _number(text))
    except NoSuchDeadJob:
        raise NotFound from None


def _facts(job: DeadJob) -> list[LabelledValue]:
    return [
        LabelledValue("Kind", job.kind),
        LabelledValue("Error", job.last_error or ""),
        LabelledValue("Created", job.created_at.isoformat(), "moment"),
        LabelledValue("Failed", job.dead_at.isoformat(), "moment"),
        LabelledValue("Attempts", f"{job.attempts:,}, with {job.failures:,} failures in a row"),
        *([LabelledValue("Lane", job.lane)] if job.lane else []),
    ]
