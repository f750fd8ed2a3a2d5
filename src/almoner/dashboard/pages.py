"""All pages of the dashboard, assembled for wiring."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import NavigationLink
from almoner.access.accounts.page_guard import PageContext, PageGuard
from almoner.access.guard import RateLimits
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard.api_request_source import ApiRequestSource
from almoner.dashboard.configuration_pages import FormPreviewRenderer, SubmissionConfigurationPages
from almoner.dashboard.disbursement_pages import DisbursementPages
from almoner.dashboard.domain import REPORT_READERS, RecordList, roles_with_scope
from almoner.dashboard.donation_pages import DonationPages
from almoner.dashboard.export_pages import ExportPages
from almoner.dashboard.form_pages import RecordFormPages
from almoner.dashboard.gallery_pages import PATH as GALLERY
from almoner.dashboard.gallery_pages import ROLES as GALLERY_ROLES
from almoner.dashboard.gallery_pages import ComponentGalleryPages
from almoner.dashboard.home_pages import HomePages
from almoner.dashboard.image_pages import RecordImagePages
from almoner.dashboard.invite_pages import NonprofitInvitePages
from almoner.dashboard.limit_pages import PATH as LIMITS
from almoner.dashboard.limit_pages import SCOPE as LIMITS_SCOPE
from almoner.dashboard.limit_pages import UsageLimitPages
from almoner.dashboard.list_files import RecordListReader
from almoner.dashboard.member_api_client import MemberApiClient
from almoner.dashboard.preference_pages import PATH as PREFERENCES
from almoner.dashboard.preference_pages import PreferencePages
from almoner.dashboard.question_pages import QuestionPages
from almoner.dashboard.record_lists import (
    API_REQUESTS,
    DISBURSEMENTS,
    DONATIONS,
    EVENTS,
    INVITES,
    LISTS,
    PATHS_BY_ID_TYPE,
    SUBMISSIONS,
)
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.refund_limit_pages import PATH as REFUND_LIMITS
from almoner.dashboard.refund_limit_pages import RefundLimitPages
from almoner.dashboard.report_pages import PATH as REPORTS
from almoner.dashboard.report_pages import ReportPages
from almoner.dashboard.search_pages import SearchPages
from almoner.dashboard.settings_pages import PATH as BRAND
from almoner.dashboard.settings_pages import BrandingPages
from almoner.dashboard.submission_pages import SubmissionPages
from almoner.dashboard.view_pages import SavedViewPages
from almoner.dashboard.webhook_pages import PATH as WEBHOOKS
from almoner.dashboard.webhook_pages import WebhookPages
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.evidence.dossier import DossierLoader
from almoner.platform.files.storage import BlobStore
from almoner.platform.http.service import ApiApplication
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"
RECORD_PATHS: Final = PATHS_BY_ID_TYPE | {"webhooksubscription": WEBHOOKS}
"""The paths of record pages by ID type, relative to the account's path."""


def _link(record_list: RecordList) -> NavigationLink:
    return NavigationLink(
        record_list.translation_key("title"),
        record_list.path,
        roles_with_scope(record_list.scope),
        group=record_list.area,
    )


LINKS: Final = (
    NavigationLink("desk.link.home", "/home", frozenset(MEMBER_ROLES)),
    *(_link(one) for one in LISTS if one.area != "Developers"),
    NavigationLink("desk.link.webhooks", WEBHOOKS, roles_with_scope("webhooks:write"), group="Developers"),
    *(_link(one) for one in (EVENTS, API_REQUESTS)),
    NavigationLink("desk.link.limits", LIMITS, roles_with_scope(LIMITS_SCOPE), group="Developers"),
    NavigationLink("desk.link.gallery", GALLERY, GALLERY_ROLES, group="Developers", sandbox_only=True),
    NavigationLink("desk.link.preferences", PREFERENCES, frozenset(MEMBER_ROLES), group="Settings"),
    NavigationLink("desk.link.reports", REPORTS, REPORT_READERS, group="Donations"),
    NavigationLink("desk.link.brand", BRAND, frozenset({"owner"}), group="Settings"),
    NavigationLink("desk.link.support_refunds", REFUND_LIMITS, frozenset({"owner"}), group="Settings"),
)
"""Links for the navigation."""


def routes(
    page_guard: PageGuard,
    page_renderer: PageRenderer,
    api: ApiApplication,
    disbursement_rules: DisbursementRules,
    blobs: BlobStore,
    form_preview_renderer: FormPreviewRenderer,
    rate_limits: RateLimits,
    dossier_loaders: Mapping[str, DossierLoader],
) -> list[Route]:
    """Starlette routes. ``page_renderer``: renders ``TEMPLATES``; ``api``: handles the pages' API calls.

    ``disbursement_rules``: of disbursements, from which a reassigned donation is removed. ``blobs``: the storage of
    prepared files. ``form_preview_renderer``: renders the hosted form of applications. ``rate_limits``: request rate
    limits. ``dossier_loaders``: by ID type.
    """
    context, calls = PageContext(page_guard.db, page_guard, page_renderer), MemberApiClient(api)
    files = RecordListReader(page_guard.db, calls, {API_REQUESTS: ApiRequestSource(page_guard.db)})
    records = RecordPages(context, calls, LISTS, files, dossier_loaders)
    return [
        *HomePages(context, calls).routes(),
        *SearchPages(context, calls, records).routes(),
        *SavedViewPages(context, LISTS).routes(),
        *ExportPages(context, files, blobs).routes(),
        *DonationPages(context, calls, records, disbursement_rules).routes(),
        *WebhookPages(context, calls).routes(),
        *UsageLimitPages(context, rate_limits).routes(),
        *DisbursementPages(context, records).routes(),
        *SubmissionPages(context, calls, records).routes(),
        *ReportPages(context).routes(),
        *BrandingPages(context, form_preview_renderer).routes(),
        *PreferencePages(context).routes(),
        *ComponentGalleryPages(context).routes(),
        *RefundLimitPages(context).routes(),
        *SubmissionConfigurationPages(context, form_preview_renderer).routes(),
        *QuestionPages(context, calls, records, form_preview_renderer).routes(),
        *RecordFormPages(context, calls, records).routes(),
        *RecordImagePages(context, calls, records).routes(),
        *NonprofitInvitePages(context, records).routes(),
        *records.routes(lists_with_custom_pages=(DISBURSEMENTS, DONATIONS, INVITES, SUBMISSIONS)),
    ]
