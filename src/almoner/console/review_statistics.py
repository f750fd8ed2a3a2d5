"""The page with figures about reviews: decisions, time in the queue, and how often second looks agreed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.review_words import KIND_WORDS, review_reason_text
from almoner.platform.pages import charts
from almoner.platform.pages.charts import ChartBar
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    MIN_LOOKS,
    WAITING_TARGET,
    DailyReviewStatistics,
    Kind,
    agreement_confidence_interval,
)

_PATH: Final = "/reviews/figures"
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class SecondLookAgreementRate:
    """How often second looks agreed with the first decision. ``agreed_percent``: None if there are too few of them.

    ``lower_bound``, ``upper_bound``: the confidence interval, in percent.
    """

    second_look_count: int
    agreed_percent: float | None = None
    lower_bound: float = 0
    upper_bound: float = 0


@dataclass(frozen=True, slots=True)
class WaitingTimeChart:
    """The median waiting time of cases of one kind by day. ``target_y``: where the line of the target is, if any."""

    label: str
    decided_count: int
    on_time_count: int
    bars: Sequence[ChartBar]
    target_y: float | None


class ReviewStatisticsPage:
    """The page."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """The Starlette routes. They come before the routes of review cases, which would also match the URL."""
        return [self._context.route(_PATH, self.show, *sorted(ADMINISTRATORS), methods=["GET"])]

    async def show(self, visitor: SignedInRequest) -> Response:
        """Show the figures of the last days as charts and tables."""
        async with self._context.db.read() as tx:
            today = tx.now.date()
            since = datetime.combine(today - timedelta(days=charts.DAYS - 1), time(), UTC)
            daily = await reviews.list_daily_review_statistics(tx, since)
            hourly = await reviews.list_decision_counts_by_reviewer(tx, since)
            agreed = await reviews.list_second_look_agreement_by_reviewer(tx, since)
            reasons = await reviews.list_reason_statistics(tx, since)
            names = await operators.load_display_names_by_operator_id(
                tx, [*(one[0] for one in hourly), *(one.reviewer for one in agreed)]
            )
        fastest = max((count / hours for _, _, count, hours in hourly), default=1)
        return await self._context.render_console_page(
            visitor,
            "review_figures.html",
            days=charts.DAYS,
            target=WAITING_TARGET // timedelta(hours=1),
            percent=self._context.db.deployment.second_look_percent,
            min_looks=MIN_LOOKS,
            decisions=_decision_bars(daily, today),
            decided=sum(one.decided_count for one in daily),
            kept=sum(one.on_time_count for one in daily),
            waits=[_waiting_chart(kind, of, today) for kind in KIND_WORDS if (of := _of_kind(daily, kind))],
            daily=[(KIND_WORDS[one.kind], one, f"{one.median_wait_seconds / _HOUR:.1f}") for one in daily],
            hourly=[
                (names.get(by, by), KIND_WORDS[kind], count, f"{count / hours:.1f}", 100 * count / hours / fastest)
                for by, kind, count, hours in hourly
            ],
            agreement=[
                (
                    names.get(one.reviewer, one.reviewer),
                    KIND_WORDS[one.kind],
                    _agreement(one.second_look_count, one.agreed_count),
                )
                for one in agreed
            ],
            reasons=[
                (
                    review_reason_text(one.reason),
                    KIND_WORDS[one.kind],
                    one,
                    _agreement(one.second_look_count, one.agreed_count),
                )
                for one in reasons
            ],
        )


def _of_kind(daily: Sequence[DailyReviewStatistics], kind: Kind) -> list[DailyReviewStatistics]:
    return [one for one in daily if one.kind == kind]


def _decision_bars(
    daily: Sequence[DailyReviewStatistics], today: date
) -> tuple[Sequence[ChartBar], Sequence[ChartBar]]:
    """Bars of all decided cases by day, and of those that were decided on time, in the same scale."""
    decided: Counter[date] = Counter()
    kept: Counter[date] = Counter()
    for one in daily:
        decided[one.day] += one.decided_count
        kept[one.day] += one.on_time_count
    most = max(decided.values(), default=0)
    return charts.build_daily_bars(decided, today, most), charts.build_daily_bars(kept, today, most)


def _waiting_chart(kind: Kind, daily: Sequence[DailyReviewStatistics], today: date) -> WaitingTimeChart:
    """The chart of one kind. Appeals have a target in business days, so their chart has no line."""
    hours = {one.day: one.median_wait_seconds / _HOUR for one in daily}
    target = None if kind == "appeal" else WAITING_TARGET / timedelta(hours=1)
    most = max(*hours.values(), target or 0, 1)
    return WaitingTimeChart(
        KIND_WORDS[kind],
        sum(one.decided_count for one in daily),
        sum(one.on_time_count for one in daily),
        charts.build_daily_bars(hours, today, most),
        None if target is None else round(charts.HEIGHT * (1 - target / most), 1),
    )


def _agreement(looks: int, agreed: int) -> SecondLookAgreementRate:
    if looks < MIN_LOOKS:
        return SecondLookAgreementRate(looks)
    low, high = agreement_confidence_interval(looks, agreed)
    return SecondLookAgreementRate(looks, 100 * agreed / looks, 100 * low, 100 * high)
