"""The dashboard's home page: what needs attention, and recent activity."""

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import DASHBOARD_HOME
from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request
from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard.domain import has_scope
from almoner.dashboard.member_api_client import MemberApiClient
from almoner.dashboard.record_lists import DISBURSEMENTS, DONATIONS, REQUESTS_TO_PAY, SUBMISSIONS
from almoner.dashboard.rendering import render_page
from almoner.dashboard.webhook_pages import PATH as WEBHOOKS
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import DonationRequestStatus
from almoner.giving.checkout.donations import service as donations
from almoner.platform.pages import charts
from almoner.webhooks.subscriptions import service as webhook_subscriptions

_LAST: Final = 5
_MOST_COUNTED: Final = 1_000
_UNPAID: Final[tuple[DonationRequestStatus, ...]] = ("OPEN", "PARTLY_PAID")


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """Something that needs the partner's attention. ``href``: its list; ``text``: a catalogue key.

    ``max_counted``: from here on, it is only known that there are more.
    """

    count: int
    text: str
    href: str
    max_counted: int | None = None


@dataclass(frozen=True, slots=True)
class OnboardingStep:
    """A step before a new partner goes live. ``href``: where the visitor can do it; ``text``: a catalogue key."""

    text: str
    done: bool
    href: str


class HomePages:
    """The home page."""

    def __init__(self, context: PageContext, calls: MemberApiClient) -> None:
        self._context = context
        self._calls = calls

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(DASHBOARD_HOME, self.show_home, *MEMBER_ROLES, methods=["GET"]),
        ]

    async def show_home(self, visitor: SignedInRequest) -> Response:
        """Show what needs attention, then the newest records."""
        partner = partner_from_request(visitor)
        async with self._context.db.read() as tx:
            today = tx.now.date()
            counts = await donations.load_paid_donation_counts_by_day(tx, partner, charts.chart_start_date(today))
        latest = await self._calls.list_page(visitor, DONATIONS.api_path, [("pageSize", str(_LAST))])
        return render_page(
            self._context,
            visitor,
            "home.html",
            attention=await self._attention(visitor),
            chart=charts.build_daily_chart(counts, today),
            steps=await self._first_steps(visitor, latest.total),
            donations=latest.records,
            donations_total=latest.total,
        )

    async def _first_steps(self, visitor: SignedInRequest, donations_total: int) -> list[OnboardingStep]:
        """The onboarding steps of a new partner with their state; empty once all are done."""
        if not visitor.person.has_role("owner", "developer"):
            return []
        partner, home = partner_from_request(visitor), visitor.portal.home
        brand = f"{home}/brand" if visitor.person.has_role("owner") else ""
        async with self._context.db.read() as tx:
            used = any(key.last_used_at for key in await keys.list_by_partner(tx, partner))
            owners = await people.list_with_any_role(tx, visitor.realm, "owner")
            account = await partners.get(tx, partner)
            receivers = await webhook_subscriptions.summarise_receivers(tx, partner)
        steps = [
            OnboardingStep("dashboard.step.key", used, f"{home}/keys"),
            OnboardingStep("dashboard.step.donation", donations_total > 0, f"{home}/donation-sessions"),
            OnboardingStep("dashboard.step.webhook", receivers.has_successful_delivery, home + WEBHOOKS),
            OnboardingStep("dashboard.step.owners", len(owners) > 1, f"{home}/members"),
            OnboardingStep("dashboard.step.privacy", account.public_links.privacy is not None, brand),
        ]
        return [] if all(step.done for step in steps) else steps

    async def _attention(self, visitor: SignedInRequest) -> list[AttentionItem]:
        roles, home, partner = visitor.person.roles, visitor.portal.home, partner_from_request(visitor)
        async with self._context.db.read() as tx:
            failing = (await webhook_subscriptions.summarise_receivers(tx, partner)).unhealthy_count
            due = sum(
                [await donation_requests.count_for_operators(tx, one, partner.id, _MOST_COUNTED) for one in _UNPAID]
            )
        items: list[AttentionItem] = []
        if has_scope(roles, "webhooks:read"):
            items.append(AttentionItem(failing, "dashboard.attention.failing", home + WEBHOOKS))
        items.append(AttentionItem(due, "dashboard.attention.due", home + REQUESTS_TO_PAY.path, _MOST_COUNTED))
        for status, text in (
            ("processed", "dashboard.attention.processed"),
            ("pending", "dashboard.attention.pending"),
        ):
            page = await self._calls.list_page(visitor, SUBMISSIONS.api_path, [("status", status), ("pageSize", "1")])
            items.append(AttentionItem(page.total, text, f"{home}{SUBMISSIONS.path}?status={status}"))
        returned = await self._calls.list_page(
            visitor, DISBURSEMENTS.api_path, [("status", "RETURNED"), ("pageSize", "1")]
        )
        items.append(
            AttentionItem(returned.total, "dashboard.attention.returned", f"{home}{DISBURSEMENTS.path}?status=RETURNED")
        )
        return [item for item in items if item.count]
