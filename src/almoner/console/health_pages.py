"""Pages about the health of the service: an overview, the job queue, self-check results and processes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.notifications import service as notifications
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext, Counter
from almoner.console.health_audit_pages import AuditPages
from almoner.console.health_emails import UndeliveredEmailPages
from almoner.console.health_facts import list_expiring_credentials, load_health_check_results
from almoner.console.health_incidents import IncidentPages
from almoner.console.health_jobs import FailedJobPages
from almoner.console.health_periodic import PeriodicJobPages
from almoner.console.health_receivers import WebhookReceiverPages
from almoner.console.links import ADMINISTRATORS, EVERYBODY
from almoner.console.lists import ListRouteBuilder
from almoner.console.operator_start_page import StartPageLine, StartPageSection
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.events import dispatcher
from almoner.platform.jobs import dead_jobs, processes
from almoner.platform.observability import backups, incidents, selfcheck
from almoner.webhooks.subscriptions import service as subscriptions

OVERVIEW: Final = "/health"
FINDINGS: Final = "/health/findings"


async def _count_dead_jobs(tx: Tx) -> int:
    return sum((await dead_jobs.count_dead_jobs_by_kind(tx)).values())


async def _count_emails(tx: Tx) -> int:
    return await notifications.count_undeliverable_emails(tx, MOST_COUNTED + 1)


async def _count_receivers(tx: Tx) -> int:
    return sum(await subscriptions.count_unhealthy_receivers(tx))


async def _count_findings(tx: Tx) -> int:
    return sum(one.violation_count > 0 for one in await selfcheck.list_stored_check_results(tx))


_COUNTS: Final[dict[str, Callable[[Tx], Awaitable[int]]]] = {
    "/health/jobs": _count_dead_jobs,
    "/health/emails": _count_emails,
    "/health/receivers": _count_receivers,
    FINDINGS: _count_findings,
    "/health/incidents": incidents.count_open_incidents,
}
COUNTERS: Final[dict[str, Counter]] = {**_COUNTS}
_WORDS: Final = {
    "/health/jobs": "Failed jobs",
    "/health/emails": "Emails that could not be delivered",
    "/health/receivers": "Failing or suspended webhook endpoints",
    FINDINGS: "Self-checks that found problems",
    "/health/incidents": "Open incidents",
}


def start_page_sections(context: ConsoleContext) -> Sequence[StartPageSection]:
    """The section about service health on the console's start page."""

    async def waiting(tx: Tx, visitor: SignedInRequest) -> Sequence[StartPageLine]:
        shown = {path: words for path, words in _WORDS.items() if context.guard.is_in_navigation(visitor, path)}
        return [StartPageLine(words, path, await _COUNTS[path](tx)) for path, words in shown.items()]

    return [StartPageSection("Health", EVERYBODY, waiting)]


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    pages = _HealthPages(context)
    everybody = sorted(EVERYBODY)
    lists, actions = ListRouteBuilder(context), ActionPages(context)
    return [
        *actions.routes(pages.run_action()),
        context.route(OVERVIEW, pages.overview, *everybody, methods=["GET"]),
        context.route("/health/queues", pages.queues, *everybody, methods=["GET"]),
        context.route(FINDINGS, pages.findings, *everybody, methods=["GET"]),
        context.route("/health/processes", pages.processes, *everybody, methods=["GET"]),
        *IncidentPages(context).routes(lists, actions),
        *FailedJobPages(context).routes(lists, actions),
        *PeriodicJobPages(context).routes(actions),
        *UndeliveredEmailPages(context).routes(lists, actions),
        *WebhookReceiverPages(context).routes(lists),
        *AuditPages(context).routes(lists, actions),
    ]


class _HealthPages:
    """The health overview and the pages about queues, self-checks and processes."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    async def overview(self, visitor: SignedInRequest) -> Response:
        """Show the health overview: one line for each part of the service, with failing parts first."""
        async with self._context.db.read() as tx:
            lines = await load_health_check_results(tx)
        order, opens = ("failing", "attention", "healthy"), self._context.guard.is_in_navigation
        lines = [one if opens(visitor, one.path) else replace(one, path="") for one in lines]
        return await self._context.render_console_page(
            visitor, "health_overview.html", lines=sorted(lines, key=lambda one: order.index(one.state))
        )

    async def queues(self, visitor: SignedInRequest) -> Response:
        """Show how many jobs of each kind are queued."""
        async with self._context.db.read() as tx:
            kinds = await dead_jobs.list_job_kind_statuses(tx)
            lag = await dispatcher.dispatch_lag_seconds(tx)
        return await self._context.render_console_page(visitor, "health_queues.html", kinds=kinds, lag=round(lag))

    async def findings(self, visitor: SignedInRequest) -> Response:
        """Show the results of the last self-check, and how to fix any problems."""
        async with self._context.db.read() as tx:
            records = await selfcheck.list_stored_check_results(tx)
        checked_at = max((one.checked_at for one in records), default=None)
        return await self._context.render_console_page(
            visitor,
            "health_findings.html",
            broken=[one for one in records if one.violation_count],
            passed=[one for one in records if not one.violation_count],
            checked_at=checked_at.isoformat() if checked_at else None,
            may_run=visitor.person.has_role(*ADMINISTRATORS),
            started=visitor.query.get("done") == "started",
        )

    async def processes(self, visitor: SignedInRequest) -> Response:
        """Show running processes with their versions and checks, the latest backups, and the keys that expire soon."""
        async with self._context.db.read() as tx:
            live = await processes.list_processes(tx)
            alive = [one.is_alive(tx.real_now) for one in live]
            reports = [(one, one.is_recent(tx.real_now)) for one in await backups.list_backups(tx)]
            archived_at = await backups.find_last_wal_archived_at(tx)
            expiries = await list_expiring_credentials(tx)
        return await self._context.render_console_page(
            visitor,
            "health_processes.html",
            live=live,
            alive=alive,
            backups=reports,
            archived_at=archived_at,
            expiries=expiries,
        )

    def run_action(self) -> ConsoleAction:
        """Run the self-check now."""

        async def describe(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
            return ActionPage(
                "Run the self-check",
                "Run the self-check",
                FINDINGS,
                "Self-check",
                [
                    "A background worker reads one snapshot of the database and changes nothing.",
                    (
                        "The self-check of a large database takes a few minutes. The new results replace the previous "
                        "results."
                    ),
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: object) -> str:
            await selfcheck.enqueue_selfcheck(tx)
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "selfcheck.started", "selfcheck")
            return f"{FINDINGS}?done=started"

        return ConsoleAction(f"{FINDINGS}/run", ADMINISTRATORS, describe, perform)
