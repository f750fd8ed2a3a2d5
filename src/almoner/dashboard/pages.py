"""The pages of the dashboard, put together for wiring."""

from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import NavigationLink
from almoner.access.accounts.page_guard import PageContext, PageGuard
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard.disbursement_pages import DisbursementPages
from almoner.dashboard.domain import roles_with
from almoner.dashboard.donation_pages import DonationPages
from almoner.dashboard.form_pages import FormPages
from almoner.dashboard.home_pages import HomePages
from almoner.dashboard.member_calls import MemberCalls
from almoner.dashboard.record_lists import DISBURSEMENTS, DONATIONS, EVENTS, LISTS
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.settings_pages import PATH as BRAND
from almoner.dashboard.settings_pages import SettingsPages
from almoner.dashboard.webhook_pages import PATH as WEBHOOKS
from almoner.dashboard.webhook_pages import WebhookPages
from almoner.platform.http.service import ApiApplication
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"

LINKS: Final = (
    NavigationLink("Home", "/home", frozenset(MEMBER_ROLES)),
    *(NavigationLink(one.title, one.path, roles_with(one.scope), group=one.area) for one in LISTS if one is not EVENTS),
    NavigationLink("Webhooks", WEBHOOKS, roles_with("webhooks:write"), group="Developers"),
    NavigationLink(EVENTS.title, EVENTS.path, roles_with(EVENTS.scope), group="Developers"),
    NavigationLink("Brand and links", BRAND, frozenset({"owner"}), group="Settings"),
)
"""For the navigation."""


def routes(gate: PageGuard, pages: PageRenderer, api: ApiApplication) -> list[Route]:
    """Starlette routes. ``pages``: of ``TEMPLATES``; ``api``: answers the calls of the pages."""
    context, calls = PageContext(gate.db, gate, pages), MemberCalls(api)
    records = RecordPages(context, calls, LISTS)
    return [
        *HomePages(context, calls).routes(),
        *DonationPages(context, calls, records).routes(),
        *WebhookPages(context, calls).routes(),
        *DisbursementPages(context, records).routes(),
        *SettingsPages(context).routes(),
        *FormPages(context, calls, records).routes(),
        *records.routes(without_page=(DISBURSEMENTS, DONATIONS)),
    ]
