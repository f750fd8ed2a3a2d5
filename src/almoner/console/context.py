"""What all console pages share: access control, rendering and the counters in the navigation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import FORM_LIMITS, OPERATORS_HOME, FormLimits
from almoner.access.accounts.page_guard import PageContext, SignedInRequest, VisitorHandler
from almoner.access.accounts.page_texts import PageTexts, parse_time_zone
from almoner.access.guard import RateLimits
from almoner.access.operators import service as operators
from almoner.access.people.domain import Role
from almoner.console.links import RECORD_PAGES
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.evidence.dossier import DossierLoader
from almoner.platform.files.storage import BlobStore
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.http.uploads import UploadDeclaration
from almoner.platform.jobs.schedules import PeriodicJob
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages.record_tables import humanise_field_name, status_tone
from almoner.screening.screenings.service import Screener
from almoner.validation.applications.documents.ports import MalwareScanner
from almoner.validation.applications.form.outcome_previews import DecisionEmailPreviews
from almoner.validation.decisions.reviews.domain import Kind
from almoner.validation.decisions.reviews.ports import ReviewHandler

MOST_COUNTED: Final = 1000
"""The highest count in the navigation. Higher counts are shown as this number with a plus sign."""
_SHORTCUTS: Final = {
    "/desk": "d",
    "/reviews": "r",
    "/payment-files": "p",
    "/bank-statements": "b",
    "/partners": "a",
    "/registers": "g",
    "/organisations": "n",
    "/health": "h",
}
"""The keyboard shortcuts for navigation, by path. Press ``g`` and then the key."""
Counter = Callable[[Tx], Awaitable[int | tuple[int, datetime | None]]]
"""Counts the pending items of a page, up to ``MOST_COUNTED`` + 1."""
PageKey = tuple[str, str]
"""A keyboard shortcut of one page: a key that opens the link with this ``data-key``, and its description."""


def capitalise(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class ConsoleServices:
    """The services that the console needs in addition to the database.

    ``scanner`` and ``own_accounts`` (our bank accounts by currency) are None if they are not configured.
    ``preview_decision_emails`` makes a decision, collects the emails that applicants would get, and rolls the decision
    back. ``dossier_loaders_by_id_type``: by the ID type of the record. ``register_sources``, ``watchlist_sources``: the
    codes of the supported import formats. ``rate_limits``: the default limits of partners. ``screener``: compares names
    with the watchlists, which it loads at the first use.
    """

    blobs: BlobStore
    upload_intake: UploadIntake
    scanner: MalwareScanner | None
    outbound: OutboundClient
    disbursement_rules: DisbursementRules
    own_accounts: Mapping[str, OwnAccount] | None
    review_handlers: Mapping[Kind, ReviewHandler]
    dossier_loaders_by_id_type: Mapping[str, DossierLoader]
    preview_decision_emails: Callable[..., Awaitable[DecisionEmailPreviews]]
    register_sources: Sequence[str]
    watchlist_sources: Sequence[str]
    rate_limits: RateLimits
    screener: Screener
    periodic_jobs: Callable[[Tx], Awaitable[Sequence[PeriodicJob]]]


@dataclass(frozen=True, slots=True)
class ConsoleContext(PageContext):
    """The dependencies of all console pages.

    ``pending_item_counters_by_path``: functions that count the pending items of a page, by its path.
    """

    services: ConsoleServices
    pending_item_counters_by_path: dict[str, Counter] = field(default_factory=dict)

    def route(
        self,
        path: str,
        handler: VisitorHandler,
        *roles: Role,
        requires_reauthentication: bool = False,
        methods: Sequence[str] = ("GET", "POST"),
        upload: UploadDeclaration | None = None,
        limits: FormLimits = FORM_LIMITS,
    ) -> Route:
        """Declare a page below ``/operator`` for operators with one of the roles.

        ``requires_reauthentication``: requires a recent reauthentication. ``upload``: the file that the page accepts.
        ``limits``: the size limits of a form without a file.
        """
        return self.guard.protected_route(
            OPERATORS_HOME + path,
            handler,
            *roles,
            requires_reauthentication=requires_reauthentication,
            methods=methods,
            upload=upload,
            limits=limits,
        )

    def texts(self, visitor: SignedInRequest) -> PageTexts:
        """Texts, numbers and dates of a page, in English and in the visitor's time zone."""
        deployment = self.db.deployment
        zone = parse_time_zone(visitor.person.time_zone) or deployment.time_zone
        return PageTexts(self.page_renderer.language_for_tag(None), zone, deployment.clock.now())

    async def render_console_page(
        self,
        visitor: SignedInRequest,
        template: str,
        *,
        status: int = 200,
        page_keys: Sequence[PageKey] = (),
        **facts: object,
    ) -> Response:
        """Render a page of the console.

        ``page_keys``: keyboard shortcuts for links on this page. A shortcut only opens a link and never makes a
        decision.
        """
        texts = self.texts(visitor)
        return self.render_page(
            visitor,
            template,
            language=texts.language,
            status=status,
            status_tone=status_tone,
            label=str,
            words=capitalise,
            number=texts.number_text,
            moment=texts.timestamp_text,
            short_moment=texts.short_timestamp_text,
            age=texts.age_text,
            zone=texts.time_zone_name(),
            parsed=datetime.fromisoformat,
            shortcuts=_SHORTCUTS,
            page_keys=page_keys,
            counts=await self._counts(visitor),
            script=True,
            **{"value_text": humanise_field_name, **facts},
        )

    async def _counts(self, visitor: SignedInRequest) -> dict[str, str]:
        """The number of pending items for each navigation link that the visitor can see."""
        texts, found = self.texts(visitor), {}
        seen = {path for path in self.pending_item_counters_by_path if self.guard.is_in_navigation(visitor, path)}
        async with self.db.read() as tx:
            for path in seen:
                counted = await self.pending_item_counters_by_path[path](tx)
                count, oldest = counted if isinstance(counted, tuple) else (counted, None)
                if count:
                    most = count > MOST_COUNTED
                    found[path] = f"{texts.number_text(MOST_COUNTED)}+" if most else texts.number_text(count)
                    if oldest is not None:
                        found[path] += f" · {texts.age_text(oldest)}"
        return found

    def record_path(self, visitor: SignedInRequest, record_id: str) -> str | None:
        """The path of the record with this ID. None if the visitor has no access to the record."""
        for id_type, path in RECORD_PAGES.items():
            if self.db.deployment.ids.decode(id_type, record_id):
                return (
                    f"{visitor.portal.home}{path}/{record_id}" if self.guard.is_in_navigation(visitor, path) else None
                )
        return None

    def operator_id(self, visitor: SignedInRequest) -> str:
        """The operator ID of the visitor, which is stored with their decisions."""
        return self.format_id(operators.ID, visitor.person.id)

    async def record_audit_entry(
        self,
        tx: Tx,
        visitor: SignedInRequest,
        audit_scope_id: UUID,
        action: str,
        subject: str,
        **details: str | int | bool | None,
    ) -> None:
        """Record the same audit log entry as the corresponding CLI command."""
        by = self.audit_context(visitor)
        given: audit.Details | None = details or None
        await audit.record_entry(tx, audit_scope_id, by.actor, action, subject, ip_address=by.ip_address, details=given)
