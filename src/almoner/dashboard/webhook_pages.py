"""Webhook endpoints: their health, their deliveries with each response, and developers' actions."""

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Final, get_args

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, redirect_to
from almoner.access.accounts.page_texts import PageTexts, build_page_texts, join_reasons_as_english
from almoner.dashboard.domain import PERSONAL, has_scope, roles_with_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record, iterate_pages
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.kit.time import convert_day_to_start_timestamp
from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.wire import personal_fields
from almoner.webhooks.deliveries.domain import Status

PATH: Final = "/webhooks"
_CALL: Final = "/v1/webhook-subscriptions"
_STATUSES: Final = get_args(Status)
_DONE: Final = {
    "tested": "dashboard.webhook.tested",
    "resumed": "dashboard.webhook.resumed",
    "deleted": "dashboard.webhooks.deleted",
}
_PAGE: Final = 25


class WebhookPages:
    """Pages about webhooks."""

    def __init__(self, context: PageContext, calls: MemberApiClient) -> None:
        self._context = context
        self._calls = calls

    def routes(self) -> list[Route]:
        """Starlette routes. Showing a secret requires a recent reauthentication."""
        context, path = self._context, f"{PATH}/{{id}}"
        roles = sorted(roles_with_scope("webhooks:write"))
        return [
            context.route(PATH, self.list_endpoints, *roles, methods=["GET"]),
            context.route(f"{PATH}/new", self.create_endpoint, *roles, requires_reauthentication=True),
            context.route(path, self.show_endpoint, *roles),
            context.route(f"{path}/replay", self.replay_events, *roles),
            context.route(f"{path}/rotate-secret", self.rotate_secret, *roles, requires_reauthentication=True),
            context.route(f"{path}/delete", self.delete_endpoint, *roles, requires_reauthentication=True),
        ]

    async def list_endpoints(self, visitor: SignedInRequest) -> Response:
        """List all endpoints with their health."""
        return render_page(
            self._context,
            visitor,
            "webhooks.html",
            endpoints=[one async for records in self._endpoint_pages(visitor) for one in records],
            message=_DONE.get(visitor.query.get("done", "")),
        )

    async def create_endpoint(self, visitor: SignedInRequest) -> Response:
        """Show the form for a new endpoint, then its secret, once."""
        chosen = [str(one) for one in visitor.form.getlist("event")]
        texts = build_page_texts(self._context, visitor)
        personal = has_scope(visitor.person.roles, PERSONAL)
        problems: dict[str, Markup] = {}
        if visitor.form:
            try:
                body = {"url": visitor.form_value("url").strip(), "events": chosen}
                made = await self._calls.post(visitor, _CALL, body, idempotency_key=visitor.form_key)
                return self._secret(visitor, made)
            except ApiCallRejected as refused:
                problems = _form_problems(refused, texts)
        return render_page(
            self._context,
            visitor,
            "webhook_new.html",
            status=422 if problems else 200,
            typed=visitor.form_value("url"),
            chosen=chosen,
            event_groups=_event_groups(texts, personal=personal),
            masked=not personal,
            problems=problems,
        )

    async def show_endpoint(self, visitor: SignedInRequest) -> Response:
        """Show an endpoint with its deliveries and actions."""
        endpoint = await self._endpoint(visitor)
        problem: Markup | None = None
        if visitor.form:
            try:
                return await self._perform(visitor, endpoint)
            except ApiCallRejected as refused:
                problem = join_reasons_as_english(refused.reasons)
        wanted = visitor.query.get("status", "")
        cursor = visitor.query.get("cursor", "")
        asked = [
            *([("status", wanted)] if wanted in _STATUSES else []),
            *([("cursor", cursor)] if cursor else []),
            ("pageSize", str(_PAGE)),
        ]
        page = await self._calls.list_page(visitor, f"{_CALL}/{endpoint['id']}/deliveries", asked)
        return render_page(
            self._context,
            visitor,
            "webhook.html",
            status=422 if problem else 200,
            endpoint=endpoint,
            deliveries=page.records,
            total=page.total,
            next=page.next_cursor,
            wanted=wanted,
            statuses=_STATUSES,
            message=_DONE.get(visitor.query.get("done", "")),
            problem=problem,
        )

    async def replay_events(self, visitor: SignedInRequest) -> Response:
        """Replay events from a given time, and show how many deliveries were started."""
        endpoint, problems, scheduled = await self._endpoint(visitor), {}, None
        if visitor.form:
            zone = build_page_texts(self._context, visitor).zone
            start = convert_day_to_start_timestamp(visitor.form_value("start").strip(), zone)
            body = {"failedOnly": visitor.form_value("failed_only") == "yes", **({"startDate": start} if start else {})}
            try:
                path, key = f"{_CALL}/{endpoint['id']}/replay", visitor.form_key
                scheduled = (await self._calls.post(visitor, path, body, idempotency_key=key))["scheduled"]
            except ApiCallRejected as refused:
                problems = {"start": join_reasons_as_english(refused.reasons)}
        return render_page(
            self._context,
            visitor,
            "webhook_replay.html",
            status=422 if problems else 200,
            endpoint=endpoint,
            scheduled=scheduled,
            typed=visitor.form_value("start"),
            problems=problems,
        )

    async def rotate_secret(self, visitor: SignedInRequest) -> Response:
        """Rotate the signing secret and show the new one once."""
        endpoint = await self._endpoint(visitor)
        if not visitor.form:
            return render_page(self._context, visitor, "webhook_rotate.html", endpoint=endpoint)
        path, key = f"{_CALL}/{endpoint['id']}/rotate-secret", visitor.form_key
        return self._secret(visitor, await self._calls.post(visitor, path, idempotency_key=key))

    async def delete_endpoint(self, visitor: SignedInRequest) -> Response:
        """Delete the endpoint after confirmation."""
        endpoint = await self._endpoint(visitor)
        if not visitor.form:
            return render_page(self._context, visitor, "webhook_delete.html", endpoint=endpoint)
        await self._calls.delete(visitor, f"{_CALL}/{endpoint['id']}")
        return redirect_to(f"{visitor.portal.home}{PATH}?done=deleted")

    async def _perform(self, visitor: SignedInRequest, endpoint: Record) -> Response:
        """Perform the action of the pressed button. Raises ApiCallRejected."""
        here = f"{visitor.portal.home}{PATH}/{endpoint['id']}"
        match visitor.form_value("do"):
            case "test":
                await self._calls.post(visitor, f"{_CALL}/{endpoint['id']}/test", idempotency_key=visitor.form_key)
                return redirect_to(f"{here}?done=tested")
            case "resume":
                await self._calls.patch(visitor, f"{_CALL}/{endpoint['id']}", {"status": "active"})
                return redirect_to(f"{here}?done=resumed")
            case _:
                raise NotFound

    async def _endpoint(self, visitor: SignedInRequest) -> Record:
        """The endpoint named in the URL, without its secret. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{PATH}/").split("/")[0]
        self._context.parse_id("webhooksubscription", name)
        return await find_record_in_pages(self._endpoint_pages(visitor), name)

    def _endpoint_pages(self, visitor: SignedInRequest) -> AsyncIterator[Sequence[Record]]:
        """All endpoints, without their secrets, page by page."""
        return iterate_pages(lambda asked: self._calls.list_page(visitor, _CALL, asked), [])

    def _secret(self, visitor: SignedInRequest, endpoint: Record) -> Response:
        return render_page(self._context, visitor, "webhook_secret.html", endpoint=endpoint)


async def find_record_in_pages(record_pages: AsyncIterator[Sequence[Record]], record_id: str) -> Record:
    """The record with this ID; no page after it is read. Raises NotFound."""
    async for records in record_pages:
        for one in records:
            if one["id"] == record_id:
                return one
    raise NotFound


def _event_groups(texts: PageTexts, *, personal: bool) -> dict[str, list[str]]:
    """The event types to choose from, by record type. ``personal``: includes those with donors' data."""
    groups: dict[str, list[str]] = {}
    for name, event_type in EVENT_TYPES.items():
        if not name.startswith("internal.") and (personal or not personal_fields(event_type.record_type)):
            groups.setdefault(texts.record_type_name(name.partition(".")[0]), []).append(name)
    return groups


def _form_problems(refused: ApiCallRejected, texts: PageTexts) -> dict[str, Markup]:
    """The error sentences of a refused form by field."""
    problems: dict[str, Markup] = {}
    if refused.status == HTTPStatus.FORBIDDEN:
        return {"events": join_reasons_as_english(refused.reasons)}
    for reason in refused.reasons:
        field = "events" if "events" in reason.partition(" ")[0] else "url"
        label = texts.text("dashboard.webhook.events" if field == "events" else "dashboard.webhook.url")
        problems[field] = texts.field_error(label, reason.removeprefix("body.").partition(" ")[2])
    return problems
