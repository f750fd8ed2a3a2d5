"""What operators and machines ask outside /v1: liveness, readiness, metrics, the interface description."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.telemetry import Telemetry

_PATIENCE_SECONDS = 2.0

Check = Callable[[], Awaitable[str | None]]
"""Answers None when all is well, else one sentence that says what is wrong."""


def probe_routes(checks: Mapping[str, Check], telemetry: Telemetry, openapi: bytes) -> list[Route]:
    """``/healthz`` (the process answers), ``/readyz`` (it can do its work), ``/metrics``, ``/openapi.json``."""

    async def healthz(_request: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def readyz(_request: Request) -> Response:
        found: dict[str, str] = {}
        for name, check in checks.items():
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    wrong = await check()
            except TimeoutError:
                wrong = "no answer in time"
            if wrong is not None:
                found[name] = wrong
        return _json(503 if found else 200, {"status": "unavailable" if found else "ok", "checks": found})

    async def metrics(_request: Request) -> Response:
        return Response(telemetry.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def description(_request: Request) -> Response:
        return Response(openapi, media_type="application/json", headers={"Access-Control-Allow-Origin": "*"})

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/openapi.json", description),
    ]


def _json(status: int, body: object) -> Response:
    return Response(msgspec.json.encode(body), status, {"Cache-Control": "no-store"}, "application/json")
