"""The API limits: how many requests are allowed and were made, and how many records of a kind there may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request
from almoner.access.accounts.page_texts import PageTexts, build_page_texts
from almoner.access.guard import RateLimits
from almoner.access.keys import service as keys
from almoner.access.keys.domain import ApiKey, RequestCounts
from almoner.dashboard import store_exports, store_views
from almoner.dashboard.domain import roles_with_scope
from almoner.dashboard.exports import MOST_EXPORTS
from almoner.dashboard.rendering import render_page
from almoner.dashboard.view_pages import MOST_VIEWS
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.giving.checkout.giving_links.domain import MAX_LINKS
from almoner.kit.rates import RequestRate
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.caller import PUBLISHABLE, KeyKind
from almoner.platform.http.paging import RequestedPage
from almoner.platform.ratelimit import RateLimit
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.domain import MAX_CONFIGURATIONS

PATH: Final = "/limits"
SCOPE: Final = "api_requests:read"
WINDOWS: Final = ("dashboard.limits.minute", "dashboard.limits.hour", "dashboard.limits.day")
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ApiKeyUsage:
    """The limits and usage of one key or all, as text. ``request_counts``: by window."""

    name: str
    limits: Sequence[RateLimit]
    request_counts: Sequence[str]
    refused_counts: str


@dataclass(frozen=True, slots=True)
class RecordCountLimit:
    """The number of records of a kind and its limit. ``label``: a catalogue key; ``path``: their page."""

    label: str
    path: str
    used: int
    max_count: int


class UsageLimitPages:
    """The page."""

    def __init__(self, context: PageContext, limits: RateLimits) -> None:
        self._context = context
        self._limits = limits

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(PATH, self.show_usage, *sorted(roles_with_scope(SCOPE)), methods=["GET"])]

    async def show_usage(self, visitor: SignedInRequest) -> Response:
        """Show all limits with their usage."""
        partner, texts = partner_from_request(visitor), build_page_texts(self._context, visitor)
        async with self._context.db.read() as tx:
            known = [key for key in await keys.list_by_partner(tx, partner) if key.is_usable(tx.real_now)]
            now = tx.now  # the log's clock
            made = await keys.count_requests(tx, partner, (now - _MINUTE, now - _HOUR, now - _DAY))
            refused = await keys.count_rate_limited_requests(tx, partner)
            sizes = await _size_limits(tx, partner, visitor)
            own = await keys.load_rate_limits_by_key_kind(tx, partner)
        usage = [self._usage(key, own.get(key.kind), made, refused, texts) for key in known]
        total = ApiKeyUsage("", (), _in_words(made, made.totals, texts), _in_words(refused, refused.totals, texts)[0])
        return render_page(
            self._context, visitor, "limits.html", usage=usage, total=total, windows=WINDOWS, sizes=sizes
        )

    def _usage(
        self, key: ApiKey, own: RequestRate | None, made: RequestCounts, refused: RequestCounts, texts: PageTexts
    ) -> ApiKeyUsage:
        kind = KeyKind(key.kind)
        by_address = (self._limits.publishable_per_address,) if kind is PUBLISHABLE else ()
        return ApiKeyUsage(
            f"{key.name} ...{key.hint}",
            (self._limits.limit_for_key(kind, own), *by_address),
            _in_words(made, made.counts_for_key(key.id), texts),
            _in_words(refused, refused.counts_for_key(key.id), texts)[0],
        )


def _in_words(counted: RequestCounts, numbers: Sequence[int], texts: PageTexts) -> list[str]:
    """The number of requests since each time; a lower bound if not all were counted."""
    return [
        texts.number_text(number)
        if counted.is_complete_since(since)
        else texts.text("dashboard.list.many", number=texts.number_text(number))
        for number, since in zip(numbers, counted.window_starts, strict=True)
    ]


async def _size_limits(tx: Tx, partner: Partner, visitor: SignedInRequest) -> list[RecordCountLimit]:
    _, links = await giving_links.list_page(tx, partner, RequestedPage(1, descending=True), active=None)
    return [
        RecordCountLimit("dashboard.list.givinglink.title", "/giving-links", links, MAX_LINKS),
        RecordCountLimit(
            "dashboard.list.hostedconfiguration.title",
            "/application-forms",
            len(await configurations.list_all(tx, partner)),
            MAX_CONFIGURATIONS,
        ),
        RecordCountLimit("dashboard.exports", "/exports", await store_exports.count_exports(tx, partner), MOST_EXPORTS),
        RecordCountLimit(
            "dashboard.limits.views",
            "/views",
            len(await store_views.list_saved_views(tx, partner, visitor.person.id)),
            MOST_VIEWS,
        ),
    ]
