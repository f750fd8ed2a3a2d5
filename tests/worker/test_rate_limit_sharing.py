"""Limits are whole with any number of servers: each counts alone and tells the others each second what was used."""

from almoner.platform.jobs.rate_limit_sharing import CrossServerRateLimitSynchroniser
from almoner.platform.ratelimit import RateLimit, RateLimiter
from tests.worker.conftest import Ground

LIMIT = RateLimit("secret", 25, 50)


class Servers:
    """Some servers over one database."""

    def __init__(self, ground: Ground, number: int) -> None:
        ground.clock.stop_wall()
        self.limiters = [RateLimiter() for _ in range(number)]
        self.sharings = [
            CrossServerRateLimitSynchroniser(ground.db, limiter, ground.telemetry) for limiter in self.limiters
        ]
        for sharing in self.sharings:
            sharing.set_server_count(number)
        self.ground = ground

    def call(self, server: int, key: str = "a", times: int = 1) -> int:
        """How many of so many calls a server lets through."""
        now = self.ground.clock.real_now().timestamp()
        return sum(self.limiters[server].count_call(LIMIT, key, now).retry_after_seconds is None for _ in range(times))

    async def share(self) -> None:
        """All exchange, twice: what the last one told the first hears then."""
        for sharing in (*self.sharings, *self.sharings):
            await sharing.exchange_usage_once()


async def test_h13_one_server_of_four_grants_the_whole_limit(ground: Ground) -> None:
    servers = Servers(ground, 4)
    await servers.share()
    assert servers.call(2, times=60) == 50


async def test_h13_what_one_server_granted_no_other_grants_again(ground: Ground) -> None:
    servers = Servers(ground, 3)
    assert servers.call(0, times=60) == 50
    await servers.share()
    assert sum(servers.call(server, times=60) for server in (1, 2, 0)) == 0
    assert servers.call(1, "b", times=60) == 50


async def test_h13_what_was_granted_too_much_is_waited_for_by_all(ground: Ground) -> None:
    servers = Servers(ground, 4)
    assert [servers.call(server, times=60) for server in range(4)] == [50] * 4, "nobody was told yet"
    await servers.share()
    ground.clock.advance_wall(seconds=4)
    assert [servers.call(server, times=10) for server in range(4)] == [0] * 4
    ground.clock.advance_wall(seconds=3.5)
    assert all(servers.call(server) for server in range(4))


async def test_a_server_that_is_alone_writes_nothing(ground: Ground) -> None:
    servers = Servers(ground, 1)
    servers.call(0, times=10)
    await servers.share()
    assert await ground.look("select from rate_limit_use") == []


async def test_what_is_used_up_is_forgotten(ground: Ground) -> None:
    servers = Servers(ground, 2)
    servers.call(0)
    await servers.share()
    ground.clock.advance_wall(seconds=60)
    for _ in range(30):
        await servers.share()
    assert await ground.look("select from rate_limit_use") == []
