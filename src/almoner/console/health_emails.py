"""Pages about undelivered emails. Operators can resend these emails."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.notifications import service as notifications
from almoner.access.notifications.domain import NoSuchUndeliverableEmail, UndeliverableEmail
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import parse_filter_choice
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue

PATH: Final = "/health/emails"
_ID: Final = "email"
_ANSWERS: Final = {"rejected": True, "no_answer": False}


class UndeliveredEmailPages:
    """Pages about undelivered emails."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, list_route_builder: ListRouteBuilder, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        declared = ConsoleList(
            PATH,
            "Emails not delivered",
            "Emails that a mail server rejected or did not accept in time are listed here for 90 days. If a server "
            "accepts an email and later sends a bounce message, the email is not listed.",
            ADMINISTRATORS,
            [
                Column("Email", "id"),
                Column("Time", "moment"),
                Column("Kind"),
                Column("Recipient"),
                Column("Answer", "status"),
                Column("Reason"),
            ],
            self._load,
            filters=[Filter("answer", "choice", tuple(_ANSWERS), label_member="Answer")],
            sort_order_description="newest first",
        )
        return [
            *list_route_builder.routes(declared),
            *action_pages.routes(self._resend_action()),
            self._context.route(f"{PATH}/{{id}}", self.show_email, *sorted(ADMINISTRATORS), methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        answer = parse_filter_choice(query, "answer", tuple(_ANSWERS))
        refused = _ANSWERS[answer] if answer else None
        before = None if query.cursor is None else self._context.parse_id(_ID, query.cursor)
        async with self._context.db.read() as tx:
            found = await notifications.list_undeliverable_emails(tx, query.limit + 1, before, rejected=refused)
            total = None
            if refused is None:
                total = await notifications.count_undeliverable_emails(tx, MOST_COUNTED + 1)
        rows = [self._row(one) for one in found[: query.limit]]
        more = len(found) > query.limit
        over = total is not None and total > MOST_COUNTED
        return ListPage(
            rows,
            self._context.format_id(_ID, found[query.limit - 1].id) if more else None,
            MOST_COUNTED if over else total,
            has_more_than_total=over,
        )

    def _row(self, one: UndeliverableEmail) -> ListRow:
        text = self._context.format_id(_ID, one.id)
        answer = "rejected" if one.was_rejected else "no_answer"
        return ListRow(f"{PATH}/{text}", (text, one.created_at, one.kind, one.recipient, answer, one.reason))

    async def show_email(self, visitor: SignedInRequest) -> Response:
        """Show one undelivered email, with its recipient and the response of the mail server."""
        email_id = self._context.parse_id_from_path(visitor, _ID)
        async with self._context.db.read() as tx:
            email = await _email(tx, email_id)
        actions = [(f"{PATH}/{self._context.format_id(_ID, email.id)}/resend", "Send the email again", "s")]
        return await self._context.render_console_page(
            visitor,
            "health_record.html",
            title=email.kind,
            list_path=PATH,
            list_words="Emails not delivered",
            actions=actions,
            page_keys=[(key, words) for _, words, key in actions],
            details=self._facts(email),
            advice="Correct the address or fix the mail server before you resend the email. See "
            "docs/runbooks/emails.md.",
            payload="",
        )

    def _resend_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            email = await _email(tx, self._context.parse_id(_ID, visitor.path.split("/")[-2]))
            return ActionPage(
                "Send the email again",
                "Send the email",
                f"{PATH}/{self._context.format_id(_ID, email.id)}",
                email.kind,
                [
                    (
                        "A background worker creates the email again from current data and sends it to the current "
                        "address."
                    ),
                    "If the email still cannot be delivered, it is listed here again.",
                ],
                facts=self._facts(email),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            text = visitor.path.split("/")[-2]
            await notifications.resend_email(tx, self._context.parse_id(_ID, text))
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "email.resent", text)
            return PATH

        path = f"{PATH}/{{id}}/resend"
        return ConsoleAction(path, ADMINISTRATORS, describe, perform, refusal_errors=(NoSuchUndeliverableEmail,))

    def _facts(self, email: UndeliverableEmail) -> list[LabelledValue]:
        partner = email.partner_id
        return [
            LabelledValue("Kind", email.kind),
            LabelledValue("Recipient", email.recipient),
            LabelledValue(
                "Answer",
                "The mail server rejected the email"
                if email.was_rejected
                else "No mail server accepted the email in time",
            ),
            LabelledValue("Reason", email.reason),
            LabelledValue("Time", email.created_at.isoformat(), "moment"),
            *([LabelledValue("Partner", self._context.format_id("partner", partner))] if partner else []),
        ]


async def _email(tx: Tx, email_id: UUID) -> UndeliverableEmail:
    try:
        return await notifications.get_undeliverable_email(tx, email_id)
    except NoSuchUndeliverableEmail:
        raise NotFound from None
