"""View a partner's dashboard as its members see it.

The view is read-only and limited in time, requires a reason, and the partner is notified.
"""

from collections.abc import Mapping
from functools import partial

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import DASHBOARD_HOME, MEMBERS_HOME, problems_by_field
from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.operators.domain import LONGEST_VIEW_REASON, VIEW_LIFETIME
from almoner.access.operators.service import partner_views
from almoner.access.partners.domain import PartnerAccount
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction, build_security_email_preview
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import PATH, describe_partner_owners, get_partner_from_url, partner_page_path
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Partner, Tx


class PartnerViewPages:
    """The pages that start and end a view of a partner's dashboard."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        path = f"{PATH}/{{id}}/view"
        begin = self._context.route(path, self.start_view, *sorted(ADMINISTRATORS), requires_reauthentication=True)
        return [*action_pages.routes(self._end_action()), begin]

    async def start_view(self, visitor: SignedInRequest) -> Response:
        """Show what the view includes and who is notified, then open the partner's dashboard."""
        reason = visitor.form_value("reason")
        problems: dict[str, str] = {}
        if visitor.form:
            try:
                async with self._context.db.write() as tx:
                    name = await visitor.apply_form_once(tx, partial(self._begin_view, tx, visitor, reason), str)
                return redirect_to(f"{MEMBERS_HOME}/{name}{DASHBOARD_HOME}")
            except IncorrectParams as error:
                problems = problems_by_field(error, "reason")
        async with self._context.db.read() as tx:
            account = await get_partner_from_url(tx, visitor)
            owners = await describe_partner_owners(tx, account)
            path = partner_page_path(tx, account)
        return await self._context.render_console_page(
            visitor,
            "action.html",
            status=422 if problems else 200,
            page=_page(account, path, owners),
            typed={"reason": reason},
            problems=problems,
            refused="",
        )

    async def _begin_view(self, tx: Tx, visitor: SignedInRequest, reason: str) -> str:
        """Begin the view; returns the partner's ID."""
        account = await get_partner_from_url(tx, visitor)
        by = self._context.audit_context(visitor)
        await partner_views.begin_partner_view(tx, by, visitor.person, Partner(account.id), reason)
        return tx.ids.encode("partner", account.id)

    def _end_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            account = await get_partner_from_url(tx, visitor)
            told = [f"You have stopped viewing the pages of {account.name}. The audit log records when you stopped."]
            return ActionPage("Stop viewing", "Stop viewing", partner_page_path(tx, account), account.name, told)

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            account = await get_partner_from_url(tx, visitor)
            by = self._context.audit_context(visitor)
            await partner_views.end_partner_view(tx, by, visitor.person, Partner(account.id))
            return partner_page_path(tx, account)

        return ConsoleAction(f"{PATH}/{{id}}/view/end", ADMINISTRATORS, describe, perform)


def _page(account: PartnerAccount, path: str, owners: str) -> ActionPage:
    return ActionPage(
        f"View as {account.name}",
        "View pages",
        path,
        account.name,
        [
            f"For up to {VIEW_LIFETIME.seconds // 60} minutes, you see what a member with the role read only can see.",
            (
                "While you view the pages, you cannot see secrets or donors' personal data, and you cannot change "
                "anything."
            ),
            f"{owners} will get this email immediately, with your name and the reason. The audit log records the view.",
        ],
        fields=[ActionField("reason", "Reason (shown to the partner)", "area", maxlength=LONGEST_VIEW_REASON)],
        mails=[build_security_email_preview("partner_viewed", account.name)],
    )
