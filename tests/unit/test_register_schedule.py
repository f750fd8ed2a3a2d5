"""The schedules on which registers and lists refresh themselves: all that is wrong with one is told at once."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner import settings, sources
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.platform.jobs import refresh_schedule
from almoner.platform.jobs.refresh_schedule import InvalidRefreshSchedule
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.addresses import PUBLIC_ONLY, AddressPolicy
from almoner.platform.outbound.client import OutboundClient

GOOD = """
[irs-bmf]
every_hours = 168
urls = ["https://www.irs.gov/pub/irs-soi/eo1.csv", "https://www.irs.gov/pub/irs-soi/eo2.csv"]

[acnc]
every_hours = 24
urls = ["https://data.gov.au/acnc.csv"]
"""


def problems(text: str, policy: AddressPolicy = PUBLIC_ONLY) -> Sequence[str]:
    with pytest.raises(InvalidRefreshSchedule) as invalid:
        refresh_schedule.parse_refresh_schedule(text, sources.get_register_source, policy, ImportRefused)
    return invalid.value.problems


def test_a_schedule_names_sources_their_interval_and_their_addresses() -> None:
    first, second = refresh_schedule.parse_refresh_schedule(
        GOOD, sources.get_register_source, PUBLIC_ONLY, ImportRefused
    )
    assert (first.source, first.interval, len(first.urls)) == ("irs-bmf", timedelta(days=7), 2)
    assert (second.source, second.interval) == ("acnc", timedelta(days=1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[irs-bmf", "not TOML"),
        ("x = 1", "must be a table"),
        ("[nobody]\nevery_hours = 1\nurls = ['https://a.example/']", "is not a format of a register"),
        ("[acnc]\nevery_hours = 0\nurls = ['https://a.example/']", "every_hours, a whole number"),
        ("[acnc]\nevery_hours = true\nurls = ['https://a.example/']", "every_hours, a whole number"),
        ("[acnc]\nevery_hours = 1.5\nurls = ['https://a.example/']", "every_hours, a whole number"),
        ("[acnc]\nurls = ['https://a.example/']", "every_hours"),
        ("[acnc]\nevery_hours = 1", "needs urls"),
        ("[acnc]\nevery_hours = 1\nurls = []", "needs urls"),
        ("[acnc]\nevery_hours = 1\nurls = 'https://a.example/'", "needs urls"),
        ("[acnc]\nevery_hours = 1\nurls = ['http://a.example/']", "must use https"),
        ("[acnc]\nevery_hours = 1\nurls = ['https://10.0.0.1/']", "public address"),
        ("[acnc]\nevery_hours = 1\nurls = [7]", "must be a web address"),
        ("[acnc]\nevery_hours = 1\nurls = ['https://a.example/', 'https://a.example/']", "twice"),
        ("[acnc]\nevery_hours = 1\nevery_minutes = 2\nurls = ['https://a.example/']", "every_minutes, which means"),
    ],
)
def test_what_is_wrong_is_told(text: str, words: str) -> None:
    assert any(words in problem for problem in problems(text))


def test_all_problems_are_told_at_once() -> None:
    assert len(problems("[nobody]\nevery_hours = 0\nurls = ['http://a.example/', 'https://localhost/']")) == 4


def test_the_sandbox_may_fetch_from_this_machine() -> None:
    text = "[acnc]\nevery_hours = 1\nurls = ['http://127.0.0.1:8000/acnc.csv']"
    assert "must use https" in problems(text)[0]
    assert (
        len(
            refresh_schedule.parse_refresh_schedule(
                text, sources.get_register_source, AddressPolicy(allows_loopback=True), ImportRefused
            )
        )
        == 1
    )


@given(failures=st.integers(1, 10_000), hours=st.integers(1, 1000))
def test_pauses_grow_and_are_never_longer_than_the_interval(failures: int, hours: int) -> None:
    every = timedelta(hours=hours)
    assert (
        timedelta()
        < refresh_schedule.retry_delay(failures, every)
        <= refresh_schedule.retry_delay(failures + 1, every)
        <= every
    )


def test_settings_tell_what_is_wrong_with_the_schedule(tmp_path: Path) -> None:
    file = tmp_path / "registers.toml"
    given_settings = settings.read_settings(register_schedule=file)
    with pytest.raises(settings.InvalidSettings, match="cannot be read"):
        sources.parse_register_refresh_schedule(given_settings, PUBLIC_ONLY)
    file.write_text("[nobody]\n")
    with pytest.raises(settings.InvalidSettings, match="ALMONER_REGISTER_SCHEDULE"):
        sources.parse_register_refresh_schedule(given_settings, PUBLIC_ONLY)
    file.write_text(GOOD)
    assert len(sources.parse_register_refresh_schedule(given_settings, PUBLIC_ONLY)) == 2
    assert sources.parse_register_refresh_schedule(settings.read_settings(), PUBLIC_ONLY) == ()


def test_settings_tell_what_is_wrong_with_the_schedule_of_watch_lists(tmp_path: Path) -> None:
    (file := tmp_path / "watchlists.toml").write_text("[nobody]\nevery_hours = 0\nurls = ['ftp://example.org/a']\n")
    given_settings = settings.read_settings(watchlist_schedule=file)
    outbound, telemetry = OutboundClient(PUBLIC_ONLY), Telemetry()
    with pytest.raises(settings.InvalidSettings) as refused:
        sources.build_watchlist_refresh_context(given_settings, PUBLIC_ONLY, outbound, telemetry)
    reported = str(refused.value)
    assert reported.count("ALMONER_WATCHLIST_SCHEDULE: [nobody]") == 3
    assert "is not a list that is read" in reported
    file.write_text("[ofac-sdn]\nevery_hours = 24\nurls = ['https://example.org/sdn.csv']\n")
    (planned,) = sources.build_watchlist_refresh_context(given_settings, PUBLIC_ONLY, outbound, telemetry).schedule
    assert (planned.source, planned.interval) == ("ofac-sdn", timedelta(days=1))
    assert (
        sources.build_watchlist_refresh_context(settings.read_settings(), PUBLIC_ONLY, outbound, telemetry).schedule
        == ()
    )
