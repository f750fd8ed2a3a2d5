"""Charts as the rows of their tables, with the geometry of their bars: pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

DAYS: Final = 30
WIDTH: Final = 600
HEIGHT: Final = 120
_GAP: Final = 4


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One day. ``x``, ``y``, ``width``, ``height``: of its bar, in units of the picture."""

    day: date
    count: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class DailyChart:
    """The totals of the last days, oldest first, and the total of as many days before."""

    bars: list[ChartBar]
    total: int
    total_before: int


def chart_start_date(today: date) -> date:
    """The first day of a chart for today."""
    return today - timedelta(days=2 * DAYS - 1)


def build_daily_chart(counts_by_day: Mapping[date, int], today: date) -> DailyChart:
    """The chart of daily counts since ``chart_start_date``."""
    days = [today - timedelta(days=back) for back in range(2 * DAYS)]
    most = max(counts_by_day.get(day, 0) for day in days[:DAYS])
    total, before = (sum(counts_by_day.get(day, 0) for day in part) for part in (days[:DAYS], days[DAYS:]))
    return DailyChart(build_daily_bars(counts_by_day, today, most), total, before)


def build_daily_bars(values_by_day: Mapping[date, float], today: date, max_value: float) -> list[ChartBar]:
    """One bar for each of the last days, oldest first. ``max_value``: the value of a bar as high as the picture."""
    step = WIDTH / DAYS
    bars = []
    for position in range(DAYS):
        day = today - timedelta(days=DAYS - 1 - position)
        value = values_by_day.get(day, 0)
        height = round(value / (max_value or 1) * HEIGHT, 1)
        bars.append(ChartBar(day, value, round(position * step, 1), HEIGHT - height, round(step - _GAP, 1), height))
    return bars
