"""The readers of registers and watchlists, by the codes that commands and schedules name."""

import pytest

from almoner.sources import REGISTER_SOURCES, WATCHLIST_SOURCES, get_register_source, get_watchlist_source


@pytest.mark.parametrize("code", REGISTER_SOURCES)
def test_each_format_of_a_register_is_found_under_its_code(code: str) -> None:
    source = get_register_source(code)
    assert source.code == code
    assert source is REGISTER_SOURCES[code], "made once"


@pytest.mark.parametrize("code", WATCHLIST_SOURCES)
def test_each_watch_list_is_found_under_its_code(code: str) -> None:
    source = get_watchlist_source(code)
    assert source.code == code
    assert source is WATCHLIST_SOURCES[code], "made once"


def test_an_unknown_code_is_none() -> None:
    assert REGISTER_SOURCES.get("xyz") is None
    assert "xyz" not in WATCHLIST_SOURCES
