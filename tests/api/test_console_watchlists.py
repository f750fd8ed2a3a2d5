"""Watchlists in the console: how old they are, and how old they may be."""

from datetime import timedelta
from pathlib import Path

from almoner.screening.watchlists.domain import MAX_AGE
from tests.support import watchlists
from tests.support.console import words
from tests.support.operators import operator, signed_in
from tests.support.service import Service

HOME = "/operator"


async def test_an_outdated_list_is_seen(alone: Service, tmp_path: Path) -> None:
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    browser = await signed_in(alone, await operator(alone, "administrator"))
    await browser.open(f"{HOME}/desk")
    assert "Outdated watchlists" not in words(browser)
    await browser.open(f"{HOME}/watch-lists")
    assert "ofac-sdn Healthy" in words(browser)
    assert "maximum age 180 days; sanction. Not scheduled." in words(browser)
    alone.clock.advance_to(alone.clock.real_now() + MAX_AGE + timedelta(days=1))
    for path in ("/watch-lists", "/watch-lists/ofac-sdn"):
        await browser.open(HOME + path)
        assert "ofac-sdn Late" in words(browser), path
    await browser.open(f"{HOME}/desk")
    assert "Outdated watchlists 1" in words(browser)
    await browser.close()
