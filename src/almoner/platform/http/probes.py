"""Endpoints for operators outside /v1: liveness, readiness, metrics, API description."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import Forbidden
from almoner.kit.time import iso_timestamp
from almoner.platform.database import disk_space
from almoner.platform.database.disk_space import DiskSpace
from almoner.platform.database.identity import ADVICE, DeploymentIdentity
from almoner.platform.http.static_texts import StaticText
from almoner.platform.observability.deployment_checks import DependencyMonitor
from almoner.platform.observability.telemetry import Telemetry

_PATIENCE_SECONDS = 2.0

Check = Callable[[], Awaitable[str | None]]
"""Returns None if all is well, else a sentence about the problem."""


def probe_routes(
    checks: Mapping[str, Check],
    identity: DeploymentIdentity,
    disk: DiskSpace,
    telemetry: Telemetry,
    openapi: bytes | None,
    metrics_token: str | None,
    dependency_monitor: DependencyMonitor,
) -> list[Route]:
    """The routes ``/healthz``, ``/readyz``, ``/metrics`` and ``/openapi.json``.

    ``openapi``: None if the process serves no API. ``identity``: whether the database is an unreleased copy. ``disk``:
    whether writes are refused. ``metrics_token``: required for the metrics and ``/readyz?verbose``; None: only callers
    on this machine may read them. ``dependency_monitor``: a worker's checks of outside services.
    """

    async def healthz(_request: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def readyz(request: Request) -> Response:
        verbose = "verbose" in request.query_params
        if verbose:
            _ensure_may_read_metrics(request, metrics_token)
        found = await _failing(checks)
        shown = {name: found.get(name, "ok") for name in checks} if verbose else found
        reported: dict[str, object] = {"status": "unavailable" if found else "ok", "checks": shown}
        if verbose:
            reported["parts"] = dependency_monitor.results
        return _json(503 if found else 200, reported | _health_notices(identity, disk))

    async def metrics(request: Request) -> Response:
        _ensure_may_read_metrics(request, metrics_token)
        return Response(telemetry.render_metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    text = StaticText(openapi or b"", "application/json")

    async def description(request: Request) -> Response:
        return text.response(request, {"Access-Control-Allow-Origin": "*"})

    probes = [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
    return probes if openapi is None else [*probes, Route("/openapi.json", description)]


async def _failing(checks: Mapping[str, Check]) -> dict[str, str]:
    """Problems, by the name of their check."""
    found: dict[str, str] = {}
    for name, check in checks.items():
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                wrong = await check()
        except TimeoutError:
            wrong = "no answer in time"
        if wrong is not None:
            found[name] = wrong
    return found


def _ensure_may_read_metrics(request: Request, metrics_token: str | None) -> None:
    """Require the metrics token or a caller on this machine. Raises Forbidden."""
    if metrics_token is None and not _from_this_machine(request):
        raise Forbidden("set ALMONER_METRICS_TOKEN to read this from another machine")
    if metrics_token is not None and not _has_bearer_token(request, metrics_token):
        raise Forbidden("header.Authorization must be Bearer and the token of ALMONER_METRICS_TOKEN")


def _health_notices(identity: DeploymentIdentity, disk: DiskSpace) -> dict[str, object]:
    """Notices that need attention although the process stays in service."""
    notices: dict[str, object] = {}
    if identity.copy is not None:
        why = f"This database is taken for a copy: {identity.copy.reason}"
        notices["unreleasedCopy"] = {"since": iso_timestamp(identity.copy.detected_at), "why": why, "advice": ADVICE}
    if disk.low_since is not None:
        why = f"The disk is nearly full: {disk.free_space_text} free"
        since = iso_timestamp(disk.low_since)
        notices["writesRefused"] = {"since": since, "why": why, "advice": disk_space.ADVICE}
    return notices


def _from_this_machine(request: Request) -> bool:
    """Whether the request comes from this machine; proxied requests, which have a forwarding header, do not."""
    if request.client is None or "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def _has_bearer_token(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _json(status: int, body: object) -> Response:
    return Response(msgspec.json.encode(body), status, {"Cache-Control": "no-store"}, "application/json")
