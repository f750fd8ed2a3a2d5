"""``almoner serve`` and ``almoner worker``: the processes of a deployment, any number of each."""

import asyncio
import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, cast

import typer
import uvicorn
import uvloop
from starlette.types import ASGIApp

from almoner import migrations, settings, worker
from almoner.app import create_app, create_worker_app
from almoner.cli import local, logs, outputs
from almoner.cli.allocation import limit_memory_arenas, return_freed_memory
from almoner.cli.connection_limits import ConnectionLimitedHttpProtocol, OpenConnections
from almoner.cli.ports import open_listening_sockets
from almoner.cli.service_manager import inherited_sockets, notify_service_manager
from almoner.nonprofits.organisations import flows as organisations_flows
from almoner.platform.database import pooler_check
from almoner.platform.jobs.processes import Role
from almoner.platform.observability.log_lines import stderr_log_writer
from almoner.platform.observability.telemetry import Telemetry
from almoner.settings import Settings
from almoner.wiring import Services, build_services

_DRAIN_SECONDS = 10
_LATE_SECONDS = 1.0
"""Seconds to wait at shutdown for the first request on newly accepted connections."""
_YOUNG_OBJECTS = 20_000


class Server(uvicorn.Server):
    """uvicorn without its own signal handlers: one process may hold several, and stops them together."""

    def __init__(self, config: uvicorn.Config, connections: OpenConnections) -> None:
        super().__init__(config)
        self._connections = connections

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times per second.

        Once per second, this method closes connections that have exceeded a time limit.
        """
        if counter % 10 == 0:
            self._connections.close_overdue(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, wait for requests on accepted connections, and then stop the server."""
        for server in self.servers:
            server.close()
        for _ in range(20):
            if not self._connections.has_connection_without_request():
                break
            await asyncio.sleep(_LATE_SECONDS / 20)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not install uvicorn's signal handlers, because ``create_stop_and_skip_drain_events`` handles signals."""
        yield


def create_stop_and_skip_drain_events() -> tuple[asyncio.Event, asyncio.Event]:
    """Two events.

    The first is set by Ctrl-C, SIGTERM or SIGHUP. The second is set if another of these signals arrives.
    """
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
    return stop, hurry


def reduce_garbage_collection() -> None:
    """Exclude loaded modules from garbage collection, and collect less often.

    Requests create hundreds of objects but hardly any reference cycles. With Python's defaults, garbage collection
    takes 10 % of the time of a list request, and makes a webhook delivery a third more expensive.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)


async def serve_application(
    app: ASGIApp, sockets: list[socket.socket], stop: asyncio.Event, connections: OpenConnections | None = None
) -> None:
    """Serve the application until ``stop`` is set.

    Requests in flight then have ten seconds to finish. ``connections``: shared by all applications that the process
    serves.
    """
    connections = connections or OpenConnections()
    config = uvicorn.Config(
        app,
        loop="none",
        http=cast("type[ConnectionLimitedHttpProtocol]", partial(ConnectionLimitedHttpProtocol, connections)),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    server = Server(config, connections)

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    async with asyncio.TaskGroup() as group:
        ending = group.create_task(end())
        await server.serve(sockets)
        ending.cancel()


class ServerSockets(NamedTuple):
    """The listening sockets of the service and of the test payment provider."""

    application: list[socket.socket]
    test_provider: list[socket.socket]


def open_server_sockets(settings: Settings) -> ServerSockets:
    """Open the sockets of the service and, in the sandbox, of the test payment provider.

    A service manager can pass the sockets of the service to this process, so that they stay open while the process is
    replaced. Raises PortBusy.
    """
    sockets = inherited_sockets() or open_listening_sockets(settings.host, settings.port)
    if not settings.uses_test_provider:
        return ServerSockets(sockets, [])
    purpose = " (ALMONER_PORT + 1, the test payment provider)"
    return ServerSockets(sockets, open_listening_sockets(settings.host, settings.port + 1, error_purpose=purpose))


def prepare_settings(process_role: Role) -> Settings:
    """Read the settings, and warn about unknown environment variables on stderr."""
    given = settings.read_settings()
    local.ensure_folders(given, process_role)
    for sentence in settings.unknown_setting_warnings():
        typer.echo(sentence, err=True)
    return given


def serve() -> None:
    """Serve the API and the hosted pages.

    Run `almoner migrate` before you start a server, and run `almoner worker` for background jobs. In production, you
    can run any number of servers behind a load balancer. To stop a server, send it SIGTERM: /readyz then returns 503,
    and after ALMONER_DRAIN_SECONDS the server exits once requests in flight have finished. A second SIGTERM skips this
    delay.
    """
    outputs.ignore_output_errors()
    limit_memory_arenas()
    given = prepare_settings("server")
    sockets, provider_sockets = open_server_sockets(given)
    with local.settings_with_embedded_database(given) as complete:
        uvloop.run(_serve(given, complete, sockets, provider_sockets))


async def _serve(
    settings: Settings, complete: Settings, sockets: list[socket.socket], provider_sockets: list[socket.socket]
) -> None:
    (await migrations.connect_and_read_state(complete.dsn)).ensure_servable()
    await pooler_check.ensure_pooler_supported(complete.dsn)
    lines = stderr_log_writer()
    logs.configure_logging(lines, complete.log_level)
    (stop_requested, cut_short), stop = create_stop_and_skip_drain_events(), asyncio.Event()
    services = await build_services(complete, telemetry=Telemetry(lines))
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_notify_of_the_end(stop_requested))
            group.create_task(services.drain.run(stop_requested, cut_short, stop, complete.effective_drain_seconds))
            group.create_task(local.keep_embedded_database_running(settings, stop))
            group.create_task(run_process(services, "server", stop, sockets, provider_sockets))
    finally:
        await services.close()


async def _notify_of_the_end(stop_requested: asyncio.Event) -> None:
    await stop_requested.wait()
    notify_service_manager("STOPPING=1")


async def run_process(
    services: Services,
    process_role: Role,
    stop: asyncio.Event,
    sockets: list[socket.socket],
    test_provider_sockets: list[socket.socket],
) -> None:
    """Run all parts of the service in one process until ``stop`` is set.

    In the sandbox, a server includes the test payment provider.
    """
    app = create_app(services)
    if process_role != "worker":
        await organisations_flows.warm_search_cache(services.db)
    reduce_garbage_collection()
    connections = OpenConnections(trusted_proxies=services.settings.trusted_proxies)
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run_worker(services, process_role, stop))
        group.create_task(return_freed_memory(stop))
        group.create_task(serve_application(app, sockets, stop, connections))
        notify_service_manager("READY=1")
        if services.provider_app is not None:
            group.create_task(serve_application(services.provider_app, test_provider_sockets, stop, connections))
            group.create_task(services.provider_app.run(stop))


def run_worker() -> None:
    """Run background jobs and webhook deliveries.

    A worker also runs scheduled jobs. You can run any number of workers. To stop a worker, send it SIGTERM: it exits
    once its current jobs have finished. If ALMONER_WORKER_PORT is set, the worker serves /healthz, /readyz and
    /metrics on that port.
    """
    outputs.ignore_output_errors()
    limit_memory_arenas()
    given = prepare_settings("worker")
    sockets: list[socket.socket] = []
    if given.worker_port is not None:
        own = {"error_purpose": " (ALMONER_WORKER_PORT)", "port_setting_name": "ALMONER_WORKER_PORT"}
        sockets = inherited_sockets() or open_listening_sockets(given.host, given.worker_port, **own)
    with local.settings_with_embedded_database(given) as complete:
        uvloop.run(_work(given, complete, sockets))


async def _work(settings: Settings, complete: Settings, sockets: list[socket.socket]) -> None:
    (await migrations.connect_and_read_state(complete.dsn)).ensure_servable()
    await pooler_check.ensure_pooler_supported(complete.dsn)
    lines = stderr_log_writer()
    logs.configure_logging(lines, complete.log_level)
    stop, _ = create_stop_and_skip_drain_events()
    services = await build_services(complete, telemetry=Telemetry(lines), serves_pages=False)
    reduce_garbage_collection()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(local.keep_embedded_database_running(settings, stop))
            group.create_task(services.drain.run(stop, stop, stop, 0))
            group.create_task(_notify_of_the_end(stop))
            group.create_task(worker.run_worker(services, "worker", stop))
            group.create_task(return_freed_memory(stop))
            if sockets:
                group.create_task(serve_application(create_worker_app(services), sockets, stop))
            notify_service_manager("READY=1")
    finally:
        await services.close()
