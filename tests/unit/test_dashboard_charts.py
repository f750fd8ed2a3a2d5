"""Charts of the dashboard: every day has its bar, and the sums are those of the days."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from almoner.platform.pages import charts

TODAY = date(2026, 3, 2)
COUNTS = st.dictionaries(
    st.integers(0, 2 * charts.DAYS - 1).map(lambda back: TODAY - timedelta(days=back)), st.integers(0, 10**6)
)


@given(COUNTS)
def test_the_bars_add_up_to_what_was_counted(counts: dict[date, int]) -> None:
    chart = charts.build_daily_chart(counts, TODAY)
    assert (chart.bars[-1].day, len(chart.bars)) == (TODAY, charts.DAYS)
    assert chart.total + chart.total_before == sum(counts.values())
    assert all(counts.get(bar.day, 0) == bar.count for bar in chart.bars)


@given(COUNTS)
def test_no_bar_leaves_the_picture(counts: dict[date, int]) -> None:
    for bar in charts.build_daily_chart(counts, TODAY).bars:
        assert 0 <= bar.x <= bar.x + bar.width <= charts.WIDTH
        assert abs(bar.y + bar.height - charts.HEIGHT) < 0.01
        assert 0 <= bar.height <= charts.HEIGHT
