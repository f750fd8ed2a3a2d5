"""``almoner serve`` and ``almoner worker``: the processes of a deployment, any number of each."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
import uvloop
from starlette.types import ASGIApp

from almoner import migrations, settings, worker
from almoner.app import create_app
from almoner.cli import local
from almoner.cli.ports import listen
from almoner.settings import Settings
from almoner.wiring import open_house

_DRAIN_SECONDS = 10


class Server(uvicorn.Server):
    """uvicorn without its own signal handlers: one process may hold several, and stops them together."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to ``stop_on_signals``."""
        yield


def stop_on_signals() -> asyncio.Event:
    """An event that is set by Ctrl-C, SIGTERM and SIGHUP."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    return stop


async def answer(app: ASGIApp, sockets: list[socket.socket], stop: asyncio.Event) -> None:
    """Serve the application until ``stop``; requests in flight get ten seconds to end."""
    config = uvicorn.Config(
        app,
        loop="none",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    server = Server(config)

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    async with asyncio.TaskGroup() as group:
        ending = group.create_task(end())
        await server.serve(sockets)
        ending.cancel()


def serve() -> None:
    """Answer the API and the hosted pages; in production any number of these run behind a balancer.

    Stops on SIGTERM after the requests in flight. The database must have been migrated; `almoner worker` does the
    background work.
    """
    given = settings.read()
    sockets = listen(given.host, given.port)
    with local.completed(given) as complete:
        uvloop.run(_serve(complete, sockets))


async def _serve(complete: Settings, sockets: list[socket.socket]) -> None:
    (await migrations.state(complete.dsn)).refuse_unless_current()
    stop = stop_on_signals()
    house = await open_house(complete)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run(house, "server", stop))
            group.create_task(answer(create_app(house), sockets, stop))
    finally:
        await house.close()


def work() -> None:
    """Do the background work: jobs, schedules and webhook deliveries; any number of these may run.

    Stops on SIGTERM after the jobs in hand.
    """
    with local.completed(settings.read()) as complete:
        uvloop.run(_work(complete))


async def _work(complete: Settings) -> None:
    (await migrations.state(complete.dsn)).refuse_unless_current()
    stop = stop_on_signals()
    house = await open_house(complete)
    try:
        await worker.run(house, "worker", stop)
    finally:
        await house.close()
