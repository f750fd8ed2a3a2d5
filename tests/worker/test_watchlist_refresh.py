"""Watchlists that refresh themselves: fetched when due, loaded when changed, never by default."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from almoner.access.operators import service as operators
from tests.support.console import act, closed, words
from tests.support.database import TestDatabase
from tests.support.operators import operator, signed_in
from tests.support.publisher import Publisher
from tests.support.receivers import Receiver, receiver, reply
from tests.support.service import Service, serving
from tests.support.terminal import BY

DAY = timedelta(hours=24)
HEADER = "key,kind,name,category\n"


def published(tag: str, *names: str) -> Publisher:
    """Findings of an operator's own, as a server of theirs has them."""
    rows = "".join(f"{number},organisation,{name},warning\n" for number, name in enumerate(names, 1))
    return Publisher((HEADER + rows).encode(), f'"{tag}"')


@asynccontextmanager
async def refreshing(database: TestDatabase, folder: Path, server: Receiver | None) -> AsyncIterator[Service]:
    schedule = folder / "watchlists.toml"
    if server is not None:
        schedule.write_text(f'[own]\nevery_hours = 24\nurls = ["http://127.0.0.1:{server.port}/findings.csv"]\n')
    named = schedule if server is not None else None
    async with serving(database, data_dir=folder / "var", watchlist_schedule=named) as service:
        yield service


async def stand(service: Service) -> tuple[object, ...]:
    """(status, failures, loads so far)"""
    async with service.db.read() as tx:
        row = await tx.fetchrow(
            "select status, failures, (select count(*) from watchlist_load) as loads from watchlist_refresh"
        )
    return tuple(row) if row else ()


async def test_nothing_is_fetched_unless_a_schedule_says_so(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with refreshing(empty_database, tmp_path, None) as services:
        await services.drain()
        assert await stand(services) == ()


async def test_a_list_follows_its_publisher(empty_database: TestDatabase, tmp_path: Path) -> None:
    many = [f"Circle of Town {number}" for number in range(30)]
    async with (
        receiver(published("v1", *many)) as server,
        refreshing(empty_database, tmp_path, server) as services,
    ):
        async with services.db.write() as tx:
            await operators.add_operator(tx, BY, "olive@example.org", "Olive", ["administrator"])
        await services.drain()
        assert await stand(services) == ("loaded", 0, 1)
        async with services.db.read() as tx:
            reported = await tx.fetchrow("select fetched_from, entries from watchlist_load")
        assert tuple(reported or ()) == ([f"http://127.0.0.1:{server.port}/findings.csv"], 30)

        await services.drain()
        assert len(server.received) == 1, "it is not due"
        services.clock.advance(DAY)
        await services.drain()
        assert await stand(services) == ("unchanged", 0, 1)

        server.otherwise = published("v2", *many, "House of Cacao")
        services.clock.advance(DAY)
        await services.drain()
        assert await stand(services) == ("loaded", 0, 2)

        server.otherwise = published("v3", "House of Cacao")
        for _ in range(2):  # the second time it is the same file: nobody is told of it again
            services.clock.advance(DAY)
            await services.drain()
            assert await stand(services) == ("refused", 0, 3)
        async with services.db.read() as tx:
            trail = await tx.fetch(
                "select action from audit_entry where actor_id = 'watchlists.refresh' order by position"
            )
            mails = await tx.fetchval("select count(*) from sandbox_mail where subject like 'Watchlist update failed%'")
            left = await tx.fetchval("select count(*) from watchlist_entry where until_load_id is null")
        assert [row["action"] for row in trail] == ["watchlist.imported"] * 2 + ["watchlist.refused"]
        assert (mails, left) == (1, 31)


async def test_a_server_that_is_away_is_asked_again_soon(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with receiver() as server, refreshing(empty_database, tmp_path, server) as services:
        server.otherwise = reply(404)
        await services.drain()
        assert await stand(services) == ("failed", 1, 0)
        browser = await signed_in(services, await operator(services, "administrator"))
        await browser.open("/operator/watch-lists")
        assert re.search(r"own Failed No data has been loaded. Fetched last .* \(failed\), next", words(browser))
        await browser.close()
        server.otherwise = published("v1", "House of Cacao")
        services.clock.advance(timedelta(minutes=6))
        await services.drain()
        assert await stand(services) == ("loaded", 0, 1)


async def test_a_list_is_refreshed_now_and_retired(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with (
        receiver(published("v1", "House of Cacao")) as server,
        refreshing(empty_database, tmp_path, server) as services,
    ):
        await services.drain()
        browser = await signed_in(services, await operator(services, "administrator"))
        for path in ("/operator/watch-lists", "/operator/watch-lists/own"):
            await browser.open(path)
            assert re.search(r"Healthy .*Fetched last [^(]+ \(loaded\), next ", words(browser)), path
        server.otherwise = published("v2", "House of Cacao", "House of Tea")
        await act(browser, "/operator/watch-lists/own/refresh")
        await services.drain()
        assert await stand(services) == ("loaded", 0, 2)
        await act(browser, "/operator/watch-lists/own/retire")
        assert "This watchlist has been retired" in await closed(browser, "/operator/watch-lists/own/retire")
        async with services.db.read() as tx:
            who = "select action from audit_entry where actor_kind = 'operator' and subject = 'own' order by position"
            trail = [row["action"] for row in await tx.fetch(who)]
            left = await tx.fetchval("select count(*) from watchlist_entry where until_load_id is null")
        assert (trail, left) == (["watchlist.refresh_started", "watchlist.retired"], 0)
        await browser.close()
