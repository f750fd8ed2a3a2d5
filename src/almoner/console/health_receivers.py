"""Pages about failing and suspended webhook endpoints of all partners, and their pending deliveries."""

from datetime import datetime
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.context import ConsoleContext
from almoner.console.links import EVERYBODY
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import parse_filter_choice
from almoner.kit.errors import NotFound
from almoner.platform.jobs import dead_jobs
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue
from almoner.webhooks.subscriptions import domain
from almoner.webhooks.subscriptions import service as subscriptions
from almoner.webhooks.subscriptions.domain import Status, UnhealthyReceiver

PATH: Final = "/health/receivers"
_ID: Final = "webhooksubscription"
_STATUSES: Final[dict[str, Status]] = {"failing": "active", "suspended": "suspended"}


class WebhookReceiverPages:
    """Pages about webhook receivers."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder) -> list[Route]:
        """Starlette routes."""
        declared = ConsoleList(
            PATH,
            "Webhook receivers",
            "All webhook endpoints are working. Failing and suspended endpoints are listed here.",
            EVERYBODY,
            [
                Column("Receiver", "id"),
                Column("Partner"),
                Column("Address"),
                Column("Status", "status"),
                Column("Failing since", "moment"),
                Column("Waiting"),
                Column("Oldest delivery waiting", "moment"),
            ],
            self._load,
            filters=[Filter("status", "choice", tuple(_STATUSES), label_member="Status")],
            sort_order_description="oldest subscription first",
        )
        page = self._context.route(f"{PATH}/{{id}}", self.show_endpoint, *sorted(EVERYBODY), methods=["GET"])
        return [*list_route_builder.routes(declared), page]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        after = None if query.cursor is None else self._context.parse_id(_ID, query.cursor)
        shown = parse_filter_choice(query, "status", tuple(_STATUSES))
        status = _STATUSES[shown] if shown else None
        async with self._context.db.read() as tx:
            found = await subscriptions.list_unhealthy_receivers(tx, status, after, query.limit + 1)
            lanes = {one.id: domain.list_delivery_job_lanes(one.id) for one in found}
            waiting = await dead_jobs.load_backlogs_by_lane(tx, [lane for all_ in lanes.values() for lane in all_])
            counts = await subscriptions.count_unhealthy_receivers(tx)
        rows = []
        for one in found[: query.limit]:
            backlog = [waiting[lane] for lane in lanes[one.id] if lane in waiting]
            oldest = min((each.oldest_job_created_at for each in backlog), default=None)
            rows.append(self._row(one, sum(each.waiting_job_count for each in backlog), oldest))
        more = len(found) > query.limit
        total = {None: sum(counts), "active": counts[0], "suspended": counts[1]}[status]
        return ListPage(rows, self._context.format_id(_ID, found[query.limit - 1].id) if more else None, total)

    def _row(self, one: UnhealthyReceiver, waiting: int, oldest: datetime | None) -> ListRow:
        text = self._context.format_id(_ID, one.id)
        status = "suspended" if one.status == "suspended" else "failing"
        since = one.health.failing_since
        return ListRow(f"{PATH}/{text}", (text, one.partner_name, one.url, status, since, waiting, oldest))

    async def show_endpoint(self, visitor: SignedInRequest) -> Response:
        """Show a failing or suspended webhook endpoint: when it started to fail, and what happens next."""
        receiver_id = self._context.parse_id_from_path(visitor, _ID)
        async with self._context.db.read() as tx:
            one = await subscriptions.find_unhealthy_receiver(tx, receiver_id)
            if one is None:
                raise NotFound
            waiting = await dead_jobs.load_backlogs_by_lane(tx, domain.list_delivery_job_lanes(one.id))
        health = one.health
        facts = [
            LabelledValue("Partner", f"{one.partner_name} ({self._context.format_id('partner', one.partner_id)})"),
            LabelledValue("Address", one.url),
            LabelledValue("Status", "suspended" if one.status == "suspended" else "failing", "status"),
            *(
                [LabelledValue("Failing since", health.failing_since.isoformat(), "moment")]
                if health.failing_since
                else []
            ),
            LabelledValue("Consecutive failed attempts", f"{health.failures:,}"),
            LabelledValue(
                "Last success", health.last_success_at.isoformat() if health.last_success_at else None, "moment"
            ),
            *(
                [LabelledValue("Next attempt", health.paused_until.isoformat(), "moment")]
                if health.paused_until
                else []
            ),
            LabelledValue("Waiting deliveries", f"{sum(each.waiting_job_count for each in waiting.values()):,}"),
        ]
        return await self._context.render_console_page(
            visitor,
            "health_record.html",
            title=one.url,
            list_path=PATH,
            list_words="Webhook receivers",
            actions=[],
            details=facts,
            advice="Contact the partner. If the endpoint fails for one day, we email the partner. If it fails for five "
            "days, we suspend the endpoint. The partner can resume the endpoint in its dashboard and replay "
            "missed events for 90 days.",
            payload="",
        )
